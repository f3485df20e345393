//! Exports and imports a whole database in pages, to move it to another one.

use async_trait::async_trait;

use super::{Error, QueuedMail};
use crate::{
    clock::Timestamp,
    credential::reset_code::ResetDigest,
    mail::MailId,
    session::{Session, SessionId, TokenId},
    throttle::KnownNetworks,
    token::one_time::{OneTime, OneTimeId, SecretDigest},
    user::{EmailKey, Invitation, User},
};

/// A user with their reset code and known networks.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    /// The user.
    pub user: User,
    /// Their reset code, and when it expires.
    pub reset_code: Option<(ResetDigest, Timestamp)>,
    /// The networks from which they have signed in.
    pub known_networks: KnownNetworks,
}

/// The number of rows in a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Users.
    pub users: u64,
    /// Sessions, including expired ones.
    pub sessions: u64,
}

/// One page of rows.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Users.
    pub users: Vec<UserRecord>,
    /// Sessions.
    pub sessions: Vec<Session>,
    /// Ended tokens, each with the time at which it ended.
    pub endings: Vec<(TokenId, Timestamp)>,
    /// One-time secrets.
    pub one_times: Vec<OneTime>,
    /// Mail that waits to be sent or was given up. Claims are not moved.
    pub mails: Vec<QueuedMail>,
    /// Invitations, each with the digest of its secret.
    pub invitations: Vec<(Invitation, SecretDigest)>,
}

impl Page {
    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        let Self { users, sessions, endings, one_times, mails, invitations } = self;
        users.is_empty()
            && sessions.is_empty()
            && endings.is_empty()
            && one_times.is_empty()
            && mails.is_empty()
            && invitations.is_empty()
    }
}

/// Exports and imports a whole database.
#[async_trait]
pub trait Archive: Send + Sync {
    /// The number of rows.
    async fn size(&self) -> Result<Size, Error>;

    /// Users in the order of their addresses, from the first one after `after`.
    async fn user_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<UserRecord>, Error>;

    /// Sessions in the order of their ids, from the first one after `after`.
    async fn session_records(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, Error>;

    /// Ended tokens in the order of their ids, from the first one after `after`.
    async fn ending_records(
        &self,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<(TokenId, Timestamp)>, Error>;

    /// One-time secrets in the order of their ids, from the first one after `after`.
    async fn one_time_records(
        &self,
        after: Option<OneTimeId>,
        limit: usize,
    ) -> Result<Vec<OneTime>, Error>;

    /// Mail in the order of the ids, from the first one after `after`.
    async fn mail_records(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error>;

    /// Invitations in the order of their addresses, from the first one after `after`.
    async fn invitation_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<(Invitation, SecretDigest)>, Error>;

    /// Whether a move into this database has started and not finished.
    async fn is_move_unfinished(&self) -> Result<bool, Error>;

    /// Sets whether a move into this database is unfinished.
    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error>;

    /// Inserts the rows of a page in one transaction. Skips rows whose ids exist already.
    async fn import(&self, page: Page) -> Result<(), Error>;
}
