//! What the throttle keeps: failed logins by account, and the networks that users have used.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{SqliteStore, limit_of, timestamp};
use crate::{
    clock::Timestamp,
    network::Network,
    session::Session,
    store::{Error, LoginFailureStore, MAX_ACCOUNTS},
    throttle::{AccountChange, AccountKey, AccountSecret, KnownNetworks, StoredFailures},
    user::{EmailKey, UserId},
};

#[async_trait]
impl LoginFailureStore for SqliteStore {
    async fn account_secret(&self) -> Result<AccountSecret, Error> {
        if let Some(secret) = self.engine.read(stored_secret).await? {
            return read_secret(&secret);
        }
        let made = AccountSecret::random();
        let secret = self.engine.write(None, move |db| {
            db.prepare_cached(
                "INSERT INTO account_secrets (id, secret) VALUES (1, ?1) ON CONFLICT (id) DO NOTHING",
            )?
            .execute([made.as_bytes()])?;
            stored_secret(db)
        });
        read_secret(&secret.await?.unwrap_or_default())
    }

    async fn save_failures(
        &self,
        changes: &[AccountChange],
        recovery: Duration,
        now: Timestamp,
    ) -> Result<(), Error> {
        let changes = changes.to_vec();
        self.engine
            .write(None, move |db| {
                for AccountChange { account, cleared, failures } in changes {
                    if cleared {
                        db.prepare_cached("DELETE FROM login_failures WHERE account = ?1")?
                            .execute([account.as_bytes()])?;
                    }
                    if failures > 0 {
                        // From zero on: what a failure adds is the time that forgives it.
                        let first = now + recovery * failures;
                        db.prepare_cached(
                            "INSERT INTO login_failures (account, recovered_at) VALUES (?1, ?2)
                             ON CONFLICT (account) DO UPDATE
                                 SET recovered_at = max(recovered_at, ?3) + (?2 - ?3)",
                        )?
                        .execute(params![
                            account.as_bytes(),
                            first.millis(),
                            now.millis()
                        ])?;
                    }
                }
                Ok(())
            })
            .await
    }

    async fn all_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        let rows: Vec<_> = self
            .engine
            .read(|db| {
                db.prepare_cached(
                    "SELECT account, recovered_at FROM login_failures
                     ORDER BY recovered_at DESC LIMIT ?1",
                )?
                .query_map([limit_of(MAX_ACCOUNTS)], stored_failures)?
                .collect()
            })
            .await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn recent_failures(&self) -> Result<Vec<StoredFailures>, Error> {
        Ok(Vec::new())
    }

    async fn delete_failures(&self, until: Timestamp, limit: usize) -> Result<usize, Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "DELETE FROM login_failures WHERE account IN
                         (SELECT account FROM login_failures WHERE recovered_at <= ?1 LIMIT ?2)",
                )?
                .execute(params![until.millis(), limit_of(limit)])
            })
            .await
    }

    async fn known_networks(&self, email: &EmailKey) -> Result<KnownNetworks, Error> {
        let email = email.clone();
        let stored: Option<String> = self
            .engine
            .read(move |db| {
                db.prepare_cached("SELECT known_networks FROM users WHERE email_key = ?1")?
                    .query_row([email.as_str()], |row| row.get(0))
                    .optional()
            })
            .await?;
        Ok(KnownNetworks::from_store(&stored.unwrap_or_default()))
    }
}

/// Notes from where a user signs in, if that is news.
pub(super) fn note_network(db: &Connection, session: &Session) -> rusqlite::Result<()> {
    let stored: Option<String> = db
        .prepare_cached("SELECT known_networks FROM users WHERE id = ?1")?
        .query_row([session.user_id.to_string()], |row| row.get(0))
        .optional()?;
    let mut known = KnownNetworks::from_store(&stored.unwrap_or_default());
    if known.note(Network::at(session.origin.address), session.created_at) {
        set_known_networks(db, session.user_id, &known)?;
    }
    Ok(())
}

pub(super) fn set_known_networks(
    db: &Connection,
    user: UserId,
    known: &KnownNetworks,
) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE users SET known_networks = ?2 WHERE id = ?1")?
        .execute([user.to_string(), known.to_text()])
        .map(|_| ())
}

/// None if the key cannot be read.
fn stored_failures(row: &Row<'_>) -> rusqlite::Result<Option<StoredFailures>> {
    let account = AccountKey::from_store(row.get_ref(0)?.as_blob()?);
    let recovered_at = timestamp(row, 1)?;
    Ok(account.map(|account| StoredFailures { account, recovered_at }))
}

fn stored_secret(db: &Connection) -> rusqlite::Result<Option<Vec<u8>>> {
    db.prepare_cached("SELECT secret FROM account_secrets WHERE id = 1")?
        .query_row([], |row| row.get(0))
        .optional()
}

fn read_secret(bytes: &[u8]) -> Result<AccountSecret, Error> {
    AccountSecret::from_store(bytes)
        .ok_or_else(|| Error::Failed("the table account_secrets is damaged".into()))
}
