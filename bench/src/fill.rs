//! Fills a database by SQL, because registering a million users would take hours of hashing.

use std::{path::PathBuf, time::SystemTime};

use anyhow::Context;
use rusqlite::{Connection, params};
use uuid::Uuid;

/// Adds users with sessions to a database of Doorward; they get the password hash of a user in it
#[derive(clap::Args)]
pub(crate) struct Fill {
    /// The database file
    file: PathBuf,
    /// The number of users
    #[arg(long)]
    users: u32,
}

impl Fill {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut db = Connection::open(&self.file)?;
        db.pragma_update(None, "synchronous", "OFF")?;
        db.pragma_update(None, "cache_size", -(256 << 10))?;
        let hash: String = db
            .query_row(
                "SELECT password_hash FROM users WHERE password_hash IS NOT NULL",
                [],
                |row| row.get(0),
            )
            .context("register a user first, whose password hash the others get")?;
        let now = now()?;
        let transaction = db.transaction()?;
        {
            let mut user = transaction.prepare(
                "INSERT INTO users (id, name, email, email_key, email_verified, password_hash, password_version, roles, disabled, created_at,
                     updated_at)
                 VALUES (?1, ?2, ?3, ?3, 0, ?4, 0, '', 0, ?5, ?5)",
            )?;
            let mut session = transaction.prepare(
                "INSERT INTO sessions (id, user_id, token_id, created_at, last_seen_at, expires_at, address, user_agent)
                 VALUES (?1, ?2, ?3, ?4, ?4, ?5, '127.0.0.1', 'bench')",
            )?;
            // Inserts in the order of the ids are fastest. The result does not depend on the order.
            let mut ids: Vec<_> = (0..self.users).map(|_| Uuid::new_v4()).collect();
            ids.sort_unstable();
            for (number, id) in ids.iter().enumerate() {
                let email = format!("user-{number}@example.com");
                user.execute(params![id.as_bytes(), format!("User {number}"), email, hash, now])?;
                let (sid, token) = (Uuid::new_v4(), Uuid::new_v4());
                let (sid, id, token) = (sid.as_bytes(), id.as_bytes(), token.as_bytes());
                session.execute(params![sid, id, token, now, now + 30 * 86_400_000])?;
            }
            println!(
                "{}",
                ids.iter()
                    .step_by(ids.len().div_ceil(1000))
                    .map(Uuid::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        transaction.commit()?;
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "the benchmark has no injected clock")]
fn now() -> anyhow::Result<i64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(i64::try_from(since.as_millis())?)
}
