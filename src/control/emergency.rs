//! `doorward emergency` on an open database.

use super::EmergencyReport;
use crate::{
    Doorward,
    account::emergency::{self, Emergency, EmergencyError},
    event::Administrator,
    store::{NewPasswords, Revoked},
    user::Role,
};

/// Why nothing, or not everything, was revoked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}: not all, none, or role: and a role; nothing has changed")]
    NewPasswords(String),
    #[error(transparent)]
    Failed(#[from] EmergencyError),
}

/// Replaces and revokes everything.
pub(super) async fn run(
    doorward: &Doorward,
    new_passwords: &str,
    by: &Administrator,
) -> Result<EmergencyReport, Error> {
    let parsed = parse(new_passwords);
    let parsed = parsed.ok_or_else(|| Error::NewPasswords(new_passwords.to_owned()))?;
    let Emergency { keys, revoked } = emergency::run(doorward, &parsed, by).await?;
    let Revoked { sessions, one_time_secrets, mails, invitations, api_keys, passwords } = revoked;
    let in_file = match doorward.settings().key_file {
        Some(_) => doorward.keys().list().await,
        None => Vec::new(),
    };
    Ok(EmergencyReport {
        keys_revoked: keys.iter().map(ToString::to_string).collect(),
        keys_in_file: in_file.iter().map(|key| key.id.to_string()).collect(),
        sessions_ended: sessions,
        codes_revoked: one_time_secrets,
        mails_deleted: mails,
        invitations_revoked: invitations,
        api_keys_revoked: api_keys,
        passwords_removed: passwords,
    })
}

/// Whose passwords are removed: `all`, `none` or `role:NAME`.
fn parse(text: &str) -> Option<NewPasswords> {
    match text {
        "all" => Some(NewPasswords::All),
        "none" => Some(NewPasswords::None),
        _ => text.strip_prefix("role:").and_then(Role::parse).map(NewPasswords::WithRole),
    }
}

/// Whether the text says whose passwords are removed.
pub fn is_new_passwords(text: &str) -> bool {
    parse(text).is_some()
}
