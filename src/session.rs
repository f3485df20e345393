//! A session: what a token stands for until it ends.

use std::{fmt, net::IpAddr, str::FromStr};

use uuid::Uuid;

use crate::{
    clock::Timestamp,
    user::{NotAnId, UserId, parse_hyphenated},
};

/// One signing-in of one user. Its tokens are good for as long as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Named by every token of the session.
    pub id: SessionId,
    /// Whose session it is.
    pub user_id: UserId,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// From where the user signed in.
    pub origin: Origin,
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

/// Identifies a session: a random UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(Uuid);

impl SessionId {
    /// An id that no session has.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        parse_hyphenated(text).map(Self).ok_or(NotAnId)
    }
}
