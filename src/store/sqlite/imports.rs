//! Batches of new users, and the table `foreign_hashes`.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension};

use super::{
    SqliteStore,
    row::user_from_row,
    users::{insert_user_if_free, select_user},
};
use crate::{
    credential::password::PasswordHash,
    store::{Error, ImportStore, columns::user_columns},
    user::{EmailKey, User, UserId},
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

    async fn import_users(&self, users: Vec<User>) -> Result<Vec<bool>, Error> {
        self.engine
            .write(None, move |db| {
                let import = |user| {
                    let added = insert_user_if_free(db, user)?;
                    if added {
                        add_foreign_hash(db, user)?;
                    }
                    Ok(added)
                };
                users.iter().map(import).collect()
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
                    "DELETE FROM foreign_hashes WHERE NOT EXISTS (SELECT 1 FROM users u
                     WHERE substr(u.password_hash, 1, length(foreign_hashes.prefix)) = foreign_hashes.prefix)",
                )?
                .execute([])
                .map(drop)
            })
            .await
    }
}

/// Records the scheme of a user's password hash, if it is of another system.
pub(super) fn add_foreign_hash(db: &Connection, user: &User) -> rusqlite::Result<()> {
    let Some(prefix) = user.password_hash.as_ref().and_then(PasswordHash::foreign_prefix) else {
        return Ok(());
    };
    db.prepare_cached(
        "INSERT INTO foreign_hashes (prefix) VALUES (?1) ON CONFLICT (prefix) DO NOTHING",
    )?
    .execute([prefix])
    .map(drop)
}
