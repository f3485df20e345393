//! Users: the table `users`.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{
    Error, Store,
    api_keys::REVOKE_API_KEYS_OF_USER,
    columns::user_columns,
    effects::{DELETE_ONE_TIME_SECRETS_OF_PURPOSE, Effects, add_effects},
    sessions::end_sessions,
    statements::{BATCH_IDS, Lookup, ids, repeated_ids, statements},
    trusted_devices::DELETE_TRUSTED_DEVICES_OF_USER,
    user_record::{UserRecord, user_from_row, user_values},
    user_terms::{add_terms, change_terms},
    value::{Value, email_key, sql_limit},
    write::{StatementBatch, Write, WriteScope},
};
use crate::{
    clock::Timestamp,
    id::Id,
    token::one_time::Purpose,
    user::{Email, EmailKey, Name, Role, Roles, User, UserId},
};

statements! {
    ADD_USER = concat!(
        "INSERT INTO users (", user_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    USER_BY_ID = concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.id = $1");
    USERS_BY_ID = concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.id IN ", ids!());
    USER_BY_EMAIL = concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key = $1");
    USERS = concat!(
        "SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key > $1 ORDER BY u.email_key LIMIT $2"
    );
    HAS_USERS = "SELECT 1 FROM users LIMIT 1";
    SET_NAME_AND_EMAIL =
        "UPDATE users SET name = $2, email = $3, email_key = $4, email_verified = $5, updated_at = $6 WHERE id = $1";
    EDIT_USER =
        "UPDATE users SET name = $2, email = $3, email_key = $4, email_verified = $5, disabled = $6, updated_at = $7 WHERE id = $1";
    SET_EMAIL_VERIFIED = "UPDATE users SET email_verified = $2, updated_at = $3 WHERE id = $1";
    SET_ROLES = "UPDATE users SET roles = $2, updated_at = $3 WHERE id = $1";
}

/// What came of a change that only the record as it was read allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditional {
    Done,
    /// The record has another version.
    Changed,
    /// There is no such user.
    Gone,
}

const BY_ID: Lookup = Lookup { one: USER_BY_ID, many: USERS_BY_ID };

impl Store {
    /// Adds a user who is not signed in, and queues the mail: all or nothing.
    ///
    /// # Errors
    /// [`Error::EmailTaken`] if another user has the address.
    pub async fn add_user(&self, user: &User, effects: &Effects) -> Result<(), Error> {
        let (user, effects) = (user.clone(), effects.clone());
        self.write(WriteScope::NewUser(user.id), move |_, _| {
            let mut batch = StatementBatch::default();
            insert_user(&mut batch, &user);
            add_effects(&mut batch, &effects);
            batch.returning(())
        })
        .await
    }

    pub async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error> {
        let row = self.engine.row_by_id(BY_ID, id.uuid()).await?;
        row.map(|row| user_from_row(&row, 0)).transpose()
    }

    /// Those of these users who exist, in any order.
    pub async fn users_by_ids(&self, ids: &BTreeSet<UserId>) -> Result<Vec<User>, Error> {
        let ids: Vec<_> = ids.iter().copied().collect();
        let mut users = Vec::with_capacity(ids.len());
        for ids in ids.chunks(BATCH_IDS) {
            for row in self.read(USERS_BY_ID, repeated_ids(ids)).await? {
                users.push(user_from_row(&row, 0)?);
            }
        }
        Ok(users)
    }

    pub async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error> {
        self.read_user(USER_BY_EMAIL, [email_key(email)]).await
    }

