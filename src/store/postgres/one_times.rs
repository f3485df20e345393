//! The table `one_times`, and what the use of a one-time secret does.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write, WriteScope},
    mailing::add_mailing,
    row::{one_time_from_row, one_time_with_user_from_row},
    sessions::{end_sessions, open_session},
    statements as sql,
    value::{email_key, sql_limit},
};
use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    mail::Mailing,
    store::{Error, MAX_CODES, OneTimeEffect, OneTimeStore, archive::UserRecord},
    token::one_time::{OneTime, OneTimeId, Purpose, SecretDigest},
    user::{EmailKey, PasswordVersion, User},
};

#[async_trait]
impl OneTimeStore for PostgresStore {
    async fn one_time_by_digest(
        &self,
        purpose: Purpose,
        digest: &SecretDigest,
    ) -> Result<Option<(OneTime, User)>, Error> {
        let values = [digest.as_bytes().to_vec().into(), purpose.as_str().into()];
        let rows = self.engine.read(sql::ONE_TIME_BY_DIGEST, values).await?;
        rows.first().map(one_time_with_user_from_row).transpose()
    }

    async fn one_times_by_email(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Vec<(OneTime, User)>, Error> {
        let values = [email_key(email), purpose.as_str().into(), now.into(), sql_limit(MAX_CODES)];
        let rows = self.engine.read(sql::ONE_TIMES_BY_EMAIL, values).await?;
        rows.iter().map(one_time_with_user_from_row).collect()
    }

    async fn charge_guess(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<usize, Error> {
        let (email, purpose_text) = (email.clone(), purpose.as_str());
        // If it runs twice, because the outcome of a commit was lost, it charges two guesses.
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let values = [email_key(&email), purpose_text.into(), now.into()];
                let one_times = batch.add(sql::CHARGE_ONE_TIMES, values);
                let invitations = (purpose == Purpose::Invitation)
                    .then(|| batch.add(sql::CHARGE_INVITATION, [email_key(&email), now.into()]));
                batch.counting(move |rows| {
                    rows.of(one_times) + invitations.map_or(0, |statement| rows.of(statement))
                })
            })
            .await
    }

    async fn pending_email(&self, user: &User, now: Timestamp) -> Result<Option<OneTime>, Error> {
        let values = [
            user.id.into(),
            Purpose::ChangeEmail.as_str().into(),
            now.into(),
            user.email.as_str().into(),
            user.password_version.number().into(),
        ];
        let rows = self.engine.read(sql::ONE_TIME_BY_USER, values).await?;
        rows.first().map(one_time_from_row).transpose()
    }

    async fn use_one_time(
        &self,
        one_time: &OneTime,
        effect: OneTimeEffect,
        mailing: &Mailing,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let (one_time, mailing) = (one_time.clone(), mailing.clone());
        let scope = WriteScope::OneTime(one_time.user_id, one_time.id);
        self.engine
            .write(scope, move |change_id, record| {
                // Nothing in its row changes but the guesses, so the one that the caller has read is as good as the
                // stored one.
                let is_valid = |record: &&UserRecord| {
                    one_time.purpose == effect.purpose() && one_time.is_valid_for(&record.user, now)
                };
                let Some(record) = record.filter(is_valid) else { return Write::nothing(None) };
                let mut user_after = UserAfter { user: record.user.clone(), change_id, now };
                let mut batch =
                    StatementBatch::default().with(sql::DELETE_ONE_TIME, [one_time.id.into()]);
                user_after.apply(&mut batch, record, &one_time, &effect);
                add_mailing(&mut batch, &mailing);
                batch.returning(Some(user_after.user))
            })
            .await
    }

    async fn delete_one_time(&self, id: OneTimeId) -> Result<bool, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let deleted = batch.add(sql::DELETE_ONE_TIME, [id.into()]);
                batch.counting(move |rows| rows.of(deleted) > 0)
            })
            .await
    }
}

/// The user as the statements of a batch leave them.
struct UserAfter {
    user: User,
    change_id: Uuid,
    now: Timestamp,
}

impl UserAfter {
    /// What the use of a one-time secret does besides its deletion.
    fn apply(
        &mut self,
        batch: &mut StatementBatch,
        record: &UserRecord,
        one_time: &OneTime,
        effect: &OneTimeEffect,
    ) {
        let id = self.user.id;
        match effect {
            OneTimeEffect::VerifyEmail => self.verify_email(batch, one_time),
            OneTimeEffect::ChangeEmail => {
                self.set_email(batch, one_time);
                let values = [id.into(), Purpose::ChangeEmail.as_str().into()];
                batch.add(sql::DELETE_ONE_TIMES_OF_PURPOSE, values);
            }
            OneTimeEffect::RestoreEmail(password) => {
                self.set_email(batch, one_time);
                let purpose = Purpose::RestoreEmail.as_str().into();
                let values = [id.into(), purpose, one_time.expires_at.into()];
                batch.add(sql::DELETE_OTHER_ONE_TIMES, values);
                self.reset_password(batch, password);
            }
            OneTimeEffect::ResetPassword(password) => {
                self.verify_email(batch, one_time);
                let (purpose, email) = (Purpose::RestoreEmail.as_str(), one_time.email.key());
                let values = [id.into(), purpose.into(), email_key(&email)];
                batch.add(sql::DELETE_ONE_TIMES_TO_OTHERS, values);
                self.reset_password(batch, password);
            }
            OneTimeEffect::SignIn(session) => {
                if !self.user.email_verified {
                    end_sessions(batch, id, None, self.change_id, self.now);
                    batch.add(sql::DELETE_ONE_TIMES, [id.into()]);
                }
                self.verify_email(batch, one_time);
                open_session(batch, record, session, self.change_id);
                self.user.last_login_at = Some(session.created_at);
            }
        }
    }

    /// Verifies the user's address if the secret was sent to it.
    fn verify_email(&mut self, batch: &mut StatementBatch, one_time: &OneTime) {
        if self.user.email == one_time.email && !self.user.email_verified {
            let values = [self.user.id.into(), true.into(), self.now.into()];
            batch.add(sql::SET_EMAIL_VERIFIED, values);
            (self.user.email_verified, self.user.updated_at) = (true, self.now);
        }
    }

    /// Makes the address that the secret was sent to the user's address.
    fn set_email(&mut self, batch: &mut StatementBatch, one_time: &OneTime) {
        let email = &one_time.email;
        let key = email.key();
        let values =
            [self.user.id.into(), email.as_str().into(), key.as_str().into(), self.now.into()];
        batch.add(sql::SET_EMAIL, values);
        self.user.email = email.clone();
        (self.user.email_verified, self.user.updated_at) = (true, self.now);
    }

    /// Sets a new password, deletes the reset code and ends all sessions.
    fn reset_password(&mut self, batch: &mut StatementBatch, password: &PasswordHash) {
        let id = self.user.id;
        batch.add(sql::SET_PASSWORD, [id.into(), password.as_phc().into(), self.now.into()]);
        batch.add(sql::DELETE_IMPORTED_HASH, [id.into()]);
        end_sessions(batch, id, None, self.change_id, self.now);
        self.user.password_hash = Some(password.clone());
        self.user.password_version =
            PasswordVersion::from_store(self.user.password_version.number() + 1);
        self.user.updated_at = self.now;
    }
}
