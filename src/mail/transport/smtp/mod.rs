//! Handing mail over to a mail server. lettre speaks the protocol; this drives it step by step, so that each failure names
//! its step, and limits the time of each step, because lettre limits only connecting.

mod connect;
mod redaction;
#[cfg(test)]
pub(crate) mod script;
mod stream;
#[cfg(test)]
mod tests;
mod thread;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use lettre::{
    address::Envelope,
    transport::smtp::{
        Error as SmtpError,
        client::AsyncSmtpConnection,
        commands::{Data, Mail, Rcpt},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
        response::Response,
    },
};

pub(super) use self::thread::SmtpThread;
use self::{connect::Issuers, redaction::Redaction};
use super::{Failure, Progress, SendError, Step, TransportError};
use crate::mail::{Composed, MailSettings, SmtpServer};

/// The most time that a send takes: a connection that has been closed by the server is noticed, and a new one is opened.
pub(super) const MAX_SEND_TIME: Duration = Duration::from_secs(240);

/// The most time of each step.
#[derive(Clone, Copy)]
struct Timeouts {
    /// Finding the address of the server, connecting, and the TLS handshake: each.
    connect: Duration,
    /// All until mail can be sent.
    session: Duration,
    /// The reply to a command.
    command: Duration,
    /// Sending the mail itself, and the reply to it.
    content: Duration,
    /// Saying goodbye.
    quit: Duration,
}

const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    session: Duration::from_secs(55),
    command: Duration::from_secs(30),
    content: Duration::from_secs(60),
    quit: Duration::from_secs(2),
};

/// A mail server.
pub(super) struct Smtp {
    server: SmtpServer,
    /// The name that this client has in EHLO.
    hello: ClientId,
    user: Option<(String, PathBuf)>,
    issuers: Issuers,
    timeouts: Timeouts,
    /// An open connection, and when it was used last.
    session: Option<(Session, Instant)>,
    progress: Option<Progress>,
}

/// A connection on which mail can be sent.
struct Session {
    connection: AsyncSmtpConnection,
    /// What the login keeps out of every reply.
    login: Redaction,
}

impl Smtp {
    fn new(server: SmtpServer, settings: &MailSettings) -> Result<Self, TransportError> {
        let from = settings.from.as_ref();
        let hello = from.map_or("localhost", |from| from.email.domain()).to_owned();
        Ok(Self {
            server,
            hello: ClientId::Domain(hello),
            user: settings.user.clone().zip(settings.password_file.clone()),
            issuers: Issuers::new(settings.ca_file.as_deref())?,
            timeouts: TIMEOUTS,
            session: None,
            progress: None,
        })
    }

    fn report_to(&mut self, progress: Progress) {
        self.progress = Some(progress);
    }

    fn report(&self, text: &str) {
        if let Some(progress) = &self.progress {
            progress(text);
        }
    }

    fn is_connected(&self) -> bool {
        self.session.is_some()
    }

    async fn send(&mut self, mail: &Composed) -> Result<(), SendError> {
        let redaction = Redaction::for_mail(mail);
        let mut session = self.begin(mail, &redaction).await.map_err(SendError::Unreachable)?;
        let redaction = redaction.and(&session.login);
        match self.hand_over(&mut session.connection, mail, &redaction).await {
            Ok(()) => {
                self.session = Some((session, Instant::now()));
                Ok(())
            }
            Err(error) => {
                // The connection may be in any state, so the next mail gets a new one.
                if !matches!(error, SendError::Lost(_)) {
                    self.quit(session).await;
                }
                Err(error)
            }
        }
    }

    async fn close_if_idle(&mut self, idle: Duration, now: Instant) {
        let is_idle = |(_, used): &mut (_, Instant)| now.duration_since(*used) >= idle;
        if let Some((session, _)) = self.session.take_if(is_idle) {
            self.quit(session).await;
        }
    }

    async fn quit(&self, mut session: Session) {
        let _ = tokio::time::timeout(self.timeouts.quit, session.connection.quit()).await;
    }

    /// A connection on which the server has accepted the sender. The sender is the same for every mail, so a failure here is
    /// not about this mail.
    async fn begin(&mut self, mail: &Composed, redaction: &Redaction) -> Result<Session, Failure> {
        if let Some((mut session, _)) = self.session.take() {
            // The server may have closed it in the meantime, or may take no more mails on it.
            match self.mail_from(&mut session, mail, redaction).await {
                Ok(()) => return Ok(session),
                Err(_) => drop(session),
            }
        }
        let mut session = self.connect_in_time().await?;
        match self.mail_from(&mut session, mail, redaction).await {
            Ok(()) => Ok(session),
            Err(failure) => {
                self.quit(session).await;
                Err(failure)
            }
        }
    }

