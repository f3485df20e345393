//! Everything that a store keeps, page by page: for moving it to another one.

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    credential::reset_code::ResetDigest,
    session::{Session, SessionId, TokenId},
    throttle::KnownNetworks,
    user::{EmailKey, User},
};

/// A user with what only the store knows of them.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    /// The user.
    pub user: User,
    /// Their reset code, and until when it can be used.
    pub reset_code: Option<(ResetDigest, Timestamp)>,
    /// From where they have signed in.
    pub known_networks: KnownNetworks,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Users.
    pub users: u64,
    /// Sessions, also expired ones.
    pub sessions: u64,
}

/// A part of what a store keeps.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Users.
    pub users: Vec<UserRecord>,
    /// Sessions.
    pub sessions: Vec<Session>,
    /// Tokens that ended before their time.
    pub endings: Vec<(TokenId, Timestamp)>,
}

/// What a store can tell of itself as a whole, and take in as a whole.
#[async_trait]
pub trait Archive: Send + Sync {
    /// How much there is.
    async fn size(&self) -> Result<Size, Error>;

    /// Users in the order of their addresses, starting behind `after`.
    async fn user_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<UserRecord>, Error>;

    /// Sessions in the order of their ids, starting behind `after`.
    async fn session_records(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, Error>;

    /// Tokens that ended before their time, in the order of their ids, starting behind `after`.
    async fn ending_records(
        &self,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<(TokenId, Timestamp)>, Error>;

    /// Whether everything is being moved here, and is not all there yet.
    async fn is_move_unfinished(&self) -> Result<bool, Error>;

    /// Notes whether everything is being moved here.
    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error>;

    /// Adds what is not there yet, by id: all of the batch or nothing of it.
    async fn import(&self, batch: Batch) -> Result<(), Error>;
}
