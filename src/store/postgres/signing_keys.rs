//! The tables `signing_keys` and `cookie_secrets`, which all instances share.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::{Mutex, watch};

use super::{change_listener, engine::PostgresEngine, statements as sql};
use crate::{
    clock::Timestamp,
    store::{
        Error,
        row::Row,
        value::Value,
        write::{StatementBatch, Transaction, Write, WriteScope},
    },
    token::{
        KeyId, SigningKey,
        key_store::{KeyStore, KeyStoreError, StoredKeys},
        shared_secret::{SecretName, SharedSecret, SharedSecrets},
    },
};

const SIGNING: &str = "signing";
const NEXT: &str = "next";

/// The signing keys in the database.
pub(super) struct DatabaseKeys {
    engine: Arc<PostgresEngine>,
    /// Subscribed before the keys are first read, so that no change to them is missed.
    changed: Mutex<watch::Receiver<()>>,
}

#[async_trait]
impl KeyStore for DatabaseKeys {
    async fn stored_keys(&self) -> Result<StoredKeys, KeyStoreError> {
        Ok(keys_from_rows(&self.engine.read(sql::KEYS, []).await?)?)
    }

    async fn add_first_key(&self, key: &SigningKey) -> Result<(), KeyStoreError> {
        self.add_key(SIGNING, key, None).await?;
        tracing::info!("created a signing key in the database");
        Ok(())
    }

    async fn add_next_key(
        &self,
        key: &SigningKey,
        signs_at: Timestamp,
    ) -> Result<(), KeyStoreError> {
        self.add_key(NEXT, key, Some(signs_at)).await
    }

    async fn set_next_time(&self, next: &KeyId, signs_at: Timestamp) -> Result<(), KeyStoreError> {
        let next = next.to_string();
        self.write_keys(move || {
            Write::statement(sql::SET_NEXT_TIME, [next.as_str().into(), signs_at.into()], ())
        })
        .await
    }

    async fn add_retired_key(
        &self,
        key: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        self.add_key(&retired_slot(key.id()), key, Some(until)).await
    }

    async fn promote_next_key(
        &self,
        next: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), KeyStoreError> {
        let (next, old) = (next.to_string(), signing.id().to_string());
        let slot = retired_slot(signing.id());
        self.write_keys(move || {
            let (next, old) = (next.as_str(), old.as_str());
            let batch = StatementBatch::default();
            let batch = match until {
                Some(until) => {
                    let values = [next.into(), old.into(), slot.as_str().into(), until.into()];
                    batch.with(sql::RETIRE_REPLACED_KEY, values)
                }
                None => batch.with(sql::DELETE_REPLACED_KEY, [next.into(), old.into()]),
            };
            batch.with(sql::PROMOTE_KEY, [next.into()]).returning(())
        })
        .await
    }

    async fn retire_signing_key(
        &self,
        signing: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        let (id, slot) = (signing.id().to_string(), retired_slot(signing.id()));
        self.write_keys(move || {
            let values = [id.as_str().into(), slot.as_str().into(), until.into()];
            Write::statement(sql::RETIRE_SIGNING_KEY, values, ())
        })
        .await
    }

    async fn remove_key(&self, id: &KeyId) -> Result<(), KeyStoreError> {
        let id = id.to_string();
        self.write_keys(move || Write::statement(sql::DELETE_KEY, [id.as_str().into()], ())).await
    }

    async fn stored_secret(&self, name: SecretName) -> Result<Option<SharedSecret>, KeyStoreError> {
        let rows = self.engine.read(sql::SHARED_SECRET, [row_of(name).into()]).await?;
        Ok(secret_from_rows(&rows)?)
    }

    async fn add_secrets(&self, secrets: &SharedSecrets) -> Result<(), KeyStoreError> {
        for (name, secret) in secrets {
            self.write_secret(sql::ADD_SHARED_SECRET, *name, secret).await?;
        }
        Ok(())
    }

    async fn replace_secret(
        &self,
        name: SecretName,
        secret: &SharedSecret,
    ) -> Result<(), KeyStoreError> {
        self.write_secret(sql::REPLACE_SHARED_SECRET, name, secret).await
    }

    fn propagation_time(&self) -> Duration {
        change_listener::PROPAGATION
    }

    fn location(&self) -> String {
        "the signing key in the table signing_keys".into()
    }

    async fn changed(&self) {
        // The sender lives as long as the engine.
        let _ = self.changed.lock().await.changed().await;
    }
}

