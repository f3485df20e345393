//! What an operator does to an account that its user could do as well: by the same rules, through the same hasher.

use std::{fmt, net::Ipv4Addr};

use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    credential::{
        password::{Busy, Password, PasswordHash},
        reset_code::ResetCode,
    },
    fault::Fault,
    network::Network,
    store::{self, OldPassword},
    token::signing_keys,
    user::{Email, Name, User},
};

/// A password or a code between a command and the server, over a socket that nobody else can open.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why an order is not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotDone {
    #[error("{field}: {}", .fault.message())]
    Invalid { field: &'static str, fault: Fault },
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Keys(#[from] signing_keys::Error),
}

/// Adds a user, who is not signed in anywhere.
pub(super) async fn add(
    doorward: &Doorward,
    name: &str,
    email: &str,
    password: Option<&Secret>,
) -> Result<User, NotDone> {
    let name = Name::parse(name.to_owned()).map_err(invalid("name"))?;
    let email = Email::parse(email.to_owned()).map_err(invalid("email"))?;
    let password_hash = match password {
        Some(password) => Some(hash(doorward, password, &name, &email).await?),
        None => None,
    };
    let user = User::new(name, email, password_hash, doorward.now());
    doorward.store().add_user(&user, None).await?;
    tracing::info!(user = %user.id, "added by the operator");
    Ok(user)
}

/// Sets a password and ends all sessions; false if the user is gone.
pub(super) async fn set_password(
    doorward: &Doorward,
    user: &User,
    password: &Secret,
) -> Result<bool, NotDone> {
    let hash = hash(doorward, password, &user.name, &user.email).await?;
    let (old, now) = (OldPassword::Overruled, doorward.now());
    let is_set = doorward.store().set_password(user.id, old, &hash, None, now).await?;
    // Whoever gets the new password must be able to use it, whatever others have tried.
    doorward.clear_failures(&user.email.key()).await?;
    Ok(is_set)
}

/// Makes a reset code; none if the user is gone.
pub(super) async fn link(doorward: &Doorward, user: &User) -> Result<Option<Secret>, NotDone> {
    let (code, end) = (ResetCode::random(), doorward.now() + ResetCode::LIFETIME);
    let added = doorward.store().add_reset_code(user.id, &code.digest(), end).await?;
    tracing::info!(user = %user.id, "reset code made by the operator");
    Ok(added.then(|| Secret(code.as_str().to_owned())))
}

async fn hash(
    doorward: &Doorward,
    password: &Secret,
    name: &Name,
    email: &Email,
) -> Result<PasswordHash, NotDone> {
    let rules = doorward.settings().password_rules;
    let password = Password::parse(password.0.clone(), rules)
        .and_then(|password| password.reject_identity(name.as_str(), email.as_str(), rules))
        .map_err(invalid("password"))?;
    Ok(doorward.hasher().hash(password, Network::at(Ipv4Addr::LOCALHOST.into())).await?)
}

fn invalid(field: &'static str) -> impl Fn(Fault) -> NotDone {
    move |fault| NotDone::Invalid { field, fault }
}
