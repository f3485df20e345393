//! A session: what a token stands for until it ends.

use std::{fmt, str::FromStr};

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
