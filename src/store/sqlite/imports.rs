//! Batches of new users, and their imported password hashes.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, params};

use super::{
    SqliteStore,
    imported_hashes::{add_imported_hash, delete_imported_hash},
    row::{timestamp, user_from_row},
    sql_limit,
    users::{insert_user_if_free, select_user},
};
use crate::{
    clock::Timestamp,
    store::{Error, ImportStore, ImportedHash, columns::user_columns},
    user::{Email, EmailKey, User, UserId},
};

#[async_trait]
impl ImportStore for SqliteStore {
    async fn users_like(&self, users: &[(UserId, EmailKey)]) -> Result<Vec<User>, Error> {
        let users = users.to_vec();
        self.engine
            .read(move |db| {
                let mut found = Vec::new();
                for (id, email) in users {
                    found.extend(select_user(db, id)?);
                    let by_email = db
                        .prepare_cached(concat!(
                            "SELECT ",
                            user_columns!("u."),
                            " FROM users u WHERE u.email_key = ?1"
                        ))?
                        .query_row([email.as_str()], |row| user_from_row(row, 0))
                        .optional()?;
                    found.extend(by_email.filter(|user| user.id != id));
                }
                Ok(found)
            })
            .await
    }

    async fn import_users(&self, users: Vec<User>, now: Timestamp) -> Result<Vec<bool>, Error> {
        self.engine
            .write(None, move |db| {
                let import = |user| {
                    let added = insert_user_if_free(db, user)?;
                    if added {
                        add_imported_hash(db, user, now)?;
                    }
                    Ok(added)
                };
                users.iter().map(import).collect()
            })
            .await
    }

    async fn imported_hashes(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<ImportedHash>, Error> {
        // Every id sorts after the nil one.
        let after = after.unwrap_or(UserId::from_uuid(uuid::Uuid::nil()));
        self.engine
            .read(move |db| {
                db.prepare_cached(
                    "SELECT i.user_id, u.email, i.prefix, i.imported_at FROM imported_hashes i
                     JOIN users u ON u.id = i.user_id
                     WHERE i.user_id > ?1 ORDER BY i.user_id LIMIT ?2",
                )?
                .query_map(params![after, sql_limit(limit)], |row| {
                    Ok(ImportedHash {
                        user_id: row.get(0)?,
                        email: Email::from_store(row.get(1)?),
                        prefix: row.get(2)?,
                        imported_at: timestamp(row, 3)?,
                    })
                })?
                .collect()
            })
            .await
    }

    async fn drop_imported_hash(&self, user: UserId) -> Result<bool, Error> {
        self.engine
            .write(Some(user), move |db| {
                let has_it = delete_imported_hash(db, user)?;
                if has_it {
                    db.prepare_cached("UPDATE users SET password_hash = NULL WHERE id = ?1")?
                        .execute([user])?;
                }
                Ok(has_it)
            })
            .await
    }

    async fn foreign_hashes(&self) -> Result<Vec<String>, Error> {
        self.engine
            .read(|db| {
                db.prepare_cached("SELECT prefix FROM foreign_hashes ORDER BY prefix")?
                    .query_map([], |row| row.get(0))?
                    .collect()
            })
            .await
    }

    async fn forget_unused_foreign_hashes(&self) -> Result<(), Error> {
        self.engine
            .write(None, |db| {
                db.prepare_cached(
                    "DELETE FROM foreign_hashes WHERE NOT EXISTS
                         (SELECT 1 FROM imported_hashes i WHERE i.prefix = foreign_hashes.prefix)",
                )?
                .execute([])
                .map(drop)
            })
            .await
    }
}
