//! Changing a user's name and e-mail address.

use std::time::Instant;

use super::{
    Failure, has_failure,
    sign_in::{ConfirmError, confirm},
};
use crate::{
    Doorward,
    credential::password::Password,
    network::Requester,
    store,
    user::{Email, Name, User},
};

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error("the password is wrong")]
    WrongPassword,
    #[error("the e-mail address is taken")]
    EmailTaken,
    #[error("there is no such user")]
    NoSuchUser,
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(ChangeError);

/// Changes the name, the address or both. A new address needs the password. Returns the user after the change.
pub(crate) async fn change(
    doorward: &Doorward,
    user: &User,
    name: Option<Name>,
    email: Option<Email>,
    password: Option<Password>,
    requester: Requester,
) -> Result<User, ChangeError> {
    if email.is_some() {
        // Like a registration, this reveals whether an address is taken, so both share one budget.
        doorward.throttle().charge_sign_up(requester, Instant::now())?;
        confirm(doorward, user, password, requester).await.map_err(|error| match error {
            ConfirmError::WrongPassword => ChangeError::WrongPassword,
            ConfirmError::Failed(failure) => ChangeError::Failed(failure),
        })?;
    }
    let name = name.filter(|name| *name != user.name);
    let email = email.filter(|email| *email != user.email);
    if name.is_none() && email.is_none() {
        return Ok(user.clone());
    }
    let now = doorward.now();
    match doorward.store().change_user(user.id, name.as_ref(), email.as_ref(), now).await {
        Ok(Some(changed)) => {
            tracing::info!(user = %user.id, name = name.is_some(), email = email.is_some(), "user changed");
            Ok(changed)
        }
        Ok(None) => Err(ChangeError::NoSuchUser),
        Err(store::Error::EmailTaken) => Err(ChangeError::EmailTaken),
        Err(error) => Err(error.into()),
    }
}
