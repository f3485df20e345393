//! One-time secrets: the table `one_time_secrets`, and what the use of a secret does. Only digests are stored.

use uuid::Uuid;

use super::{
    Error, Store,
    api_keys::REVOKE_API_KEYS_OF_USER,
    columns::{ONE_TIME_COLUMN_COUNT, one_time_columns, user_columns},
    credentials::SET_PASSWORD,
    effects::{DELETE_ONE_TIME_SECRETS_OF_PURPOSE, Effects, add_effects},
    factors::{delete_factors, delete_factors_since, set_factors},
    identities::{
        DELETE_IDENTITIES_OF_USER, DELETE_IDENTITIES_SINCE, GivenRoles, give_roles,
        remove_login_roles,
    },
    imported_hashes::DELETE_IMPORTED_HASH,
    invitations::CHARGE_INVITATION,
    row::Row,
    sessions::end_sessions,
    statements::statements,
    user_record::{UserRecord, user_from_row},
    user_terms::change_terms,
    users::SET_EMAIL_VERIFIED,
    value::{email_key, sql_limit},
    write::{StatementBatch, Write, WriteScope},
};
use crate::{
    clock::Timestamp,
    credential::{factor::Factors, password::PasswordHash},
    event::Event,
    token::one_time::{OneTime, OneTimeId, Purpose, SecretDigest},
    user::{Email, EmailKey, IdentityId, LoginRoles, PasswordVersion, User, UserId},
};

statements! {
    ONE_TIME_BY_DIGEST = concat!(
        "SELECT ", one_time_columns!("o."), ", ", user_columns!("u."), " FROM one_time_secrets o JOIN users u ON u.id = o.user_id \
         WHERE o.digest = $1 AND o.purpose = $2"
    );
    ONE_TIME_SECRETS_BY_EMAIL = concat!(
        "SELECT ", one_time_columns!("o."), ", ", user_columns!("u."), " FROM one_time_secrets o JOIN users u ON u.id = o.user_id \
         WHERE o.email_key = $1 AND o.purpose = $2 AND o.expires_at > $3 ORDER BY o.expires_at DESC, o.id DESC LIMIT $4"
    );
    ONE_TIME_GUESSES =
        "SELECT MAX(guesses) FROM one_time_secrets WHERE email_key = $1 AND purpose = $2 AND expires_at > $3";
    CHARGE_ONE_TIME_SECRETS =
        "UPDATE one_time_secrets SET guesses = guesses + 1 WHERE email_key = $1 AND purpose = $2 AND expires_at > $3";
    ONE_TIME_BY_USER = concat!(
        "SELECT ", one_time_columns!("o."), " FROM one_time_secrets o WHERE o.user_id = $1 AND o.purpose = $2 \
         AND o.expires_at > $3 AND o.user_email = $4 AND o.password_version = $5 \
         ORDER BY o.expires_at DESC, o.id DESC LIMIT 1"
    );
    SET_EMAIL =
        "UPDATE users SET email = $2, email_key = $3, email_verified = TRUE, updated_at = $4 WHERE id = $1";
    DELETE_ONE_TIME = "DELETE FROM one_time_secrets WHERE id = $1";
    /// That of the user $2.
    USE_ONE_TIME = "DELETE FROM one_time_secrets WHERE id = $1 AND user_id = $2";
    /// All but those of the purpose $2 that expire before $3.
    DELETE_OTHER_ONE_TIME_SECRETS =
        "DELETE FROM one_time_secrets WHERE user_id = $1 AND NOT (purpose = $2 AND expires_at < $3)";
    /// Those of the purpose $2 that were not sent to the address $3.
    DELETE_ONE_TIME_SECRETS_TO_OTHERS =
        "DELETE FROM one_time_secrets WHERE user_id = $1 AND purpose = $2 AND email_key <> $3";
    DELETE_EXPIRED_ONE_TIME_SECRETS =
        "DELETE FROM one_time_secrets WHERE id IN (SELECT id FROM one_time_secrets WHERE expires_at <= $1 LIMIT $2)";
}

/// The number of codes sent to one address that can be typed: the latest ones.
pub const MAX_CODES: usize = 3;

