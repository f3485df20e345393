//! Sessions. Each is one sign-in of a user.

pub mod device;
pub mod last_seen;

use std::{net::IpAddr, time::Duration};

use self::last_seen::LastSeenBuffer;
use crate::{clock::Timestamp, id::id, user::UserId};

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
    /// Where the user signed in from.
    pub origin: Origin,
}

impl Session {
    /// A session that starts now.
    #[doc(hidden)]
    pub fn new(user_id: UserId, origin: Origin, now: Timestamp, lifetime: Duration) -> Self {
        Self {
            id: SessionId::random(),
            user_id,
            token_id: TokenId::random(),
            created_at: now,
            last_seen_at: now,
            expires_at: now + lifetime,
            idle_timeout: None,
            origin,
        }
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

/// Where a sign-in came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The IP address of the client.
    pub address: IpAddr,
    /// The `User-Agent` header, without control characters and cut to [`Self::MAX_USER_AGENT`] bytes.
    pub user_agent: String,
}

impl Origin {
    /// The maximum number of stored bytes of a `User-Agent` header.
    pub const MAX_USER_AGENT: usize = 256;

    /// The origin of a client with this address and `User-Agent` header.
    pub fn new(address: IpAddr, user_agent: &str) -> Self {
        let printable: String = user_agent.chars().filter(|c| !c.is_control()).collect();
        let end = printable.floor_char_boundary(Self::MAX_USER_AGENT);
        Self { address: address.to_canonical(), user_agent: printable[..end].to_owned() }
    }
}

id!(
    /// The id of a session.
    SessionId
);

id!(
    /// The id of a token.
    TokenId
);
