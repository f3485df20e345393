//! Sessions. Each is one sign-in of a user.

pub mod device;
pub mod last_seen;
mod methods;

use std::time::Duration;

use self::last_seen::LastSeenBuffer;
pub use self::methods::{Method, Methods};
use crate::{
    clock::Timestamp,
    id::id,
    network::ClientInfo,
    user::{User, UserId},
};

/// One sign-in of one user. Its token is valid only while the session exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The `sid` claim of every token of the session.
    pub id: SessionId,
    /// The user who signed in.
    pub user_id: UserId,
    /// The `jti` claim of the only valid token of the session: the latest one.
    pub token_id: TokenId,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When the session was last used, accurate to a few minutes.
    pub last_seen_at: Timestamp,
    /// When the session expires.
    pub expires_at: Timestamp,
    /// The session also ends when it has not been used for this long.
    pub idle_timeout: Option<Duration>,
    /// When the user last proved who they are. A refresh keeps it.
    pub authenticated_at: Timestamp,
    /// How they did.
    pub methods: Methods,
    /// The client that the user signed in with.
    pub client: ClientInfo,
}

impl Session {
    /// A session that starts now.
    pub(crate) fn new(
        user_id: UserId,
        client: ClientInfo,
        now: Timestamp,
        lifetime: Duration,
    ) -> Self {
        Self {
            id: SessionId::random(),
            user_id,
            token_id: TokenId::random(),
            created_at: now,
            last_seen_at: now,
            expires_at: now + lifetime,
            idle_timeout: None,
            authenticated_at: now,
            methods: Methods::default(),
            client,
        }
    }

    /// Whether what was proved is enough for this user: two factors, if they hold a second one.
    pub(crate) fn is_enough_for(&self, user: &User) -> bool {
        self.methods.are_enough_for(&user.factors)
    }

    /// The session as a cookie of this time proves it. One that is older than the latest proof counts with its own time, and with
    /// first factors only: the browser of the app has not seen the second factor.
    #[must_use]
    pub(crate) fn as_of(&self, time: Timestamp) -> Self {
        if time >= self.authenticated_at {
            return self.clone();
        }
        Self { authenticated_at: time, methods: self.methods.first_factors(), ..self.clone() }
    }

    /// Whether it has expired, or has not been used for its idle timeout. `last_used` is accurate to
    /// [`LastSeenBuffer::INTERVAL`], which is therefore added: no session ends early.
    pub(crate) fn has_expired(&self, last_used: Timestamp, now: Timestamp) -> bool {
        self.expires_at <= now
            || self
                .idle_timeout
                .is_some_and(|timeout| last_used + (timeout + LastSeenBuffer::INTERVAL) <= now)
    }
}

/// How long a session lasts if nobody ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// For the lifetime of sessions: that of a token, or of a browser whose user stays signed in.
    Lifetime,
    /// As long as it is used, and at most for the lifetime: that of any other browser.
    UntilIdle,
}

id!(
    /// The id of a session.
    SessionId
);

id!(
    /// The id of a token.
    TokenId
);