/// What a one-time secret does. Each that was mailed also verifies the address that it was sent to. One that begins a session is used by
/// [`Store::sign_in`].
#[derive(Clone, Debug)]
pub enum OneTimeUse {
    VerifyEmail,
    /// Makes the address that it was sent to the user's address. Deletes the user's other changes of the address.
    ChangeEmail,
    /// Makes the address that it was sent to the user's address again, sets a new password, ends all sessions and API keys, removes
    /// the second factors that were added since the change, and deletes the user's other one-time secrets. Those that take back an
    /// earlier change stay: the later change, and so this secret, may be an intruder's.
    RestoreEmail(PasswordHash),
    /// Sets a new password, ends all sessions and API keys, and deletes what takes back a change of the address from another address: somebody
    /// else may have moved an account of theirs to this one. If the address was not verified, removes all second factors: somebody else may
    /// have registered it.
    ResetPassword(PasswordHash),
    /// Sets a new password and ends all sessions and API keys.
    OperatorReset(PasswordHash),
    /// Removes all second factors and ends all sessions and API keys.
    ResetFactors,
    /// Nothing: the person signs in with it, and a second factor is still missing.
    FirstFactor,
}

impl OneTimeUse {
    /// The purpose of a secret that is used in this way.
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::VerifyEmail => Purpose::VerifyEmail,
            Self::ChangeEmail => Purpose::ChangeEmail,
            Self::RestoreEmail(_) => Purpose::RestoreEmail,
            Self::ResetPassword(_) => Purpose::ResetPassword,
            Self::OperatorReset(_) => Purpose::OperatorReset,
            Self::ResetFactors => Purpose::FactorReset,
            Self::FirstFactor => Purpose::SignIn,
        }
    }

    fn revokes_access(&self) -> bool {
        match self {
            Self::RestoreEmail(_)
            | Self::ResetPassword(_)
            | Self::OperatorReset(_)
            | Self::ResetFactors => true,
            Self::VerifyEmail | Self::ChangeEmail | Self::FirstFactor => false,
        }
    }
}

impl Store {
    /// The one-time secret with this digest and its user, whether it is valid or not.
    pub async fn one_time_by_digest(
        &self,
        purpose: Purpose,
        digest: &SecretDigest,
    ) -> Result<Option<(OneTime, User)>, Error> {
        let values = [digest.as_bytes().to_vec().into(), purpose.as_str().into()];
        let rows = self.read(ONE_TIME_BY_DIGEST, values).await?;
        rows.first().map(one_time_with_user_from_row).transpose()
    }

    /// The up to [`MAX_CODES`] one-time secrets that were sent to this address and expire last, each with its user.
    pub async fn one_time_secrets_by_email(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Vec<(OneTime, User)>, Error> {
        let values = [email_key(email), purpose.as_str().into(), now.into(), sql_limit(MAX_CODES)];
        let rows = self.read(ONE_TIME_SECRETS_BY_EMAIL, values).await?;
        rows.iter().map(one_time_with_user_from_row).collect()
    }

    /// Counts a typed code for each unexpired secret of this purpose that was sent to this address, and for the invitation to it
    /// if that is the purpose. Returns their number. It counts before the code is compared, so that no more than
    /// [`MAX_GUESSES`](crate::token::one_time::MAX_GUESSES) are, however many instances compare at the same time.
    pub async fn charge_guess(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<usize, Error> {
        let (email, purpose_text) = (email.clone(), purpose.as_str());
        // If it runs twice, because the outcome of a commit was lost, it charges two guesses.
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let values = [email_key(&email), purpose_text.into(), now.into()];
            let one_time_secrets = batch.add(CHARGE_ONE_TIME_SECRETS, values);
            let invitations = (purpose == Purpose::Invitation)
                .then(|| batch.add(CHARGE_INVITATION, [email_key(&email), now.into()]));
            batch.counting(move |rows| {
                rows.of(one_time_secrets) + invitations.map_or(0, |statement| rows.of(statement))
            })
        })
        .await
    }

