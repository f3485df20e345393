//! What keeps people from removing their last way to sign in. The statements that remove passkeys and identities tell the rest.

use uuid::Uuid;

use super::value::Value;
use crate::{
    id::Id,
    user::{IdentityId, User},
};

/// By what a user may sign in, besides a passkey.
#[derive(Clone, Copy, Debug)]
pub struct OtherWays {
    /// By a password, if they have one.
    pub by_password: bool,
    /// By a mailed code.
    pub by_mail: bool,
    /// By this identity of theirs, if they still have it.
    pub by_identity: Option<IdentityId>,
}

impl OtherWays {
    /// Whether the user has one that no row but theirs tells.
    pub(super) fn has_one(self, user: &User) -> bool {
        self.by_mail || (self.by_password && user.has_password())
    }

    /// The identity. None has the nil id.
    pub(super) fn identity(self) -> Value {
        self.by_identity.map_or(Uuid::nil(), IdentityId::uuid).into()
    }
}
