//! Confirming an action that gives the account away: a new address, a new password, or its deletion. A token that was stolen
//! is not enough.

use std::time::Duration;

use super::{Failure, has_failure, sign_in::user_by_password};
use crate::{
    Caller, Doorward, clock::Timestamp, credential::password::Password, network::Requester,
    user::User,
};

/// How long a sign-in counts as a proof.
pub(crate) const RECENT: Duration = Duration::from_secs(10 * 60);

/// What a user proves with that it is they who ask.
pub(crate) enum Proof {
    Password(Password),
    /// A sign-in at this time. It counts for a user without a password.
    SignIn(Timestamp),
}

impl Proof {
    /// The password that was sent, or else the sign-in of the caller's session.
    pub(crate) fn of(caller: &Caller, password: Option<Password>) -> Self {
        match password {
            Some(password) if caller.user.has_password() => Self::Password(password),
            _ => Self::SignIn(caller.session.authenticated_at),
        }
    }
}

/// Why an action that needs a proof was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfirmError {
    #[error("the password is wrong")]
    WrongPassword,
    /// The user has no password, and their sign-in is too long ago.
    #[error("the user has to sign in again")]
    SignInAgain,
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(ConfirmError);

/// The stored user, if the proof is theirs.
pub(super) async fn confirm(
    doorward: &Doorward,
    user: &User,
    proof: Proof,
    requester: &Requester,
) -> Result<User, ConfirmError> {
    match proof {
        Proof::Password(password) => {
            let confirmed =
                user_by_password(doorward, &user.email.key(), password, requester).await?;
            let is_same = |confirmed: &User| confirmed.id == user.id;
            confirmed.filter(is_same).ok_or(ConfirmError::WrongPassword)
        }
        Proof::SignIn(_) if user.has_password() => Err(ConfirmError::WrongPassword),
        Proof::SignIn(at) if at + RECENT > doorward.now() => Ok(user.clone()),
        Proof::SignIn(_) => Err(ConfirmError::SignInAgain),
    }
}