impl From<Error> for KeyStoreError {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

/// Reads the rows of [`sql::KEYS`].
pub(super) fn keys_from_rows(rows: &[Row]) -> Result<StoredKeys, Error> {
    let mut keys = StoredKeys::default();
    for row in rows {
        let (slot, kid): (&str, &str) = (row.get(0)?, row.get(1)?);
        let until: Option<Timestamp> = row.get(3)?;
        let key = SigningKey::from_pem(row.get(2)?).map_err(|error| {
            let cause = format!("the key {kid} in the table signing_keys: {error}");
            Error::Failed(cause.into())
        })?;
        match (slot, until) {
            (SIGNING, _) => keys.signing = Some(key),
            (NEXT, at) => keys.next = Some((key, at)),
            (_, Some(until)) => keys.retired.push((key, until)),
            (_, None) => {}
        }
    }
    Ok(keys)
}

/// The id of a secret in the table `cookie_secrets`.
pub(super) fn row_of(name: SecretName) -> i64 {
    match name {
        SecretName::Cookies => 1,
        SecretName::Factors => 2,
        SecretName::Audit => 3,
    }
}

/// Reads the rows of [`sql::SHARED_SECRET`].
pub(super) fn secret_from_rows(rows: &[Row]) -> Result<Option<SharedSecret>, Error> {
    let stored = rows.first().map(|row| row.get(0)).transpose()?;
    let damaged = || Error::Failed("the table cookie_secrets is damaged".into());
    let secret = stored.map(|bytes| SharedSecret::from_store(bytes).ok_or_else(damaged));
    secret.transpose()
}

/// The statements that add shared secrets.
pub(super) fn secret_insertions(secrets: &SharedSecrets) -> Vec<(&'static str, Vec<Value>)> {
    let insertion = |(name, secret): (&SecretName, &SharedSecret)| {
        (sql::ADD_SHARED_SECRET, vec![row_of(*name).into(), secret.as_bytes().to_vec().into()])
    };
    secrets.iter().map(insertion).collect()
}

/// The statements that add all keys of another key store. The next key signs from `signs_at` at the earliest.
pub(super) fn key_insertions(
    stored: &StoredKeys,
    signs_at: Timestamp,
) -> Vec<(&'static str, Vec<Value>)> {
    // Keys that only verify are in the operator's file.
    let StoredKeys { signing, next, retired, verifying: _ } = stored;
    let mut statements = Vec::new();
    let mut add = |slot: &str, key: &SigningKey, until: Option<Timestamp>| {
        let (kid, pem) = (key.id().to_string(), key.to_pem());
        let values = vec![slot.into(), kid.into(), pem.as_str().into(), until.into()];
        statements.push((sql::ADD_KEY, values));
    };
    if let Some(key) = signing {
        add(SIGNING, key, None);
    }
    if let Some((key, at)) = next {
        add(NEXT, key, Some(at.map_or(signs_at, |at| at.max(signs_at))));
    }
    for (key, until) in retired {
        add(&retired_slot(key.id()), key, Some(*until));
    }
    statements
}

/// The slot of a key that no longer signs.
fn retired_slot(id: &KeyId) -> String {
    format!("retired {id}")
}

impl DatabaseKeys {
    pub(super) fn new(engine: &Arc<PostgresEngine>) -> Self {
        let changed = Mutex::new(engine.keys_changed().subscribe());
        Self { engine: Arc::clone(engine), changed }
    }

    async fn write_secret(
        &self,
        statement: &'static str,
        name: SecretName,
        secret: &SharedSecret,
    ) -> Result<(), KeyStoreError> {
        let secret = secret.as_bytes().to_vec();
        let values = move || [row_of(name).into(), secret.clone().into()];
        let write = move || Write::statement(statement, values(), ());
        self.write(WriteScope::Uncached, write).await
    }

    async fn add_key(
        &self,
        slot: &str,
        key: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), KeyStoreError> {
        let (slot, kid, pem) = (slot.to_owned(), key.id().to_string(), key.to_pem());
        self.write_keys(move || {
            let values =
                [slot.as_str().into(), kid.as_str().into(), pem.as_str().into(), until.into()];
            Write::statement(sql::ADD_KEY, values, ())
        })
        .await
    }

    async fn write_keys(
        &self,
        prepare: impl Fn() -> Write<()> + Send + Sync + 'static,
    ) -> Result<(), KeyStoreError> {
        self.write(WriteScope::SigningKeys, prepare).await
    }

    async fn write(
        &self,
        scope: WriteScope,
        prepare: impl Fn() -> Write<()> + Send + Sync + 'static,
    ) -> Result<(), KeyStoreError> {
        let transaction = Transaction::new(scope, false, None, move |_, _| prepare());
        self.engine.write(transaction).await?;
        Ok(())
    }
}
