//! The cure after a theft of the database, a backup or the keys: everything that a copy could be used for becomes void.

use crate::{
    Doorward,
    event::{Administrator, EventKind},
    store::{self, NewPasswords, Revoked},
    token::{KeyId, shared_secret::SharedSecret, signing_keys},
    user::Role,
};

/// What was replaced and revoked.
pub(crate) struct Emergency {
    /// Signing keys that were revoked.
    pub(crate) keys: Vec<KeyId>,
    /// Signing keys that stay, because they are in the operator's own file.
    pub(crate) keys_in_file: Vec<KeyId>,
    /// What was revoked in the database.
    pub(crate) revoked: Revoked,
}

/// Whose passwords are removed: `all`, `none` or `role:NAME`.
pub(crate) fn parse_new_passwords(text: &str) -> Option<NewPasswords> {
    match text {
        "all" => Some(NewPasswords::All),
        "none" => Some(NewPasswords::None),
        _ => text.strip_prefix("role:").and_then(Role::parse).map(NewPasswords::WithRole),
    }
}

/// Why not everything was replaced and revoked. It can be repeated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmergencyError {
    #[error("{0}: run it again, because not everything is revoked")]
    Keys(#[from] signing_keys::Error),
    #[error("{0}: run it again, because not everything is revoked")]
    Store(#[from] store::Error),
}

/// Replaces the secret of cookies and all signing keys, ends all sessions, and makes all links, codes and invitations void. The
/// database comes last: its change tells other instances to read the secret and the keys again.
pub(crate) async fn run(
    doorward: &Doorward,
    new_passwords: &NewPasswords,
    by: &Administrator,
) -> Result<Emergency, EmergencyError> {
    let secret = SharedSecret::random();
    doorward.keys().replace_cookie_secret(&secret).await?;
    doorward.use_cookie_secret(secret);
    let keys = doorward.keys().replace_all(doorward.now()).await?;
    let kind = EventKind::EverythingRevoked { sessions: None, passwords: None };
    let effects = doorward.event_by_administrator(by, None, kind).into();
    let revoked =
        doorward.store().revoke_everything(new_passwords, doorward.now(), &effects).await?;
    let keys_in_file = match doorward.settings().key_file {
        Some(_) => doorward.keys().list().await.into_iter().map(|key| key.id).collect(),
        None => Vec::new(),
    };
    Ok(Emergency { keys, keys_in_file, revoked })
}
