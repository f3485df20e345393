//! Credentials: password hashes and reset codes in the table `users`, and the table `used_codes`.

use super::{
    Error, Store,
    columns::user_columns,
    effects::{Effects, add_effects},
    imported_hashes::DELETE_IMPORTED_HASH,
    sessions::end_sessions,
    statements::statements,
    user_record::UserRecord,
    write::StatementBatch,
};
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    session::SessionId,
    token::cookie::CodeId,
    user::{PasswordVersion, User, UserId},
};

statements! {
    REPLACE_PASSWORD_HASH = "UPDATE users SET password_hash = $2 WHERE id = $1";
    SET_PASSWORD =
        "UPDATE users SET password_hash = $2, updated_at = $3, password_version = password_version + 1, \
         reset_digest = NULL, reset_expires_at = NULL WHERE id = $1";
    SET_RESET_CODE = "UPDATE users SET reset_digest = $2, reset_expires_at = $3 WHERE id = $1";
    USER_BY_RESET_CODE = concat!(
        "SELECT ", user_columns!("u."), " FROM users u \
         WHERE u.reset_digest = $1 AND u.reset_expires_at > $2 AND NOT u.disabled"
    );
    DELETE_EXPIRED_RESET_CODES =
        "UPDATE users SET reset_digest = NULL, reset_expires_at = NULL WHERE id IN \
         (SELECT id FROM users WHERE reset_digest IS NOT NULL AND reset_expires_at <= $1 LIMIT $2)";
    USE_CODE =
        "INSERT INTO used_codes (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
    DELETE_EXPIRED_USED_CODES =
        "DELETE FROM used_codes WHERE id IN (SELECT id FROM used_codes WHERE expires_at <= $1 LIMIT $2)";
}

/// The condition under which a new password replaces the old one.
#[derive(Clone, Debug)]
pub enum PasswordCondition {
    /// The password still has this version, which the caller has verified.
    Unchanged(PasswordVersion),
    /// This reset code is still valid. Setting the password deletes it.
    ResetCode(ResetDigest),
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

    /// Sets a new password, ends all sessions but `keep` and deletes the user's reset code. Returns false if there is no
    /// such user or the condition does not hold; else queues the mail.
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
            holds(record, &condition, now).then(|| {
                let values = [id.into(), new.as_str().into(), now.into()];
                let mut batch = StatementBatch::default()
                    .with(SET_PASSWORD, values)
                    .with(DELETE_IMPORTED_HASH, [id.into()]);
                end_sessions(&mut batch, id, keep, change_id, now);
                add_effects(&mut batch, &effects);
                batch.returning(true)
            })
        })
        .await
    }

    /// Sets the reset code of a user, which replaces an earlier one. Returns false if there is no such user.
    pub async fn add_reset_code(
        &self,
        user: UserId,
        code: &ResetDigest,
        expires_at: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (code, effects) = (code.as_bytes().to_vec(), effects.clone());
        self.write_user(user, false, move |_, _| {
            let values = [user.into(), code.clone().into(), expires_at.into()];
            let mut batch = StatementBatch::default().with(SET_RESET_CODE, values);
            add_effects(&mut batch, &effects);
            Some(batch.returning(true))
        })
        .await
    }

    /// The enabled user whose unexpired reset code this is.
    pub async fn user_by_reset_code(
        &self,
        code: &ResetDigest,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        self.read_user(USER_BY_RESET_CODE, [code.as_bytes().to_vec().into(), now.into()]).await
    }

    /// Records the use of a sign-in code, which expires at this time. Returns false if it has been used before.
    pub async fn use_code(&self, id: CodeId, expires_at: Timestamp) -> Result<bool, Error> {
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let added = batch.add(USE_CODE, [id.into(), expires_at.into()]);
            batch.counting(move |rows| rows.of(added) > 0)
        })
        .await
    }
}

/// Whether the condition for a new password holds.
fn holds(record: &UserRecord, condition: &PasswordCondition, now: Timestamp) -> bool {
    match condition {
        PasswordCondition::Unchanged(version) => record.user.password_version == *version,
        PasswordCondition::ResetCode(code) => {
            record.reset_code.as_ref().is_some_and(|(digest, expires_at)| {
                digest.as_bytes() == code.as_bytes() && *expires_at > now
            })
        }
        PasswordCondition::Unconditional => true,
    }
}
