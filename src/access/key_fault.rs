//! Why an API key is refused.

use crate::credential::api_key::NotAKey;

/// Why a key does not count, or not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// A key was sent to something that takes none.
    #[error("an API key, which does not count here: a guard takes keys if it has keys = true")]
    NotTaken,
    /// Something else was sent in the place of a key.
    #[error("not an API key")]
    OtherForm,
    #[error("an API key with a wrong checksum: it was mistyped or cut off")]
    WrongChecksum,
    #[error("an unknown API key")]
    Unknown,
    #[error("an expired API key")]
    Expired,
    #[error("a revoked API key")]
    Revoked,
    #[error("an API key of a disabled user")]
    OwnerDisabled,
    /// Everybody needs a second factor.
    #[error(
        "an API key of a user who had no second factor when they made it, or has none any more"
    )]
    OneFactor,
    /// Another site has made a browser send it.
    #[error("an API key that a browser has sent for another site")]
    CrossSite,
    #[error("an API key without the scope for it")]
    NoScope,
    /// Its own condition is not true.
    #[error("an API key whose own condition is not true")]
    Condition,
}

impl From<NotAKey> for KeyFault {
    fn from(reason: NotAKey) -> Self {
        match reason {
            NotAKey::OtherForm => Self::OtherForm,
            NotAKey::WrongChecksum => Self::WrongChecksum,
        }
    }
}
