//! Imported password hashes: the tables `imported_hashes` and `foreign_hashes`.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{
    Error, Store,
    effects::{Effects, add_effects},
    row::Row,
    statements::statements,
    value::{Value, sql_limit},
    write::{StatementBatch, Write},
};
use crate::{
    clock::Timestamp,
    id::Id,
    user::{Email, User, UserId},
};

statements! {
    FOREIGN_HASHES = "SELECT prefix FROM foreign_hashes ORDER BY prefix";
    ADD_FOREIGN_HASH =
        "INSERT INTO foreign_hashes (prefix) VALUES ($1) ON CONFLICT (prefix) DO NOTHING";
    DELETE_UNUSED_FOREIGN_HASHES =
        "DELETE FROM foreign_hashes WHERE NOT EXISTS \
         (SELECT 1 FROM imported_hashes i WHERE i.prefix = foreign_hashes.prefix)";
    /// Of a user who has just been added with this hash. Another one with the same id stays as it is.
    ADD_IMPORTED_HASH =
        "INSERT INTO imported_hashes (user_id, prefix, imported_at) \
         SELECT u.id, CAST($2 AS TEXT), CAST($3 AS BIGINT) FROM users u WHERE u.id = $1 AND u.password_hash = $4 \
         ON CONFLICT (user_id) DO NOTHING";
    IMPORTED_HASHES =
        "SELECT i.user_id, u.email, i.prefix, i.imported_at FROM imported_hashes i JOIN users u ON u.id = i.user_id \
         WHERE i.user_id > $1 ORDER BY i.user_id LIMIT $2";
    DELETE_IMPORTED_HASH = "DELETE FROM imported_hashes WHERE user_id = $1";
    DROP_PASSWORD_HASH = "UPDATE users SET password_hash = NULL WHERE id = $1";
}

/// An imported password hash that has not been replaced by one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedHash {
    pub user_id: UserId,
    pub email: Email,
    /// The scheme and cost: the text of the hash up to its salt.
    pub prefix: String,
    pub imported_at: Timestamp,
}

impl Store {
    /// Imported hashes in the order of the users' ids, from the first one after `after`.
    pub async fn imported_hashes(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<ImportedHash>, Error> {
        // Every id sorts after the nil one.
        let after = after.map_or(Uuid::nil(), UserId::uuid);
        let rows = self.read(IMPORTED_HASHES, [after.into(), sql_limit(limit)]).await?;
        let imported_hash = |row: &Row| {
            Ok(ImportedHash {
                user_id: row.get(0)?,
                email: Email::from_store(row.get(1)?),
                prefix: row.get(2)?,
                imported_at: row.get(3)?,
            })
        };
        rows.iter().map(imported_hash).collect()
    }

    /// Deletes the imported hash of a user, who then has no password. Sessions and the version of the password stay, so that a
    /// link in a mail can still set one. Returns false if the hash has been replaced.
    pub async fn drop_imported_hash(&self, user: UserId, effects: &Effects) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_user(user, false, move |_, record| {
            record.hash_imported_at.map(|_| {
                let mut batch = StatementBatch::default()
                    .with(DROP_PASSWORD_HASH, [user.into()])
                    .with(DELETE_IMPORTED_HASH, [user.into()]);
                add_effects(&mut batch, &effects);
                batch.returning(true)
            })
        })
        .await
    }

    /// The schemes and costs of imported password hashes: the text of a hash up to its salt.
    pub async fn foreign_hashes(&self) -> Result<Vec<String>, Error> {
        let rows = self.read(FOREIGN_HASHES, []).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Deletes the schemes that no user has any more.
    pub async fn forget_unused_foreign_hashes(&self) -> Result<(), Error> {
        self.write_uncached(|| Write::statement(DELETE_UNUSED_FOREIGN_HASHES, [], ())).await
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
        statements.push((ADD_IMPORTED_HASH, values));
    }
    let schemes = prefixes.into_iter().map(|prefix| (ADD_FOREIGN_HASH, vec![prefix.into()]));
    statements.extend(schemes);
    statements
}
