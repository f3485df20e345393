//! Password hashes and reset codes in the table `users`.

use async_trait::async_trait;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write},
    mailing::add_mailing,
    sessions::end_sessions,
    statements as sql,
};
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    mail::Mailing,
    session::SessionId,
    store::{CredentialStore, Error, PasswordCondition, archive::UserRecord},
    token::cookie::CodeId,
    user::{User, UserId},
};

#[async_trait]
impl CredentialStore for PostgresStore {
    async fn replace_password_hash(
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
                    .with(sql::REPLACE_PASSWORD_HASH, values)
                    .with(sql::DELETE_IMPORTED_HASH, [id.into()]);
                batch.returning(())
            })
        })
        .await
    }

    async fn set_password(
        &self,
        id: UserId,
        condition: PasswordCondition,
        new: &PasswordHash,
        keep: Option<SessionId>,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<bool, Error> {
        let (new, mailing) = (new.as_phc().to_owned(), mailing.clone());
        self.write_user(id, false, move |change_id, record| {
            holds(record, &condition, now).then(|| {
                let values = [id.into(), new.as_str().into(), now.into()];
                let mut batch = StatementBatch::default()
                    .with(sql::SET_PASSWORD, values)
                    .with(sql::DELETE_IMPORTED_HASH, [id.into()]);
                end_sessions(&mut batch, id, keep, change_id, now);
                add_mailing(&mut batch, &mailing);
                batch.returning(true)
            })
        })
        .await
    }

    async fn add_reset_code(
        &self,
        user: UserId,
        code: &ResetDigest,
        expires_at: Timestamp,
    ) -> Result<bool, Error> {
        let code = code.as_bytes().to_vec();
        self.write_user(user, false, move |_, _| {
            let values = [user.into(), code.clone().into(), expires_at.into()];
            Some(Write::statement(sql::SET_RESET_CODE, values, true))
        })
        .await
    }

    async fn user_by_reset_code(
        &self,
        code: &ResetDigest,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        self.read_user(sql::USER_BY_RESET_CODE, [code.as_bytes().to_vec().into(), now.into()]).await
    }

    async fn use_code(&self, id: CodeId, expires_at: Timestamp) -> Result<bool, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let added = batch.add(sql::USE_CODE, [id.into(), expires_at.into()]);
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
