//! Why mail was not taken: the step that failed, with the server's reply, and what to do about it.

use std::fmt;

/// A setting that keeps mail from being sent.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {cause}")]
pub struct TransportError {
    setting: &'static str,
    cause: String,
}

impl TransportError {
    pub(super) fn new(setting: &'static str, cause: impl fmt::Display) -> Self {
        Self { setting, cause: cause.to_string() }
    }
}

/// Why a mail was not taken.
#[derive(Debug)]
pub enum SendError {
    /// The server takes no mail at all. It is not about this mail.
    Unreachable(Failure),
    /// The server does not take this mail now.
    Temporary(Failure),
    /// The server will never take this mail.
    Permanent(Failure),
    /// The connection ended after the mail was sent and before the server confirmed it: it may have been taken or not.
    Lost(Failure),
}

impl SendError {
    pub fn failure(&self) -> &Failure {
        match self {
            Self::Unreachable(failure)
            | Self::Temporary(failure)
            | Self::Permanent(failure)
            | Self::Lost(failure) => failure,
        }
    }
}

/// The step that failed, and how. The text contains no secret and no address of a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub step: Step,
    text: String,
}

impl Failure {
    pub(super) fn new(step: Step, text: impl Into<String>) -> Self {
        Self { step, text: text.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step.name(), self.text)
    }
}

/// A step on the way of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Finding the address of the server.
    Resolve,
    Connect,
    /// The greeting of the server, and EHLO.
    Hello,
    StartTls,
    /// The TLS handshake.
    Tls,
    /// Reading the password, and AUTH.
    Auth,
    MailFrom,
    RcptTo,
    Data,
    /// The mail itself.
    Content,
    /// Writing a file.
    File,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Resolve => "DNS",
            Self::Connect => "connect",
            Self::Hello => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Tls => "TLS",
            Self::Auth => "AUTH",
            Self::MailFrom => "MAIL FROM",
            Self::RcptTo => "RCPT TO",
            Self::Data => "DATA",
            Self::Content => "end of the mail",
            Self::File => "file",
        }
    }

    /// What an operator can do if it fails.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Resolve => "check the host in mail.url",
            Self::Connect => {
                "check the host and the port in mail.url, and whether a firewall blocks the port (many networks block 25)"
            }
            Self::Hello => {
                "check that a mail server listens on this port: smtps:// is for port 465, smtp:// for ports 587 and 25"
            }
            Self::StartTls => {
                "use smtps:// if the server has a port with TLS; without TLS, mail is sent only to this machine"
            }
            Self::Tls => {
                "the host in mail.url must be in the server's certificate, and its issuer must be known: name it in \
                 mail.ca_file if it is your own"
            }
            Self::Auth => "check mail.user and the content of mail.password_file",
            Self::MailFrom => {
                "the server does not accept mail from mail.from: check that mail.user may send from this address"
            }
            Self::RcptTo => {
                "the server does not accept mail to this address: check the address and, if all are refused, \
                 mail.user"
            }
            Self::Data | Self::Content => {
                "the server does not accept the mail itself: its reply and its log tell why"
            }
            Self::File => {
                "check the permissions of the folder in mail.url and the space on its disk"
            }
        }
    }
}
