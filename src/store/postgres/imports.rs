//! Batches of new users, and the table `foreign_hashes`.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write},
    row::{column, user_from_row},
    statements::{self as sql, BATCH_IDS},
    users::user_values,
    value::{Value, email_key},
};
use crate::{
    credential::password::PasswordHash,
    store::{Error, ImportStore},
    user::{EmailKey, User, UserId},
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

    async fn import_users(&self, users: Vec<User>) -> Result<Vec<bool>, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let add = |user: &User| batch.add(sql::ADD_USER_IF_FREE, user_values(user));
                let added: Vec<_> = users.iter().map(add).collect();
                for (sql, values) in foreign_hash_insertions(&users) {
                    batch.add(sql, values);
                }
                batch.counting(move |rows| added.iter().map(|row| rows.of(*row) > 0).collect())
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

/// The statements that record the schemes of the users' password hashes that are of other systems.
pub(super) fn foreign_hash_insertions<'a>(
    users: impl IntoIterator<Item = &'a User>,
) -> Vec<(&'static str, Vec<Value>)> {
    let hashes = users.into_iter().filter_map(|user| user.password_hash.as_ref());
    let prefixes: BTreeSet<_> = hashes.filter_map(PasswordHash::foreign_prefix).collect();
    prefixes.into_iter().map(|prefix| (sql::ADD_FOREIGN_HASH, vec![prefix.into()])).collect()
}
