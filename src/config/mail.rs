//! `[mail]`: the server that takes the mail, and whom it is from. `[notices]`: of what users are told.

use super::{
    Settings, SettingsError,
    key::Key,
    sign_in::MailCodeSignIn,
    value::{Choice, Custom, NONE, OptionalPath, TRUE_OR_FALSE, Value, field},
};
use crate::{
    language::Language,
    mail::{InvalidMailUrl, MailUrl, Mailbox, parse_mailbox, show_mailbox},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "mail.url",
        purpose: "Where mail is handed over: smtps://HOST, smtp://HOST, file:FOLDER for development, or none",
        value: &Url,
    },
    Key {
        name: "mail.from",
        purpose: "Whom mail is from: an address, or a name and an address",
        value: &Custom {
            field: field!(mail.from),
            parse: parse_optional_mailbox,
            show: show_optional_mailbox,
            allowed: allowed_mailbox,
            secret: false,
        },
    },
    Key {
        name: "mail.reply_to",
        purpose: "Where answers to mail go; none is mail.from",
        value: &Custom {
            field: field!(mail.reply_to),
            parse: parse_optional_mailbox,
            show: show_optional_mailbox,
            allowed: allowed_mailbox,
            secret: false,
        },
    },
    Key {
        name: "mail.user",
        purpose: "User at the mail server, or none",
        value: &Custom {
            field: field!(mail.user),
            parse: parse_user,
            show: |user| user.clone().unwrap_or_else(|| NONE.into()),
            allowed: || format!("{NONE}, or a name of 1 to {MAX_USER} characters"),
            secret: false,
        },
    },
    Key {
        name: "mail.password_file",
        purpose: "File with the password of mail.user, read for each connection",
        value: &OptionalPath { field: field!(mail.password_file), target: "file" },
    },
    Key {
        name: "mail.ca_file",
        purpose: "File with certificates (PEM) that are trusted for the mail server besides those of the system",
        value: &OptionalPath { field: field!(mail.ca_file), target: "file" },
    },
    Key {
        name: "mail.language",
        purpose: "Language of mail that no request causes",
        value: &Choice {
            field: field!(mail.language),
            choices: &[("en", Language::English), ("de", Language::German)],
        },
    },
    Key {
        name: "notices.new_sign_in",
        purpose: "Whether users are told of a sign-in from a new device or network",
        value: &Choice { field: field!(notices.new_sign_in), choices: TRUE_OR_FALSE },
    },
    Key {
        name: "notices.password_changed",
        purpose: "Whether users are told that their password has changed",
        value: &Choice { field: field!(notices.password_changed), choices: TRUE_OR_FALSE },
    },
    Key {
        name: "notices.email_changed",
        purpose: "Whether the old address is told of a change of the address, with a way back for 7 days",
        value: &Choice { field: field!(notices.email_changed), choices: TRUE_OR_FALSE },
    },
    Key {
        name: "notices.sessions_ended",
        purpose: "Whether users are told that the operator or a reused token has ended their sessions",
        value: &Choice { field: field!(notices.sessions_ended), choices: TRUE_OR_FALSE },
    },
    Key {
        name: "notices.account_deleted",
        purpose: "Whether users are told that they or the operator have deleted their account",
        value: &Choice { field: field!(notices.account_deleted), choices: TRUE_OR_FALSE },
    },
    Key {
        name: "notices.factors",
        purpose: "Whether users are told of added, removed and refused second factors, of used recovery codes and of new API keys",
        value: &Choice { field: field!(notices.factors), choices: TRUE_OR_FALSE },
    },
];

const MAX_USER: usize = 200;

/// `mail.url`. Its errors do not repeat the value, because a mistyped URL may contain a password.
struct Url;

impl Value for Url {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        settings.mail.url = if text == NONE { None } else { Some(MailUrl::parse(text).ok()?) };
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        settings.mail.url.as_ref().map_or_else(|| NONE.into(), MailUrl::to_string)
    }

    fn allowed(&self) -> String {
        format!("smtps://HOST, smtp://HOST, file:FOLDER or {NONE}")
    }

    fn refusal(&self, typed: &str) -> Option<String> {
        match MailUrl::parse(typed).err()? {
            InvalidMailUrl::Scheme => None,
            invalid => Some(invalid.message().into()),
        }
    }

    fn is_secret(&self) -> bool {
        true
    }
}

fn parse_optional_mailbox(text: &str) -> Option<Option<Mailbox>> {
    if text == NONE { Some(None) } else { parse_mailbox(text).map(Some) }
}

fn show_optional_mailbox(mailbox: &Option<Mailbox>) -> String {
    mailbox.as_ref().map_or_else(|| NONE.into(), show_mailbox)
}

fn allowed_mailbox() -> String {
    format!(
        "{NONE}, or an address with or without a name, such as mail@example.com or Example <mail@example.com>"
    )
}

