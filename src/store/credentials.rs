//! Credentials: password hashes in the table `users`.

use super::{
    Error, Store,
    api_keys::REVOKE_API_KEYS_OF_USER,
    effects::{Effects, add_effects},
    imported_hashes::DELETE_IMPORTED_HASH,
    sessions::end_sessions,
    statements::statements,
    user_record::UserRecord,
    write::StatementBatch,
};
use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    session::SessionId,
    user::{PasswordVersion, UserId},
};

statements! {
    REPLACE_PASSWORD_HASH = "UPDATE users SET password_hash = $2 WHERE id = $1";
    SET_PASSWORD =
        "UPDATE users SET password_hash = $2, updated_at = $3, password_version = password_version + 1 \
         WHERE id = $1";
    REMOVE_PASSWORD =
        "UPDATE users SET password_hash = NULL, updated_at = $2, password_version = password_version + 1 WHERE id = $1";
}

/// The condition under which a new password replaces the old one.
#[derive(Clone, Debug)]
pub enum PasswordCondition {
    /// The password still has this version, which the caller has verified.
    Unchanged(PasswordVersion),
    /// No condition: the operator sets the password.
    Unconditional,
}

impl Store {
    /// Replaces a hash with another hash of the same password, unless the password has changed since.
    pub async fn replace_password_hash(
        &self,
        id: UserId,
        old: &PasswordHash,
        new: &PasswordHash,
    ) -> Result<(), Error> {
        let (old, new) = (old.clone(), new.clone());
        self.write_user(id, (), move |_, record| {
            let is_unchanged = record.user.password_hash.as_ref() == Some(&old);
            is_unchanged.then(|| {
                let values = [id.into(), new.as_phc().into()];
                let batch = StatementBatch::default()
                    .with(REPLACE_PASSWORD_HASH, values)
                    .with(DELETE_IMPORTED_HASH, [id.into()]);
                batch.returning(())
            })
        })
        .await
    }

    /// Sets a new password and ends all sessions but `keep`. If none is kept, also revokes the API keys: the account may have been
    /// in the hands of somebody else. Returns false if there is no such user or the condition does not
    /// hold; else queues the mail.
    pub async fn set_password(
        &self,
        id: UserId,
        condition: PasswordCondition,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (new, effects) = (new.as_phc().to_owned(), effects.clone());
        self.revoke_from_user(id, false, move |change_id, record| {
            holds(record, &condition).then(|| {
                let values = [id.into(), new.as_str().into(), now.into()];
                let mut batch = StatementBatch::default()
                    .with(SET_PASSWORD, values)
                    .with(DELETE_IMPORTED_HASH, [id.into()]);
                end_sessions(&mut batch, id, keep, change_id, now);
                if keep.is_none() {
                    batch.add(REVOKE_API_KEYS_OF_USER, [id.into(), now.into()]);
                }
                add_effects(&mut batch, &effects);
                batch.returning(true)
            })
        })
        .await
    }

    /// Removes the password of a user, ends all their sessions and API keys, and queues the mail. The version of the password is the next one.
    /// Returns false if there is no such user, or their password has changed since it had this version.
    pub async fn remove_password(
        &self,
        id: UserId,
        version: PasswordVersion,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.revoke_from_user(id, false, move |change_id, record| {
            (record.user.password_version == version).then(|| {
                let mut batch = StatementBatch::default()
                    .with(REMOVE_PASSWORD, [id.into(), now.into()])
                    .with(REVOKE_API_KEYS_OF_USER, [id.into(), now.into()])
                    .with(DELETE_IMPORTED_HASH, [id.into()]);
                end_sessions(&mut batch, id, None, change_id, now);
                add_effects(&mut batch, &effects);
                batch.returning(true)
            })
        })
        .await
    }
}

/// Whether the condition for a new password holds.
fn holds(record: &UserRecord, condition: &PasswordCondition) -> bool {
    match condition {
        PasswordCondition::Unchanged(version) => record.user.password_version == *version,
        PasswordCondition::Unconditional => true,
    }
}
