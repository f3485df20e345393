//! API keys: the table `api_keys`. A key that has expired or was revoked stays for a while, so that its holder and the operator can
//! be told why it does not count.

use std::{collections::HashSet, time::Duration};

use super::{
    Error, Store,
    columns::{API_KEY_COLUMN_COUNT, api_key_columns, user_columns},
    effects::{Effects, add_effects},
    row::Row,
    statements::statements,
    user_record::user_from_row,
    value::{Value, sql_limit},
    write::{StatementBatch, Verdict, WriteScope},
};
use crate::{
    clock::Timestamp,
    credential::api_key::KeyDigest,
    id::Id,
    user::{ApiKey, ApiKeyId, KeyScopes, User, UserId},
};

statements! {
    /// It may run twice, because the outcome of a commit may be lost.
    ADD_API_KEY = concat!(
        "INSERT INTO api_keys (", api_key_columns!(""), ", digest) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO NOTHING"
    );
    /// The key $2, if its user has more than $4 that are valid after $3 with it, or more than $5 altogether.
    DELETE_EXCESS_API_KEY =
        "DELETE FROM api_keys WHERE user_id = $1 AND id = $2 AND \
         ((SELECT COUNT(*) FROM api_keys k WHERE k.user_id = $1 AND k.expires_at > $3) > $4 OR \
          (SELECT COUNT(*) FROM api_keys k WHERE k.user_id = $1) > $5)";
    API_KEY_BY_DIGEST = concat!(
        "SELECT ", api_key_columns!("k."), ", ", user_columns!("u."),
        " FROM api_keys k LEFT JOIN users u ON u.id = k.user_id WHERE k.digest = $1"
    );
    API_KEY_DIGESTS = "SELECT digest FROM api_keys ORDER BY digest LIMIT $1";
    API_KEY_BY_ID = concat!("SELECT ", api_key_columns!("k."), " FROM api_keys k WHERE k.id = $1");
    /// Those first that are valid after $2.
    API_KEYS_BY_USER = concat!(
        "SELECT ", api_key_columns!("k."), " FROM api_keys k WHERE k.user_id = $1 \
         ORDER BY CASE WHEN k.expires_at > $2 THEN 0 ELSE 1 END, k.created_at DESC, k.id DESC LIMIT $3"
    );
    /// The newest first, from the one after the key $2, which was made at $1.
    API_KEYS = concat!(
        "SELECT ", api_key_columns!("k."),
        " FROM api_keys k WHERE k.created_at <= $1 AND (k.created_at < $1 OR k.id < $2) \
         ORDER BY k.created_at DESC, k.id DESC LIMIT $3"
    );
    /// It is deleted some time after it has ended.
    REVOKE_API_KEY =
        "UPDATE api_keys SET revoked_at = $2, expires_at = $2 WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2";
    REVOKE_API_KEYS_OF_USER =
        "UPDATE api_keys SET revoked_at = $2, expires_at = $2 WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2";
    REVOKE_ALL_API_KEYS =
        "UPDATE api_keys SET revoked_at = $1, expires_at = $1 WHERE revoked_at IS NULL AND expires_at > $1";
    SET_KEY_LAST_USED = "UPDATE api_keys SET last_used_at = $2 WHERE id = $1";
    DELETE_EXPIRED_API_KEYS =
        "DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE expires_at <= $1 LIMIT $2)";
}

/// Why the key of a user was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddKey {
    Added,
    /// They have the most keys that one can have.
    TooMany,
    /// They are gone, disabled, or have another password or other factors than when they proved who they are.
    UserChanged,
}

/// How long a key is kept after it has expired or was revoked.
pub const KEEP_EXPIRED_KEYS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The number of valid keys that one user can have.
pub const MAX_PERSONAL_KEYS: usize = 50;
/// The most keys of a user that are kept: those that have ended as well.
pub const MAX_KEPT_KEYS: usize = 500;

impl Store {
    /// Adds the key of a machine.
    pub async fn add_machine_key(
        &self,
        key: &ApiKey,
        digest: &KeyDigest,
        effects: &Effects,
    ) -> Result<(), Error> {
        let (values, effects) = (api_key_values(key, digest), effects.clone());
        self.write_uncached(move || {
            let mut batch = StatementBatch::default().with(ADD_API_KEY, values.clone());
            add_effects(&mut batch, &effects);
            batch.returning(())
        })
        .await
    }

    /// Adds a key of this user.
    pub async fn add_personal_key(
        &self,
        user: &User,
        key: &ApiKey,
        digest: &KeyDigest,
        effects: &Effects,
    ) -> Result<AddKey, Error> {
        let (key_id, now) = (key.id, key.created_at);
        let (id, version, factors) = (user.id, user.password_version, user.factors.clone());
        let (values, effects) = (api_key_values(key, digest), effects.clone());
        self.write_user(id, AddKey::UserChanged, move |_, record| {
            let User { password_version, factors: held, disabled, .. } = &record.user;
            let is_same = *password_version == version && *held == factors && !disabled;
            is_same.then(|| {
                let mut batch = StatementBatch::default().with(ADD_API_KEY, values.clone());
                let (valid, kept) = (sql_limit(MAX_PERSONAL_KEYS), sql_limit(MAX_KEPT_KEYS));
                let limits = [id.into(), key_id.into(), now.into(), valid, kept];
                let excess = batch.add(DELETE_EXCESS_API_KEY, limits);
                add_effects(&mut batch, &effects);
                batch.deciding(move |rows| match rows.of(excess) {
                    0 => Verdict::Commit(AddKey::Added),
                    _ => Verdict::RollBack(AddKey::TooMany),
                })
            })
        })
        .await
    }