fn parse_user(text: &str) -> Option<Option<String>> {
    let is_user =
        (1..=MAX_USER).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    is_user.then(|| (text != NONE).then(|| text.to_owned()))
}

/// Checks the settings that depend on each other.
pub(super) fn check(settings: &Settings) -> Result<(), SettingsError> {
    let mail = &settings.mail;
    let refuse = |message: &str| Err(SettingsError::new(message));
    let Some(url) = &mail.url else {
        if settings.mail_code_sign_in != MailCodeSignIn::Off {
            return refuse("sign_in.mail_code: codes are sent by mail: set mail.url");
        }
        return Ok(());
    };
    if mail.from.is_none() {
        return refuse(
            "mail.from: not set although mail.url is: set the address that mail is from, such as \
             \"Example <mail@example.com>\"",
        );
    }
    match (&mail.user, &mail.password_file) {
        (Some(_), None) => {
            return refuse("mail.user: set mail.password_file to a file with the user's password");
        }
        (None, Some(_)) => {
            return refuse("mail.password_file: set mail.user to the user with this password");
        }
        _ => {}
    }
    let is_server = matches!(url, MailUrl::Smtp(_));
    let is_local = settings.listen.ip().to_canonical().is_loopback();
    if is_server && settings.pages && settings.public_url.is_none() && !is_local {
        return refuse(
            "public_url: not set although mail.url is: mails contain links, so set the https:// URL at which people \
             reach Doorward",
        );
    }
    Ok(())
}

/// Of what users are told, if mail is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notices {
    pub(crate) new_sign_in: bool,
    pub(crate) password_changed: bool,
    pub(crate) email_changed: bool,
    pub(crate) sessions_ended: bool,
    pub(crate) account_deleted: bool,
    pub(crate) factors: bool,
}

impl Default for Notices {
    fn default() -> Self {
        Self {
            new_sign_in: true,
            password_changed: true,
            email_changed: true,
            sessions_ended: true,
            account_deleted: true,
            factors: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    const SERVER: &str = "[mail]\nurl = 'smtps://mail.example.com'\n";

    #[test]
    fn mail_settings_are_read() {
        let file = "[mail]\nurl = 'smtp://mail.example.com:25'\nfrom = 'Shop <shop@example.com>'\n\
                    user = 'shop'\npassword_file = 'password'\nlanguage = 'de'\n";
        let mail = load(&[], &[], file).unwrap().mail;
        assert_eq!(mail.url.unwrap().to_string(), "smtp://mail.example.com:25");
        assert_eq!(mail.from.unwrap().email.to_string(), "shop@example.com");
        assert_eq!(mail.user.as_deref(), Some("shop"));
        assert_eq!(mail.language.tag(), "de");
    }

    #[test]
    fn mistakes_are_refused_with_what_to_do() {
        let from = "from = 'shop@example.com'\n";
        let complete = format!("{SERVER}{from}");
        for (file, message) in [
            (SERVER.to_owned(), "mail.from: not set although mail.url is: "),
            (format!("{complete}user = 'a'"), "mail.user: set mail.password_file "),
            (format!("{complete}password_file = 'a'"), "mail.password_file: set mail.user "),
            (format!("listen = '0.0.0.0:1'\n{complete}"), "public_url: not set although mail.url"),
            ("sign_in.mail_code = true".into(), "sign_in.mail_code: codes are sent by mail: "),
            (
                "mail.from = 'shop'".into(),
                "doorward.toml:1:6: mail.from: \"shop\" is not none, or ",
            ),
            ("mail.language = 'fr'".into(), "doorward.toml:1:6: mail.language: \"fr\" is not en"),
            ("mail.url = 'http://a'".into(), "doorward.toml:1:6: mail.url: the value is not smtps"),
            ("mail.url = 'smtps://a:b'".into(), "doorward.toml:1:6: mail.url: the port is not"),
            ("mail.url = 'smtps:///'".into(), "doorward.toml:1:6: mail.url: the URL has no valid"),
        ] {
            let error = load(&[], &[], &file).unwrap_err();
            assert!(error.starts_with(message), "{message}: {error}");
        }
        for file in [
            format!("listen = '0.0.0.0:1'\npages = 'off'\n{complete}"),
            format!("listen = '0.0.0.0:1'\n[mail]\nurl = 'file:mails'\n{from}"),
            format!("listen = '0.0.0.0:1'\npublic_url = 'https://a.example'\n{complete}"),
        ] {
            load(&[], &[], &file).unwrap();
        }
    }

    #[test]
    fn a_password_in_the_url_is_refused_and_not_repeated() {
        for url in ["smtps://shop:geheim@mail.example.com", "smtp:shop:geheim@mail.example.com"] {
            let error = load(&[("mail.url", url)], &[], "").unwrap_err();
            assert_eq!(
                error,
                "--mail-url: a user or a password does not belong into the URL: set mail.user and mail.password_file"
            );
        }
    }
}
