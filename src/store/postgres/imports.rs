//! Batches of new users, and the tables `foreign_hashes` and `imported_hashes`.

use std::collections::BTreeSet;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write},
    row::{column, timestamp, user_from_row},
    statements::{self as sql, BATCH_IDS},
    users::user_values,
    value::{Value, email_key, sql_limit},
};
use crate::{
    clock::Timestamp,
    store::{Error, ImportStore, ImportedHash},
    user::{Email, EmailKey, User, UserId},
};

#[async_trait]
impl ImportStore for PostgresStore {
    async fn users_like(&self, users: &[(UserId, EmailKey)]) -> Result<Vec<User>, Error> {
        let mut found = Vec::new();
        for users in users.chunks(BATCH_IDS) {
            // The statements have a fixed number of parameters, so values repeat.
            let repeated = || users.iter().cycle().take(BATCH_IDS);
            let ids: Vec<Value> = repeated().map(|(id, _)| (*id).into()).collect();
            let emails: Vec<Value> = repeated().map(|(_, email)| email_key(email)).collect();
            let (by_id, by_email) = tokio::join!(
                self.engine.read(sql::USERS_BY_ID, ids),
                self.engine.read(sql::USERS_BY_EMAIL, emails)
            );
            let mut seen: BTreeSet<UserId> = BTreeSet::new();
            for row in by_id?.iter().chain(&by_email?) {
                let user = user_from_row(row, 0)?;
                if seen.insert(user.id) {
                    found.push(user);
                }
            }
        }
        Ok(found)
    }

    async fn import_users(&self, users: Vec<User>, now: Timestamp) -> Result<Vec<bool>, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let add = |user: &User| batch.add(sql::ADD_USER_IF_FREE, user_values(user));
                let added: Vec<_> = users.iter().map(add).collect();
                for (sql, values) in imported_hash_insertions(users.iter().map(|user| (user, now)))
                {
                    batch.add(sql, values);
                }
                batch.counting(move |rows| added.iter().map(|row| rows.of(*row) > 0).collect())
            })
            .await
    }

    async fn imported_hashes(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<ImportedHash>, Error> {
        // Every id sorts after the nil one.
        let after = after.unwrap_or(UserId::from_uuid(Uuid::nil()));
        let rows = self.engine.read(sql::IMPORTED_HASHES, [after.into(), sql_limit(limit)]).await?;
        let imported_hash = |row| {
            Ok(ImportedHash {
                user_id: UserId::from_uuid(column(row, 0)?),
                email: Email::from_store(column(row, 1)?),
                prefix: column(row, 2)?,
                imported_at: timestamp(row, 3)?,
            })
        };
        rows.iter().map(imported_hash).collect()
    }

    async fn drop_imported_hash(&self, user: UserId) -> Result<bool, Error> {
        self.write_user(user, false, move |_, record| {
            record.hash_imported_at.map(|_| {
                let batch = StatementBatch::default()
                    .with(sql::DROP_PASSWORD_HASH, [user.into()])
                    .with(sql::DELETE_IMPORTED_HASH, [user.into()]);
                batch.returning(true)
            })
        })
        .await
    }

    async fn foreign_hashes(&self) -> Result<Vec<String>, Error> {
        let rows = self.engine.read(sql::FOREIGN_HASHES, []).await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    async fn forget_unused_foreign_hashes(&self) -> Result<(), Error> {
        self.engine.maintain(|| Write::statement(sql::DELETE_UNUSED_FOREIGN_HASHES, [], ())).await
    }
}

/// The statements that record the users' password hashes that are of other systems, each with the time of its import.
pub(super) fn imported_hash_insertions<'a>(
    users: impl IntoIterator<Item = (&'a User, Timestamp)>,
) -> Vec<(&'static str, Vec<Value>)> {
    let (mut prefixes, mut statements) = (BTreeSet::new(), Vec::new());
    for (user, imported_at) in users {
        let Some(hash) = &user.password_hash else { continue };
        let Some(prefix) = hash.foreign_prefix() else { continue };
        prefixes.insert(prefix);
        let values = vec![user.id.into(), prefix.into(), imported_at.into(), hash.as_phc().into()];
        statements.push((sql::ADD_IMPORTED_HASH, values));
    }
    let schemes = prefixes.into_iter().map(|prefix| (sql::ADD_FOREIGN_HASH, vec![prefix.into()]));
    statements.extend(schemes);
    statements
}