    /// How many codes were typed for this address of which the secrets of this purpose have not expired.
    pub async fn one_time_guesses(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<u32, Error> {
        let values = [email_key(email), purpose.as_str().into(), now.into()];
        let rows = self.read(ONE_TIME_GUESSES, values).await?;
        let guesses = rows.first().map_or(Ok(None), |row| row.get::<Option<i64>>(0))?;
        Ok(u32::try_from(guesses.unwrap_or_default()).unwrap_or(u32::MAX))
    }

    /// The secret of this purpose that the user can still use and that expires last.
    pub async fn pending_one_time(
        &self,
        user: &User,
        purpose: Purpose,
        now: Timestamp,
    ) -> Result<Option<OneTime>, Error> {
        let values = [
            user.id.into(),
            purpose.as_str().into(),
            now.into(),
            user.email.as_str().into(),
            user.password_version.number().into(),
        ];
        let rows = self.read(ONE_TIME_BY_USER, values).await?;
        rows.first().map(one_time_from_row).transpose()
    }

    /// Uses a one-time secret: deletes it, does what it is for and queues the mail. Returns the user after that. Returns `None`
    /// and changes nothing if it is gone, is not valid for its user as they are now or has another purpose.
    ///
    /// # Errors
    /// [`Error::EmailTaken`] if another user has the address.
    pub async fn use_one_time(
        &self,
        one_time: &OneTime,
        usage: OneTimeUse,
        effects: &Effects,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let (one_time, effects) = (one_time.clone(), effects.clone());
        let scope = WriteScope::OneTime(one_time.user_id, one_time.id);
        let revokes_access = usage.revokes_access();
        let prepare = move |change_id, record: Option<&UserRecord>| {
            // Nothing in its row changes but the guesses, so the one that the caller has read is as good as the
            // stored one.
            let is_valid = |record: &&UserRecord| {
                one_time.purpose == usage.purpose() && one_time.is_valid_for(&record.user, now)
            };
            let Some(record) = record.filter(is_valid) else { return Write::nothing(None) };
            let (user, login_roles) = (record.user.clone(), record.login_roles.clone());
            let event = effects.events.first().cloned();
            let mut user_after = UserAfter { user, login_roles, event, change_id, now };
            let mut batch = StatementBatch::default().with(DELETE_ONE_TIME, [one_time.id.into()]);
            user_after.apply(&mut batch, &one_time, &usage);
            add_effects(&mut batch, &effects);
            batch.returning(Some(user_after.user))
        };
        if revokes_access {
            self.revoke(scope, prepare).await
        } else {
            self.write(scope, prepare).await
        }
    }

    /// Deletes the user's secrets of this purpose, in whose place the effects may add another. Returns false if there is no such user.
    pub async fn replace_one_time(
        &self,
        user: UserId,
        purpose: Purpose,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_user(user, false, move |_, _| {
            let values = [user.into(), purpose.as_str().into()];
            let mut batch =
                StatementBatch::default().with(DELETE_ONE_TIME_SECRETS_OF_PURPOSE, values);
            add_effects(&mut batch, &effects);
            Some(batch.returning(true))
        })
        .await
    }

    /// Deletes a one-time secret. Returns false if it is gone.
    pub async fn delete_one_time(&self, id: OneTimeId) -> Result<bool, Error> {
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let deleted = batch.add(DELETE_ONE_TIME, [id.into()]);
            batch.counting(move |rows| rows.of(deleted) > 0)
        })
        .await
    }
}

/// The user as the statements of a batch leave them.
pub(super) struct UserAfter {
    pub(super) user: User,
    pub(super) login_roles: LoginRoles,
    /// What has happened to them.
    pub(super) event: Option<Event>,
    pub(super) change_id: Uuid,
    pub(super) now: Timestamp,
}

impl UserAfter {
    /// What the use of a one-time secret does besides its deletion.
    fn apply(&mut self, batch: &mut StatementBatch, one_time: &OneTime, usage: &OneTimeUse) {
        let id = self.user.id;
        match usage {
            OneTimeUse::VerifyEmail => self.verify_email(batch, one_time),
            OneTimeUse::ChangeEmail => {
                self.set_email(batch, one_time);
                let values = [id.into(), Purpose::ChangeEmail.as_str().into()];
                batch.add(DELETE_ONE_TIME_SECRETS_OF_PURPOSE, values);
            }
            OneTimeUse::RestoreEmail(password) => {
                self.set_email(batch, one_time);
                let purpose = Purpose::RestoreEmail.as_str().into();
                let values = [id.into(), purpose, one_time.expires_at.into()];
                batch.add(DELETE_OTHER_ONE_TIME_SECRETS, values);
                let changed_at = one_time.expires_at - Purpose::RestoreEmail.lifetime();
                delete_factors_since(batch, id, changed_at, self.now);
                batch.add(DELETE_IDENTITIES_SINCE, [id.into(), changed_at.into()]);
                self.take_login_roles(batch);
                self.reset_password(batch, password);
            }
            OneTimeUse::ResetPassword(password) => {
                if !self.user.email_verified {
                    self.remove_factors(batch);
                    self.remove_identities(batch);
                }
                self.verify_email(batch, one_time);
                let (purpose, email) = (Purpose::RestoreEmail.as_str(), one_time.email.key());
                let values = [id.into(), purpose.into(), email_key(&email)];
                batch.add(DELETE_ONE_TIME_SECRETS_TO_OTHERS, values);
                self.reset_password(batch, password);
            }
            OneTimeUse::OperatorReset(password) => self.reset_password(batch, password),
            OneTimeUse::ResetFactors => {
                self.remove_factors(batch);
                self.end_access(batch);
            }
            OneTimeUse::FirstFactor => {}
        }
    }

