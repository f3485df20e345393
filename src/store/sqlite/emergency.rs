//! Revoking everything, in one transaction.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use super::{SqliteStore, ended_tokens::delete_and_end, writer::Changed};
use crate::{
    clock::Timestamp,
    store::{
        EmergencyStore, Error, NewPasswords, Revoked,
        emergency::{MAIL_WITH_SECRET, role_between_spaces},
    },
};

/// Removes the passwords of users for whom the rest of the statement holds.
macro_rules! remove_passwords {
    ($condition:literal) => {
        concat!(
            "UPDATE users SET password_hash = NULL, updated_at = ?1, password_version = password_version + 1
             WHERE password_hash IS NOT NULL",
            $condition
        )
    };
}

#[async_trait]
impl EmergencyStore for SqliteStore {
    async fn revoke_everything(
        &self,
        new_passwords: &NewPasswords,
        now: Timestamp,
    ) -> Result<Revoked, Error> {
        let new_passwords = new_passwords.clone();
        let revoke = move |db: &Connection| {
            let at = now.millis();
            let passwords = match &new_passwords {
                NewPasswords::All => db.execute(remove_passwords!(""), [at])?,
                NewPasswords::WithRole(role) => db.execute(
                    remove_passwords!(" AND instr(' ' || roles || ' ', ?2) > 0"),
                    params![at, role_between_spaces(role)],
                )?,
                NewPasswords::None => 0,
            };
            db.execute(
                "DELETE FROM imported_hashes
                 WHERE user_id IN (SELECT id FROM users WHERE password_hash IS NULL)",
                [],
            )?;
            let reset_codes = db.execute("DELETE FROM reset_codes", [])?;
            Ok(Revoked {
                sessions: delete_and_end(db, now, "DELETE FROM sessions RETURNING token_id", &[])?,
                one_times: reset_codes + db.execute("DELETE FROM one_times", [])?,
                mails: db
                    .execute("DELETE FROM outbox WHERE message LIKE ?1", [MAIL_WITH_SECRET])?,
                invitations: db.execute("DELETE FROM invitations", [])?,
                passwords,
            })
        };
        self.engine.write_revocation(Changed::Everybody, revoke).await
    }
}
