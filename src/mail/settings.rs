//! Where mail is handed over, and whom it is from.

use std::{fmt, net::IpAddr, path::PathBuf};

pub use lettre::message::Mailbox;

use super::MemoryMailbox;
use crate::language::Language;

/// Where mail is handed over, and whom it is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MailSettings {
    /// The mail server or folder; `None` if no mail is sent.
    pub url: Option<MailUrl>,
    /// Whom it is from. It is set if mail is sent.
    pub from: Option<Mailbox>,
    /// Where answers go, if not to the sender.
    pub reply_to: Option<Mailbox>,
    /// The user at the mail server.
    pub user: Option<String>,
    /// The file with the user's password. It is read for each connection, so that a new password needs no restart.
    pub password_file: Option<PathBuf>,
    /// A file with certificates that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// The language of mail that no request causes.
    pub language: Language,
}

/// What takes the mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailUrl {
    Smtp(SmtpServer),
    /// A folder for `.eml` files, for development.
    Folder(PathBuf),
    /// The memory of this process, for `doorward dev`. No setting selects it.
    Memory(MemoryMailbox),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpServer {
    /// A name or an address.
    pub host: String,
    pub port: u16,
    pub encryption: Encryption,
}

/// How a connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// From its first byte.
    Implicit,
    /// From STARTTLS on. A server that does not offer it is refused.
    StartTls,
    /// Not at all: the server is on this machine.
    None,
}

impl SmtpServer {
    const SUBMISSIONS_PORT: u16 = 465;
    const SUBMISSION_PORT: u16 = 587;

    /// Whether the host is this machine by its name.
    fn is_loopback(host: &str) -> bool {
        host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
    }
}

/// The host and the port, as in a URL.
impl fmt::Display for SmtpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Why a URL cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidMailUrl {
    /// It is not one of the three kinds.
    Scheme,
    /// It contains a user or a password.
    Credentials,
    /// It has no host, or one that cannot exist.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// It has a path.
    Path,
    /// It has another option than `tls=required`, which only `smtp://` has.
    Option,
    /// It names no folder.
    Folder,
}

impl InvalidMailUrl {
    /// What to do about it. Does not repeat the URL, which may contain a password.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Scheme => "",
            Self::Credentials => {
                "a user or a password does not belong into the URL: set mail.user and mail.password_file"
            }
            Self::Host => {
                "the URL has no valid host: write smtps://HOST, such as smtps://mail.example.com"
            }
            Self::Port => "the port is not a number from 1 to 65535",
            Self::Path => "only a port may follow the host, such as smtps://mail.example.com:465",
            Self::Option => {
                "the only option is ?tls=required, for smtp:// to a server on this machine"
            }
            Self::Folder => "the URL names no folder: write file:FOLDER, such as file:mails",
        }
    }
}

impl MailUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn parse(text: &str) -> Result<Self, InvalidMailUrl> {
        if let Some(path) = text.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            let is_valid = !path.is_empty() && !path.contains('\0');
            return is_valid.then(|| Self::Folder(path.into())).ok_or(InvalidMailUrl::Folder);
        }
        let (rest, is_implicit) =
            match (text.strip_prefix("smtps://"), text.strip_prefix("smtp://")) {
                (Some(rest), _) => (rest, true),
                (_, Some(rest)) => (rest, false),
                _ if text.contains('@') && text.contains(':') => {
                    return Err(InvalidMailUrl::Credentials);
                }
                _ => return Err(InvalidMailUrl::Scheme),
            };
        if rest.contains('@') {
            return Err(InvalidMailUrl::Credentials);
        }
        let (rest, option) = match rest.split_once('?') {
            Some((rest, option)) => (rest, Some(option)),
            None => (rest, None),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '#']) {
            return Err(InvalidMailUrl::Path);
        }
        let (host, port) = split_port(rest)?;
        let encryption = match option {
            None if is_implicit => Encryption::Implicit,
            None if SmtpServer::is_loopback(&host) => Encryption::None,
            None => Encryption::StartTls,
            Some("tls=required") if !is_implicit => Encryption::StartTls,
            Some(_) => return Err(InvalidMailUrl::Option),
        };
        let default = match is_implicit {
            true => SmtpServer::SUBMISSIONS_PORT,
            false => SmtpServer::SUBMISSION_PORT,
        };
        let port = port.unwrap_or(default);
        Ok(Self::Smtp(SmtpServer { host, port, encryption }))
    }
}

/// The host without brackets, and the port if there is one.
fn split_port(authority: &str) -> Result<(String, Option<u16>), InvalidMailUrl> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(InvalidMailUrl::Host)?;
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(InvalidMailUrl::Host);
            }
            (address, (!port.is_empty()).then(|| port.strip_prefix(':').unwrap_or("")))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_address = authority.starts_with('[');
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        && !host.starts_with(['.', '-'])
        && !host.contains("..");
    if !is_address && !is_name {
        return Err(InvalidMailUrl::Host);
    }
    let is_number = |port: &&str| port.bytes().all(|digit| digit.is_ascii_digit());
    let port = port
        .map(|port| Some(port).filter(is_number).and_then(|port| port.parse().ok()))
        .map(|port| port.filter(|port| *port > 0).ok_or(InvalidMailUrl::Port))
        .transpose()?;
    Ok((host.to_owned(), port))
}