    /// Verifies the user's address if the secret was sent to it.
    pub(super) fn verify_email(&mut self, batch: &mut StatementBatch, one_time: &OneTime) {
        if self.user.email == one_time.email && !self.user.email_verified {
            let values = [self.user.id.into(), true.into(), self.now.into()];
            batch.add(SET_EMAIL_VERIFIED, values);
            (self.user.email_verified, self.user.updated_at) = (true, self.now);
        }
    }

    /// Makes the address that the secret was sent to the user's address.
    fn set_email(&mut self, batch: &mut StatementBatch, one_time: &OneTime) {
        let email = &one_time.email;
        let key = email.key();
        let values =
            [self.user.id.into(), email.as_str().into(), key.as_str().into(), self.now.into()];
        batch.add(SET_EMAIL, values);
        let user = User { email: email.clone(), ..self.user.clone() };
        change_terms(batch, &self.user, &user);
        self.user = user;
        (self.user.email_verified, self.user.updated_at) = (true, self.now);
    }

    /// Ends all sessions and revokes all API keys: somebody else may have made them, from whom the user takes the account back.
    pub(super) fn end_access(&self, batch: &mut StatementBatch) {
        let id = self.user.id;
        end_sessions(batch, id, None, self.change_id, self.now);
        batch.add(REVOKE_API_KEYS_OF_USER, [id.into(), self.now.into()]);
    }

    /// Removes all identities.
    pub(super) fn remove_identities(&mut self, batch: &mut StatementBatch) {
        batch.add(DELETE_IDENTITIES_OF_USER, [self.user.id.into()]);
        self.take_login_roles(batch);
    }

    /// Removes the roles that logins have given. Those that are left give theirs again at the next sign-in.
    fn take_login_roles(&mut self, batch: &mut StatementBatch) {
        let (user, given, event) = (&mut self.user, &mut self.login_roles, self.event.as_ref());
        remove_login_roles(batch, user, given, event, self.now, |_| true);
    }

    /// Gives the roles of a login in place of those that it has given before.
    pub(super) fn give_roles(
        &mut self,
        batch: &mut StatementBatch,
        identity: IdentityId,
        gives: &GivenRoles,
    ) {
        give_roles(batch, &mut self.user, &mut self.login_roles, identity, gives, self.now);
    }

    fn remove_factors(&mut self, batch: &mut StatementBatch) {
        delete_factors(batch, self.user.id);
        set_factors(batch, self.user.id, self.now);
        (self.user.factors, self.user.updated_at) = (Factors::default(), self.now);
    }

    /// Sets a new password and ends all sessions and API keys.
    fn reset_password(&mut self, batch: &mut StatementBatch, password: &PasswordHash) {
        let id = self.user.id;
        batch.add(SET_PASSWORD, [id.into(), password.as_phc().into(), self.now.into()]);
        batch.add(DELETE_IMPORTED_HASH, [id.into()]);
        self.end_access(batch);
        self.user.password_hash = Some(password.clone());
        self.user.password_version =
            PasswordVersion::from_store(self.user.password_version.number() + 1);
        self.user.updated_at = self.now;
    }
}

/// Reads the columns of a one-time secret, which come first.
pub(super) fn one_time_from_row(row: &Row) -> Result<OneTime, Error> {
    let purpose = Purpose::from_store(row.get(1)?);
    Ok(OneTime {
        id: row.get(0)?,
        purpose: purpose
            .ok_or_else(|| Error::Failed("an unknown purpose of a one-time secret".into()))?,
        user_id: row.get(2)?,
        email: Email::from_store(row.get(3)?),
        user_email: Email::from_store(row.get(4)?),
        password_version: PasswordVersion::from_store(row.get(5)?),
        digest: SecretDigest::from_store(row.get(6)?),
        expires_at: row.get(7)?,
        guesses: u32::try_from(row.get::<i64>(8)?).unwrap_or(u32::MAX),
    })
}

/// Reads the columns of a one-time secret and then those of its user.
fn one_time_with_user_from_row(row: &Row) -> Result<(OneTime, User), Error> {
    Ok((one_time_from_row(row)?, user_from_row(row, ONE_TIME_COLUMN_COUNT)?))
}
