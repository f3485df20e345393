//! Confirming an action that gives the account away: a new address, a new password, or its deletion. A token that was stolen
//! is not enough.

use std::{sync::Arc, time::Duration};

use super::{Error, sign_in::user_by_password};
use crate::{
    Caller, Doorward,
    credential::password::Password,
    network::Requester,
    session::{Method, Methods, Session},
    user::User,
};

/// How long a sign-in counts as a proof.
pub(crate) const RECENT: Duration = Duration::from_secs(10 * 60);

/// How a user confirms an action: with their password or a sign-in that is recent enough.
pub(crate) struct Proof {
    password: Option<Password>,
    /// The sign-in of their session. It counts for a user without a password, and must be of two factors for one who holds a second.
    session: Arc<Session>,
}

impl Proof {
    /// The password that was sent, and the sign-in of the caller's session.
    pub(crate) fn of(caller: &Caller, password: Option<Password>) -> Self {
        let password = password.filter(|_| caller.user.has_password());
        Self { password, session: Arc::clone(&caller.session) }
    }
}

/// What a session has proved lately, each method by its own time. A trusted browser says nothing about who uses it now.
pub(crate) fn proved_lately(doorward: &Doorward, session: &Session) -> Methods {
    session.methods.given_after(doorward.now() - RECENT).without(Method::TrustedDevice)
}

/// Whether a session has proved lately who its user is, with two factors if they hold a second one.
pub(crate) fn is_fresh(doorward: &Doorward, user: &User, session: &Session) -> bool {
    if session.methods.is_empty() {
        return user.factors.is_empty() && session.verified_at() + RECENT > doorward.now();
    }
    let lately = proved_lately(doorward, session);
    !lately.is_empty() && lately.are_enough_for(&user.factors)
}

/// The stored user, if the proof is theirs.
pub(super) async fn confirm(
    doorward: &Doorward,
    user: &User,
    proof: Proof,
    requester: &Requester,
) -> Result<User, Error> {
    let Proof { password, session } = proof;
    let is_fresh = is_fresh(doorward, user, &session);
    if !user.factors.is_empty() && !is_fresh {
        return Err(Error::SignInAgain);
    }
    match password {
        Some(password) => {
            let confirmed =
                user_by_password(doorward, &user.email.key(), password, Some(user.id), requester)
                    .await?;
            let is_same = |confirmed: &User| confirmed.id == user.id;
            match confirmed.filter(is_same) {
                Some(user) => Ok(user),
                // Another request may have deleted the account since the session was checked.
                None if doorward.user_by_id(user.id).await?.is_none() => Err(Error::SessionEnded),
                None => Err(Error::WrongPassword),
            }
        }
        None if user.has_password() => Err(Error::WrongPassword),
        None if is_fresh => Ok(user.clone()),
        None => Err(Error::SignInAgain),
    }
}
