//! Exports and imports a whole database in pages, to move it to another one or to back it up.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Error, QueuedMail};
use crate::{
    clock::Timestamp,
    credential::reset_code::ResetDigest,
    mail::MailId,
    session::{Session, SessionId, TokenId},
    throttle::KnownNetworks,
    token::{
        KeyId,
        cookie::CookieSecret,
        key_store::{KeyStore, StoredKeys},
        one_time::{OneTime, OneTimeId, SecretDigest},
    },
    user::{EmailKey, Invitation, User},
};

/// The maximum number of rows in a page.
const PAGE_ROWS: usize = 500;

/// A user with what else is stored about them.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    /// The user.
    pub user: User,
    /// Their reset code, and when it expires.
    pub reset_code: Option<(ResetDigest, Timestamp)>,
    /// The networks from which they have signed in.
    pub known_networks: KnownNetworks,
    /// When their password hash was imported, if it was and has not been replaced by one of ours.
    pub hash_imported_at: Option<Timestamp>,
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

    /// Adds the rows of another page.
    pub fn append(&mut self, other: Self) {
        let Self { users, sessions, endings, one_times, mails, invitations } = other;
        self.users.extend(users);
        self.sessions.extend(sessions);
        self.endings.extend(endings);
        self.one_times.extend(one_times);
        self.mails.extend(mails);
        self.invitations.extend(invitations);
    }
}

/// Reads a whole database in pages.
#[async_trait]
pub trait Records: Send + Sync {
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
}

/// The contents of a database at one moment.
pub struct Snapshot {
    /// The rows. Rows that are written later are not among them.
    pub records: Box<dyn Records>,
    /// The kind of database.
    pub database: DatabaseKind,
    /// The keys, if the database holds them.
    pub keys: Option<KeySnapshot>,
}

/// The contents of a key store.
pub struct KeySnapshot {
    /// The signing keys.
    pub keys: StoredKeys,
    /// The secret of cookies.
    pub cookie_secret: Option<CookieSecret>,
}

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

impl DatabaseKind {
    /// Its name in a backup.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// The kind with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Sqlite, Self::Postgres].into_iter().find(|kind| kind.name() == name)
    }
}

/// What a service has stored.
pub struct Installation {
    /// Its rows.
    pub archive: Arc<dyn Archive>,
    /// Its signing keys.
    pub key_store: Arc<dyn KeyStore>,
}

/// Exports and imports a whole database.
#[async_trait]
pub trait Archive: Records {
    /// Begins to read the contents at this moment. Every write that was acknowledged before is in it.
    async fn snapshot(&self) -> Result<Snapshot, Error>;

    /// Whether a move into this database has started and not finished.
    async fn is_move_unfinished(&self) -> Result<bool, Error>;

    /// Sets whether a move into this database is unfinished.
    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error>;

    /// Inserts the rows of a page in one transaction. Skips rows whose ids exist already.
    async fn import(&self, page: Page) -> Result<(), Error>;
}

/// Replaces the contents of a database in one transaction. Dropping it changes nothing.
#[async_trait]
pub trait Restoration: Send {
    /// The ids of the signing keys that are replaced.
    fn replaced_keys(&self) -> &[KeyId];

    /// Adds rows.
    async fn add(&mut self, page: Page) -> Result<(), Error>;

    /// Adds the keys. `signs_at` is when the next key starts to sign, unless its time is known.
    async fn add_keys(&mut self, keys: &KeySnapshot, signs_at: Timestamp) -> Result<(), Error>;

    /// Commits everything.
    async fn commit(self: Box<Self>) -> Result<(), Error>;
}

/// The pages of a database, one kind of rows after the other.
pub struct Pages<'a> {
    records: &'a dyn Records,
    position: Position,
}

/// Where the next page begins: after this key.
enum Position {
    Users(Option<EmailKey>),
    Sessions(Option<SessionId>),
    Endings(Option<TokenId>),
    OneTimes(Option<OneTimeId>),
    Mails(Option<MailId>),
    Invitations(Option<EmailKey>),
    End,
}

impl<'a> Pages<'a> {
    /// All pages.
    pub fn new(records: &'a dyn Records) -> Self {
        Self { records, position: Position::Users(None) }
    }

    /// The next page that has rows; none at the end.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn next(&mut self) -> Result<Option<Page>, Error> {
        loop {
            let mut page = Page::default();
            match &self.position {
                Position::Users(after) => {
                    page.users = self.records.user_records(after.as_ref(), PAGE_ROWS).await?;
                    let last = page.users.last().map(|record| record.user.email.key());
                    self.position =
                        last.map_or(Position::Sessions(None), |last| Position::Users(Some(last)));
                }
                Position::Sessions(after) => {
                    page.sessions = self.records.session_records(*after, PAGE_ROWS).await?;
                    let last = page.sessions.last().map(|session| session.id);
                    self.position =
                        last.map_or(Position::Endings(None), |last| Position::Sessions(Some(last)));
                }
                Position::Endings(after) => {
                    page.endings = self.records.ending_records(*after, PAGE_ROWS).await?;
                    let last = page.endings.last().map(|(token, _)| *token);
                    self.position =
                        last.map_or(Position::OneTimes(None), |last| Position::Endings(Some(last)));
                }
                Position::OneTimes(after) => {
                    page.one_times = self.records.one_time_records(*after, PAGE_ROWS).await?;
                    let last = page.one_times.last().map(|one_time| one_time.id);
                    self.position =
                        last.map_or(Position::Mails(None), |last| Position::OneTimes(Some(last)));
                }
                Position::Mails(after) => {
                    page.mails = self.records.mail_records(*after, PAGE_ROWS).await?;
                    let last = page.mails.last().map(|queued| queued.mail.id);
                    self.position = last
                        .map_or(Position::Invitations(None), |last| Position::Mails(Some(last)));
                }
                Position::Invitations(after) => {
                    let after = after.as_ref();
                    page.invitations = self.records.invitation_records(after, PAGE_ROWS).await?;
                    let last =
                        page.invitations.last().map(|(invitation, _)| invitation.email.key());
                    self.position =
                        last.map_or(Position::End, |last| Position::Invitations(Some(last)));
                }
                Position::End => return Ok(None),
            }
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
    }
}