    /// The first user that a query returns.
    pub(super) async fn read_user(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Option<User>, Error> {
        self.read(sql, values).await?.first().map(|row| user_from_row(row, 0)).transpose()
    }

    /// Up to `limit` users in the order of their addresses, from the first one after `after`.
    pub async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error> {
        // Every key sorts after the empty one.
        let after = after.map_or("".into(), email_key);
        let rows = self.read(USERS, [after, sql_limit(limit)]).await?;
        rows.iter().map(|row| user_from_row(row, 0)).collect()
    }

    pub async fn has_users(&self) -> Result<bool, Error> {
        Ok(!self.read(HAS_USERS, []).await?.is_empty())
    }

    /// Changes a user's name, address or both, and returns the changed user; `None` if there is no such user. An address
    /// that differs from the old one in any character is not verified.
    pub async fn change_user(
        &self,
        id: UserId,
        name: Option<&Name>,
        email: Option<&Email>,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<Option<User>, Error> {
        let (name, email, effects) = (name.cloned(), email.cloned(), effects.clone());
        self.write_user(id, None, move |_, record| {
            let mut user = record.user.clone();
            user.name = name.clone().unwrap_or(user.name);
            if let Some(email) = email.as_ref().filter(|email| **email != user.email) {
                user.email = email.clone();
                user.email_verified = false;
            }
            user.updated_at = now;
            let values = [
                id.into(),
                user.name.as_str().into(),
                user.email.as_str().into(),
                user.email.key().as_str().into(),
                user.email_verified.into(),
                now.into(),
            ];
            let mut batch = statement(SET_NAME_AND_EMAIL, values, &effects);
            change_terms(&mut batch, &record.user, &user);
            Some(batch.returning(Some(user)))
        })
        .await
    }

    /// Grants a role to a user. Returns false if they already have it.
    pub async fn grant_role(
        &self,
        id: UserId,
        role: &Role,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (role, effects) = (role.clone(), effects.clone());
        let grant = move |roles: &mut Roles| roles.grant(role.clone());
        self.write_user(id, false, move |_, record| {
            Some(change_roles(record, now, &effects, &grant)?.returning(true))
        })
        .await
    }

    /// As [`Self::grant_role`], for a role that administers the service. Deletes what others may have made for the user: codes that
    /// set a password, and links that remove all second factors. Whoever made one could use it for what they may not do themselves.
    pub async fn grant_admin_role(
        &self,
        id: UserId,
        role: &Role,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        /// An administrator who changes an address twice causes a way back to the first one.
        const MADE_BY_OTHERS: [Purpose; 5] = [
            Purpose::OperatorReset,
            Purpose::FactorReset,
            Purpose::ResetPassword,
            Purpose::ChangeEmail,
            Purpose::RestoreEmail,
        ];
        let (role, effects) = (role.clone(), effects.clone());
        let grant = move |roles: &mut Roles| roles.grant(role.clone());
        self.write_user(id, false, move |_, record| {
            let mut batch = change_roles(record, now, &effects, &grant)?;
            for purpose in MADE_BY_OTHERS {
                let values = [id.into(), purpose.as_str().into()];
                batch.add(DELETE_ONE_TIME_SECRETS_OF_PURPOSE, values);
            }
            Some(batch.returning(true))
        })
        .await
    }

    /// Revokes a role of a user. Returns false if they do not have it.
    pub async fn revoke_role(
        &self,
        id: UserId,
        role: &Role,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (role, effects) = (role.clone(), effects.clone());
        let revoke = move |roles: &mut Roles| roles.revoke(&role);
        self.revoke_from_user(id, false, move |_, record| {
            Some(change_roles(record, now, &effects, &revoke)?.returning(true))
        })
        .await
    }

    /// Replaces the name, the address, its mark and whether the user is disabled by those of `edited`, unless the record has another
    /// version than `read`. Who is disabled loses their sessions, API keys and trusted browsers for good, and who is enabled gets none
    /// back: not even a key that an older version has left to a disabled user.
    pub async fn edit_user(
        &self,
        read: &User,
        edited: &User,
        effects: &Effects,
    ) -> Result<Conditional, Error> {
        let (id, version, effects) = (read.id, read.version(), effects.clone());
        // Guards admit verified addresses.
        let revokes_access = edited.disabled || !edited.email_verified;
        let edited = edited.clone();
        let prepare = move |change_id, record: &UserRecord| {
            if record.user.version() != version {
                return Some(Write::nothing(Conditional::Changed));
            }
            let values = [
                id.into(),
                edited.name.as_str().into(),
                edited.email.as_str().into(),
                edited.email.key().as_str().into(),
                edited.email_verified.into(),
                edited.disabled.into(),
                edited.updated_at.into(),
            ];
            let mut batch = StatementBatch::default().with(EDIT_USER, values);
            change_terms(&mut batch, &record.user, &edited);
            if edited.disabled || record.user.disabled {
                end_access(&mut batch, id, change_id, edited.updated_at);
            }
            add_effects(&mut batch, &effects);
            Some(batch.returning(Conditional::Done))
        };
        match revokes_access {
            true => self.revoke_from_user(id, Conditional::Gone, prepare).await,
            false => self.write_user(id, Conditional::Gone, prepare).await,
        }
    }
}

/// Adds a user and their search terms.
pub(super) fn insert_user(batch: &mut StatementBatch, user: &User) {
    batch.add(ADD_USER, user_values(user));
    batch.gives(&user.roles);
    add_terms(batch, user);
}

/// One statement with its effects.
fn statement(
    sql: &'static str,
    values: impl Into<Vec<Value>>,
    effects: &Effects,
) -> StatementBatch {
    let mut batch = StatementBatch::default().with(sql, values);
    add_effects(&mut batch, effects);
    batch
}

fn change_roles(
    record: &UserRecord,
    now: Timestamp,
    effects: &Effects,
    change: &impl Fn(&mut Roles) -> bool,
) -> Option<StatementBatch> {
    let mut user = record.user.clone();
    change(&mut user.roles).then(|| {
        let values = [user.id.into(), user.roles.to_text().into(), now.into()];
        let mut batch = statement(SET_ROLES, values, effects);
        batch.gives(&user.roles);
        change_terms(&mut batch, &record.user, &user);
        batch
    })
}

/// Ends the sessions, the API keys and the trust in browsers of a user who is disabled.
fn end_access(batch: &mut StatementBatch, id: UserId, change_id: Uuid, now: Timestamp) {
    end_sessions(batch, id, None, change_id, now);
    batch.add(REVOKE_API_KEYS_OF_USER, [id.into(), now.into()]);
    batch.add(DELETE_TRUSTED_DEVICES_OF_USER, [id.into()]);
}
