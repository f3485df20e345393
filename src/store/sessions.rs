//! The store of sessions.

use std::time::Duration;

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    mail::Mailing,
    session::{Session, SessionId, TokenId},
    user::{User, UserId},
};

/// The column `idle_ms`: the idle timeout in milliseconds, 0 for none.
pub(super) fn idle_ms(idle_timeout: Option<Duration>) -> i64 {
    idle_timeout.map_or(0, |timeout| i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX))
}

/// The idle timeout in the column `idle_ms`.
pub(super) fn idle_timeout_from_ms(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}

/// The number of sessions that one user can have.
pub const MAX_SESSIONS: usize = 100;

/// Stores sessions.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Adds a session for a user whose password was verified, and sets the time of their last login. Returns false if the
    /// user has been deleted or disabled, or the password has changed since. Beyond [`MAX_SESSIONS`] the oldest sessions end.
    /// The session's network becomes a known one. Queues the mail if the session was added.
    async fn add_session(
        &self,
        user: &User,
        session: &Session,
        mailing: &Mailing,
    ) -> Result<bool, Error>;

    /// The session with this id, and its user.
    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error>;

    /// A user's sessions that have not expired, the oldest first.
    async fn sessions_by_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>, Error>;

    /// Replaces the valid token of a session. Returns false if the session has ended or its token was already replaced.
    async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error>;

    /// Ends a session because a token was used again that the session replaced at or before `replaced_by`. Returns false if
    /// the session has ended, the token is still valid, or the token was replaced later; else queues the mail.
    async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<bool, Error>;

    /// Ends one session of a user. Returns false if they have no such session.
    async fn end_session(&self, user: UserId, id: SessionId, now: Timestamp)
    -> Result<bool, Error>;

    /// Ends all sessions of a user and returns their number. Queues the mail unless it is 0.
    async fn end_sessions(
        &self,
        user: UserId,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<usize, Error>;

    /// Sets when sessions were last used. This is not counted in [`super::Store::changes`], because no decision depends on
    /// it.
    async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error>;
}

/// A token that was used after its session had replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReusedToken {
    /// The user of the session.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// The token.
    pub token_id: TokenId,
}