    async fn connect_in_time(&self) -> Result<Session, Failure> {
        let session = tokio::time::timeout(self.timeouts.session, self.connect()).await;
        session.unwrap_or_else(|_| {
            let seconds = self.timeouts.session.as_secs();
            Err(Failure::new(Step::Hello, format!("the server was not ready within {seconds} s")))
        })
    }

    async fn check(&self) -> Result<(), Failure> {
        self.quit(self.connect_in_time().await?).await;
        Ok(())
    }

    async fn mail_from(
        &self,
        Session { connection, login }: &mut Session,
        mail: &Composed,
        redaction: &Redaction,
    ) -> Result<(), Failure> {
        let redaction = redaction.and(login);
        let mut parameters = Vec::new();
        let info = connection.server_info();
        if !mail.bytes.is_ascii() && info.supports_feature(Extension::EightBitMime) {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        let command = Mail::new(mail.envelope.from().cloned(), parameters);
        let reply = self.in_time(self.timeouts.command, connection.command(command)).await;
        let reply = reply.map_err(|error| error.failure(Step::MailFrom, &redaction))?;
        self.report_reply("MAIL FROM", &reply, &redaction);
        Ok(())
    }

    /// Hands the recipients and the mail over. From here on, a failure is about this mail: other mails must not wait for one
    /// on which the server always closes the connection.
    async fn hand_over(
        &self,
        connection: &mut AsyncSmtpConnection,
        mail: &Composed,
        redaction: &Redaction,
    ) -> Result<(), SendError> {
        let Timeouts { command, content, .. } = self.timeouts;
        let envelope: &Envelope = &mail.envelope;
        for recipient in envelope.to() {
            let rcpt = Rcpt::new(recipient.clone(), Vec::new());
            let reply = self.in_time(command, connection.command(rcpt)).await;
            let reply = reply.map_err(|error| error.of_mail(Step::RcptTo, redaction))?;
            self.report_reply("RCPT TO", &reply, redaction);
        }
        let reply = self.in_time(command, connection.command(Data)).await;
        let reply = reply.map_err(|error| error.of_mail(Step::Data, redaction))?;
        self.report_reply("DATA", &reply, redaction);
        let reply = self.in_time(content, connection.message(&mail.bytes)).await;
        let reply = reply.map_err(|error| match error.is_refusal() {
            true => error.of_mail(Step::Content, redaction),
            // The server may have taken it before the connection ended.
            false => SendError::Lost(error.failure(Step::Content, redaction)),
        })?;
        self.report_reply("end of the mail", &reply, redaction);
        Ok(())
    }

    fn report_reply(&self, step: &str, reply: &Response, redaction: &Redaction) {
        if self.progress.is_some() {
            let text: Vec<_> = reply.message().collect();
            let text = redaction.apply(&format!("{} {}", reply.code(), text.join(" ")));
            self.report(&format!("{step}: {text}"));
        }
    }

    async fn in_time<T>(
        &self,
        limit: Duration,
        step: impl Future<Output = Result<T, SmtpError>>,
    ) -> Result<T, StepError> {
        match tokio::time::timeout(limit, step).await {
            Ok(outcome) => outcome.map_err(StepError::Smtp),
            Err(_) => Err(StepError::Timeout(limit)),
        }
    }
}

/// Why a step failed.
enum StepError {
    Smtp(SmtpError),
    Timeout(Duration),
}

impl StepError {
    /// Whether the server has answered and refused.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Smtp(error) if error.status().is_some())
    }

    fn failure(&self, step: Step, redaction: &Redaction) -> Failure {
        let text = match self {
            Self::Timeout(limit) => format!("no answer within {} s", limit.as_secs()),
            Self::Smtp(error) => {
                let cause = std::error::Error::source(error);
                match (error.status(), cause) {
                    (Some(code), Some(reply)) => format!("{code} {reply}"),
                    (Some(code), None) => code.to_string(),
                    // lettre's words for a connection that ended before a reply.
                    (None, Some(cause)) if cause.to_string() == "incomplete response" => {
                        "the server closed the connection without an answer".into()
                    }
                    (None, Some(cause)) => cause.to_string(),
                    (None, None) => error.to_string(),
                }
            }
        };
        Failure::new(step, redaction.apply(&text))
    }

    /// The error if the step is about one mail.
    fn of_mail(&self, step: Step, redaction: &Redaction) -> SendError {
        /// The server wants a login first, so it takes no mail at all.
        const LOGIN_REQUIRED: u16 = 530;
        let failure = self.failure(step, redaction);
        match self {
            Self::Smtp(error)
                if error.status().is_some_and(|code| u16::from(code) == LOGIN_REQUIRED) =>
            {
                SendError::Unreachable(failure)
            }
            Self::Smtp(error) if error.is_permanent() => SendError::Permanent(failure),
            _ => SendError::Temporary(failure),
        }
    }
}