    /// The key with this digest and its owner, whether or not it has ended.
    pub async fn api_key_by_digest(
        &self,
        digest: &KeyDigest,
    ) -> Result<Option<(ApiKey, Option<User>)>, Error> {
        let rows = self.read(API_KEY_BY_DIGEST, [digest.as_bytes().to_vec().into()]).await?;
        let with_owner = |row: &Row| {
            let has_owner = row.get::<Option<UserId>>(API_KEY_COLUMN_COUNT)?.is_some();
            let owner = has_owner.then(|| user_from_row(row, API_KEY_COLUMN_COUNT)).transpose()?;
            Ok((api_key_from_row(row)?, owner))
        };
        rows.first().map(with_owner).transpose()
    }

    /// The digests of all keys, also of those that have ended; `None` if they are more than `most`.
    pub async fn api_key_digests(&self, most: usize) -> Result<Option<HashSet<KeyDigest>>, Error> {
        let rows = self.read(API_KEY_DIGESTS, [sql_limit(most + 1)]).await?;
        if rows.len() > most {
            return Ok(None);
        }
        let digest = |row: &Row| Ok(KeyDigest::from_store(row.get(0)?));
        rows.iter().filter_map(|row| digest(row).transpose()).collect::<Result<_, _>>().map(Some)
    }

    pub async fn api_key_by_id(&self, id: ApiKeyId) -> Result<Option<ApiKey>, Error> {
        let rows = self.read(API_KEY_BY_ID, [id.into()]).await?;
        rows.first().map(api_key_from_row).transpose()
    }

    /// The keys of a user: first the valid ones, and of each kind the newest first.
    pub async fn api_keys_by_user(
        &self,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<ApiKey>, Error> {
        let values = [user.into(), now.into(), sql_limit(MAX_KEPT_KEYS)];
        let rows = self.read(API_KEYS_BY_USER, values).await?;
        rows.iter().map(api_key_from_row).collect()
    }

    /// Up to `limit` keys, the newest first, from the one after `after`.
    pub async fn api_keys(
        &self,
        after: Option<&ApiKey>,
        limit: usize,
    ) -> Result<Vec<ApiKey>, Error> {
        let (created_at, id) = match after {
            Some(key) => (key.created_at, key.id),
            None => (Timestamp::from_millis(i64::MAX), ApiKeyId::from_uuid(uuid::Uuid::max())),
        };
        let rows = self.read(API_KEYS, [created_at.into(), id.into(), sql_limit(limit)]).await?;
        rows.iter().map(api_key_from_row).collect()
    }

    /// Revokes a key. Returns false if there is none, or it has ended.
    pub async fn revoke_api_key(
        &self,
        key: &ApiKey,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (id, effects) = (key.id, effects.clone());
        // Whoever orders it must be allowed to change the owner.
        let scope = key.owner.map_or(WriteScope::Uncached, WriteScope::User);
        self.revoke(scope, move |_, _| {
            let mut batch = StatementBatch::default();
            let revoked = batch.add(REVOKE_API_KEY, [id.into(), now.into()]);
            add_effects(&mut batch, &effects);
            batch.deciding(move |rows| match rows.of(revoked) {
                0 => Verdict::RollBack(false),
                _ => Verdict::Commit(true),
            })
        })
        .await
    }

    /// Writes when keys were last used.
    pub async fn set_keys_last_used(&self, used: &[(ApiKeyId, Timestamp)]) -> Result<(), Error> {
        let mut used = used.to_vec();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        used.sort_unstable();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            for (id, at) in &used {
                batch.add(SET_KEY_LAST_USED, [(*id).into(), (*at).into()]);
            }
            batch.returning(())
        })
        .await
    }
}

/// The values of a key in the order of the columns, and its digest.
fn api_key_values(key: &ApiKey, digest: &KeyDigest) -> Vec<Value> {
    let ApiKey {
        id,
        owner,
        name,
        scopes,
        condition,
        two_factors,
        created_at,
        expires_at,
        last_used_at,
        revoked_at,
    } = key;
    vec![
        (*id).into(),
        (*owner).into(),
        name.as_str().into(),
        scopes.to_text().into(),
        condition.clone().into(),
        (*two_factors).into(),
        (*created_at).into(),
        (*expires_at).into(),
        (*last_used_at).into(),
        (*revoked_at).into(),
        digest.as_bytes().to_vec().into(),
    ]
}

/// Reads the columns of a key, which come first.
pub(super) fn api_key_from_row(row: &Row) -> Result<ApiKey, Error> {
    Ok(ApiKey {
        id: row.get(0)?,
        owner: row.get(1)?,
        name: row.get(2)?,
        scopes: KeyScopes::from_store(row.get(3)?),
        condition: row.get(4)?,
        two_factors: row.get(5)?,
        created_at: row.get(6)?,
        expires_at: row.get(7)?,
        last_used_at: row.get(8)?,
        revoked_at: row.get(9)?,
    })
}
