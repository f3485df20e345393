//! A session: what a token stands for until it ends.

pub mod last_seen;

use std::{net::IpAddr, time::Duration};

use crate::{clock::Timestamp, id::id, user::UserId};

/// One signing-in of one user. Its token is good for as long as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Named by every token of the session.
    pub id: SessionId,
    /// Whose session it is.
    pub user_id: UserId,
    /// The one token of the session that is good: the latest.
    pub token_id: TokenId,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it was last used, to within some minutes.
    pub last_seen_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// From where the user signed in.
    pub origin: Origin,
}

impl Session {
    /// A session that begins now.
    pub fn new(user_id: UserId, origin: Origin, now: Timestamp, lifetime: Duration) -> Self {
        Self {
            id: SessionId::random(),
            user_id,
            token_id: TokenId::random(),
            created_at: now,
            last_seen_at: now,
            expires_at: now + lifetime,
            origin,
        }
    }
}

/// Where a sign-in came from, as far as it can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The address of the client.
    pub address: IpAddr,
    /// What the client says it is, cut to [`Self::MAX_USER_AGENT`].
    pub user_agent: String,
}

impl Origin {
    /// Bytes of a client's own description that are kept.
    pub const MAX_USER_AGENT: usize = 256;

    /// An origin whose description may be anything that a client can send.
    pub fn new(address: IpAddr, user_agent: &str) -> Self {
        let printable: String = user_agent.chars().filter(|c| !c.is_control()).collect();
        let end = printable.floor_char_boundary(Self::MAX_USER_AGENT);
        Self { address: address.to_canonical(), user_agent: printable[..end].to_owned() }
    }
}

id!(
    /// Identifies a session.
    SessionId
);

id!(
    /// Identifies a token of a session.
    TokenId
);
