//! What takes mail: a mail server, or a folder or the memory for development. One connection is used for many mails.

mod error;
mod folder;
mod smtp;

use std::time::{Duration, Instant};

pub use self::error::{Failure, SendError, Step, TransportError};
#[cfg(test)]
pub(crate) use self::smtp::script;
use self::{folder::Folder, smtp::SmtpThread};
use super::{Composed, MailId, MailSettings, MailUrl, MemoryMailbox};
use crate::clock::Timestamp;

/// The most time that [`Transport::send`] takes.
pub const MAX_SEND_TIME: Duration = smtp::MAX_SEND_TIME;

/// Receives what happens while mail is sent, for people.
pub type Progress = Box<dyn Fn(&str) + Send + Sync>;

/// What takes mail.
pub struct Transport {
    receiver: Receiver,
}

enum Receiver {
    Smtp(SmtpThread),
    Folder(Folder),
    Memory(MemoryMailbox),
}

impl Transport {
    /// What the settings name. It does not connect yet.
    ///
    /// # Errors
    /// If mail is not configured, or a file that the settings name cannot be used.
    pub fn new(settings: &MailSettings) -> Result<Self, TransportError> {
        let receiver = match &settings.url {
            Some(MailUrl::Smtp(server)) => {
                Receiver::Smtp(SmtpThread::new(server.clone(), settings)?)
            }
            Some(MailUrl::Folder(path)) => Receiver::Folder(Folder::new(path.clone())),
            Some(MailUrl::Memory(mailbox)) => Receiver::Memory(mailbox.clone()),
            None => return Err(TransportError::new("mail.url", "not set")),
        };
        Ok(Self { receiver })
    }

    /// Reports each step.
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> Self {
        match &mut self.receiver {
            Receiver::Smtp(smtp) => smtp.report_to(progress),
            Receiver::Folder(folder) => folder.report_to(progress),
            Receiver::Memory(_) => {}
        }
        self
    }

    /// Hands a mail over. The connection stays open for the next one, unless there was an error. `created_at` is part of the
    /// name of a file, so that a mail that is written again replaces its file.
    ///
    /// # Errors
    /// If it was not taken, or if that is not known.
    pub async fn send(
        &mut self,
        id: MailId,
        created_at: Timestamp,
        mail: Composed,
    ) -> Result<(), SendError> {
        match &mut self.receiver {
            Receiver::Smtp(smtp) => smtp.send(mail).await,
            Receiver::Folder(folder) => folder.send(id, created_at, &mail).await,
            Receiver::Memory(mailbox) => {
                mailbox.put(id, created_at, &mail);
                Ok(())
            }
        }
    }

    /// Connects and logs in, without sending a mail. A folder is not checked.
    ///
    /// # Errors
    /// If the server takes no mail.
    pub async fn check(&self) -> Result<(), Failure> {
        match &self.receiver {
            Receiver::Smtp(smtp) => smtp.check().await,
            Receiver::Folder(_) | Receiver::Memory(_) => Ok(()),
        }
    }

    /// Closes a connection that nobody has used for this long.
    pub async fn close_if_idle(&mut self, idle: Duration, now: Instant) {
        if let Receiver::Smtp(smtp) = &mut self.receiver {
            smtp.close_if_idle(idle, now).await;
        }
    }
}