/// In the syntax that [`MailUrl::parse`] reads.
impl fmt::Display for MailUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "file:{}", path.display()),
            Self::Memory(_) => f.write_str("memory"),
            Self::Smtp(server) => match server.encryption {
                Encryption::Implicit => write!(f, "smtps://{server}"),
                Encryption::StartTls if SmtpServer::is_loopback(&server.host) => {
                    write!(f, "smtp://{server}?tls=required")
                }
                Encryption::StartTls | Encryption::None => write!(f, "smtp://{server}"),
            },
        }
    }
}

/// An address, or a name and an address: `Example <mail@example.com>`. `None` if the text is neither.
pub fn parse_mailbox(text: &str) -> Option<Mailbox> {
    const MAX_NAME: usize = 100;
    let (name, address) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
        Some((name, address)) => (name.trim(), address),
        None => ("", text),
    };
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    let is_name = name.chars().count() <= MAX_NAME
        && !name.contains(['"', '\\', '<', '>'])
        && !name.chars().any(char::is_control);
    let is_address = address.bytes().all(|b| b.is_ascii_graphic() && b != b'"');
    let address = address.parse().ok().filter(|_| is_name && is_address)?;
    Some(Mailbox::new((!name.is_empty()).then(|| name.to_owned()), address))
}

/// In the syntax that [`parse_mailbox`] reads.
pub fn show_mailbox(mailbox: &Mailbox) -> String {
    match &mailbox.name {
        Some(name) => format!("{name} <{}>", mailbox.email),
        None => mailbox.email.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_or_a_folder() {
        use Encryption::{Implicit, None, StartTls};
        for (url, host, port, encryption, shown) in [
            ("smtps://mail.example.com", "mail.example.com", 465, Implicit, ":465"),
            ("smtps://mail.example.com:4650", "mail.example.com", 4650, Implicit, ""),
            ("smtp://mail.example.com", "mail.example.com", 587, StartTls, ":587"),
            ("smtp://mail.example.com:25", "mail.example.com", 25, StartTls, ""),
            ("smtp://192.0.2.1:25", "192.0.2.1", 25, StartTls, ""),
            ("smtp://localhost:25", "localhost", 25, None, ""),
            ("smtp://127.0.0.1:25", "127.0.0.1", 25, None, ""),
            ("smtp://[::1]:25", "::1", 25, None, ""),
            ("smtp://[2001:db8::1]:25", "2001:db8::1", 25, StartTls, ""),
            ("smtp://localhost:25?tls=required", "localhost", 25, StartTls, ""),
            ("smtps://localhost:465", "localhost", 465, Implicit, ""),
        ] {
            let parsed = MailUrl::parse(url).unwrap();
            let server = SmtpServer { host: host.into(), port, encryption };
            assert_eq!(parsed, MailUrl::Smtp(server), "{url}");
            assert_eq!(parsed.to_string(), format!("{url}{shown}"));
        }
        for (url, path) in [
            ("file:mails", "mails"),
            ("file:/var/mails", "/var/mails"),
            ("file:///var/mails", "/var/mails"),
        ] {
            assert_eq!(MailUrl::parse(url), Ok(MailUrl::Folder(path.into())), "{url}");
        }
    }

    #[test]
    fn an_invalid_url_is_refused_with_its_fault() {
        use InvalidMailUrl::{Credentials, Folder, Host, Option, Path, Port, Scheme};
        for (url, fault) in [
            ("", Scheme),
            ("mail.example.com", Scheme),
            ("http://mail.example.com", Scheme),
            ("smtp:mail.example.com", Scheme),
            ("smtps://user:secret@mail.example.com", Credentials),
            ("smtp://user@mail.example.com", Credentials),
            ("smtp:user:secret@mail.example.com", Credentials),
            ("smtps://", Host),
            ("smtps://:465", Host),
            ("smtps://ma il", Host),
            ("smtps://[::1", Host),
            ("smtps://[mail]", Host),
            ("smtps://a..b", Host),
            ("smtps://mäil.example", Host),
            ("smtps://mail.example.com:", Port),
            ("smtps://mail.example.com:0", Port),
            ("smtps://mail.example.com:+25", Port),
            ("smtps://mail.example.com:65536", Port),
            ("smtps://[::1]465", Port),
            ("smtps://mail.example.com/inbox", Path),
            ("smtps://mail.example.com?tls=required", Option),
            ("smtp://mail.example.com?tls=off", Option),
            ("file:", Folder),
            ("file://", Folder),
        ] {
            assert_eq!(MailUrl::parse(url), Err(fault), "{url}");
        }
    }

    #[test]
    fn a_mailbox_is_an_address_with_or_without_a_name() {
        for (text, name, address) in [
            ("a@example.com", None, "a@example.com"),
            ("<a@example.com>", None, "a@example.com"),
            ("Käse & Co. <a@example.com>", Some("Käse & Co."), "a@example.com"),
            ("\"Käse, Co.\" <a@example.com>", Some("Käse, Co."), "a@example.com"),
        ] {
            let mailbox = parse_mailbox(text).unwrap();
            assert_eq!(mailbox.name.as_deref(), name, "{text}");
            assert_eq!(mailbox.email.to_string(), address, "{text}");
            assert_eq!(parse_mailbox(&show_mailbox(&mailbox)), Some(mailbox));
        }
        for bad in ["", "a", "a@", "A <a@example.com", "a b@example.com", "A\nB <a@example.com>"] {
            assert_eq!(parse_mailbox(bad), None, "{bad}");
        }
    }
}
