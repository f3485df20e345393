//! The cure after a theft of the database, a backup or the keys: everything that a copy could be used for becomes void.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, effects::password_removed};
use crate::{
    Doorward,
    clock::Timestamp,
    event::{Administrator, EventKind},
    store::{self, Effects, NewPasswords, Revoked},
    token::shared_secret::SharedSecret,
    user::{Role, User},
};

/// What was replaced and revoked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmergencyReport {
    /// The signing keys that were revoked.
    pub keys_revoked: Vec<String>,
    /// The signing keys that stay, because they are in the operator's own file.
    pub keys_in_file: Vec<String>,
    pub sessions_ended: usize,
    /// Links and codes in mails, and reset codes, that are void.
    pub codes_revoked: usize,
    /// Mails with such a link or code that waited and were deleted.
    pub mails_deleted: usize,
    pub invitations_revoked: usize,
    pub api_keys_revoked: usize,
    pub passwords_removed: usize,
    /// Users without their password who get a link by mail to set a new one.
    #[serde(default)]
    pub links_mailed: usize,
}

/// Whose passwords are removed: `all`, `none` or `role:NAME`.
pub(crate) fn parse_new_passwords(text: &str) -> Option<NewPasswords> {
    match text {
        "all" => Some(NewPasswords::All),
        "none" => Some(NewPasswords::None),
        _ => text.strip_prefix("role:").and_then(Role::parse).map(NewPasswords::WithRole),
    }
}

/// Replaces the secret of cookies and all signing keys, ends all sessions, and makes all links, codes and invitations void. The
/// database comes last: its change tells other instances to read the secret and the keys again.
pub(crate) async fn run(
    doorward: &Doorward,
    new_passwords: &NewPasswords,
    by: &Administrator,
) -> Result<EmergencyReport, Error> {
    let done = replace_and_revoke(doorward, new_passwords, by).await;
    done.map_err(|error| Error::NotAllRevoked(error.into()))
}

async fn replace_and_revoke(
    doorward: &Doorward,
    new_passwords: &NewPasswords,
    by: &Administrator,
) -> Result<EmergencyReport, Error> {
    let secret = SharedSecret::random();
    doorward.keys().replace_cookie_secret(&secret).await?;
    doorward.use_cookie_secret(secret);
    let keys = doorward.keys().replace_all(doorward.now()).await?;
    let kind = EventKind::EverythingRevoked { sessions: None, passwords: None };
    let effects = doorward.event_by_administrator(by, None, kind).into();
    let now = doorward.now();
    let revoked = doorward.store().revoke_everything(new_passwords, now, &effects).await?;
    // Links that were made before are void. Whoever gets none asks for one, as after a forgotten password.
    let links_mailed = match doorward.sends_mail() && revoked.passwords > 0 {
        true => mail_links(doorward, now).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "not everybody whose password was removed is mailed a link to set a new one");
            0
        }),
        false => 0,
    };
    let keys_in_file = match doorward.settings().key_file {
        Some(_) => doorward.keys().list().await.iter().map(|key| key.id.to_string()).collect(),
        None => Vec::new(),
    };
    let Revoked { sessions, one_time_secrets, mails, invitations, api_keys, passwords } = revoked;
    Ok(EmergencyReport {
        keys_revoked: keys.iter().map(ToString::to_string).collect(),
        keys_in_file,
        sessions_ended: sessions,
        codes_revoked: one_time_secrets,
        mails_deleted: mails,
        invitations_revoked: invitations,
        api_keys_revoked: api_keys,
        passwords_removed: passwords,
        links_mailed,
    })
}

/// How many users are read and mailed at once.
const USERS_AT_ONCE: usize = 200;

/// Mails a link to set a new password to everybody whose password was removed at this time. Returns how many get one.
async fn mail_links(doorward: &Doorward, removed_at: Timestamp) -> Result<usize, store::Error> {
    let (mut mailed, mut after) = (0, None);
    loop {
        let users = doorward.store().users(after.as_ref(), USERS_AT_ONCE).await?;
        let lost =
            |user: &&User| !user.has_password() && !user.disabled && user.updated_at == removed_at;
        let mut effects = Effects::NONE;
        for user in users.iter().filter(lost) {
            let link = password_removed(doorward, user);
            effects.mails.extend(link.mails);
            effects.secrets.extend(link.secrets);
        }
        if !effects.mails.is_empty() {
            mailed += effects.mails.len();
            doorward.store().queue_mail(&effects).await?;
        }
        match users.last() {
            Some(last) if users.len() == USERS_AT_ONCE => after = Some(last.email.key()),
            _ => return Ok(mailed),
        }
    }
}
