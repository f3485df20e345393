//! Finding one user.

use crate::{
    Doorward, store,
    user::{EmailKey, User, UserId},
};

/// The user with this id or e-mail address.
pub(crate) async fn user_by_id_or_email(
    doorward: &Doorward,
    id_or_email: &str,
) -> Result<Option<User>, store::Error> {
    match id_or_email.parse() {
        Ok(id) => doorward.user_by_id(id).await,
        Err(_) => doorward.user_by_email(id_or_email).await,
    }
}

impl Doorward {
    /// The user with this id.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn user_by_id(&self, id: UserId) -> Result<Option<User>, store::Error> {
        self.store().user_by_id(id).await
    }

    /// The user with this e-mail address, in any letter case.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn user_by_email(&self, email: &str) -> Result<Option<User>, store::Error> {
        self.store().user_by_email(&EmailKey::of(email)).await
    }
}
