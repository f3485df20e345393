//! The keys, in a store that all instances share.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    PostgresStore, column,
    engine::{About, Plan},
    statements as sql, tail,
};
use crate::{
    clock::Timestamp,
    store::Error,
    token::{
        KeyId, SigningKey,
        key_store::{KeyStore, KeyStoreError, StoredKeys},
    },
};

const SIGNING: &str = "signing";
const NEXT: &str = "next";

#[async_trait]
impl KeyStore for PostgresStore {
    async fn stored_keys(&self) -> Result<StoredKeys, KeyStoreError> {
        let mut kept = StoredKeys::default();
        for row in &self.engine.read(sql::KEYS, []).await? {
            let (place, kid): (String, String) = (column(row, 0)?, column(row, 1)?);
            let pem: String = column(row, 2)?;
            let until = column::<Option<i64>>(row, 3)?.map(Timestamp::from_millis);
            let key = SigningKey::from_pem(&pem).map_err(|error| {
                let cause = format!("the key {kid} in the table signing_keys: {error}");
                Error::Failed(cause.into())
            })?;
            match (place.as_str(), until) {
                (SIGNING, _) => kept.signing = Some(key),
                (NEXT, at) => kept.next = Some((key, at)),
                (_, Some(until)) => kept.retired.push((key, until)),
                (_, None) => {}
            }
        }
        Ok(kept)
    }

    async fn add_first_key(&self, key: &SigningKey) -> Result<(), KeyStoreError> {
        self.keep(SIGNING, key, None).await?;
        tracing::info!("made a signing key, kept in the database");
        Ok(())
    }

    async fn add_next_key(
        &self,
        key: &SigningKey,
        signs_at: Timestamp,
    ) -> Result<(), KeyStoreError> {
        Ok(self.keep(NEXT, key, Some(signs_at)).await?)
    }

    async fn add_retired_key(
        &self,
        key: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        Ok(self.keep(&retired(key.id()), key, Some(until)).await?)
    }

    async fn promote_next_key(
        &self,
        next: &KeyId,
        signing: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), KeyStoreError> {
        let (next, old) = (next.to_string(), signing.id().to_string());
        let place = retired(signing.id());
        let decide = move |_, _: Option<&_>| {
            let (next, old) = (next.clone(), old.clone());
            let plan = Plan::new(());
            let plan = match until {
                Some(until) => {
                    let values =
                        [next.clone().into(), old.into(), place.clone().into(), until.into()];
                    plan.then(sql::RETIRE_KEY, values)
                }
                None => plan.then(sql::DROP_SIGNING_KEY, [next.clone().into(), old.into()]),
            };
            plan.then(sql::PROMOTE_KEY, [next.into()])
        };
        Ok(self.engine.write(About::Keys, decide).await?)
    }

    async fn retire_signing_key(
        &self,
        signing: &SigningKey,
        until: Timestamp,
    ) -> Result<(), KeyStoreError> {
        let id = signing.id().to_string();
        let decide = move |_, _: Option<&_>| {
            let place = format!("retired {id}");
            let values = [id.clone().into(), place.into(), until.into()];
            Plan::new(()).then(sql::RETIRE_SIGNING_KEY, values)
        };
        Ok(self.engine.write(About::Keys, decide).await?)
    }

    async fn remove_key(&self, id: &KeyId) -> Result<(), KeyStoreError> {
        let id = id.to_string();
        let decide =
            move |_, _: Option<&_>| Plan::new(()).then(sql::DISCARD_KEY, [id.clone().into()]);
        Ok(self.engine.write(About::Keys, decide).await?)
    }

    fn propagation_time(&self) -> Duration {
        tail::REACHES_ALL_WITHIN
    }

    fn location(&self) -> String {
        "the signing key in the table signing_keys".into()
    }

    async fn changed(&self) {
        // The sender lives as long as the store.
        let _ = self.keys_changed.lock().await.changed().await;
    }
}

impl From<Error> for KeyStoreError {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

/// The place of a key that no longer signs.
fn retired(id: &KeyId) -> String {
    format!("retired {id}")
}

impl PostgresStore {
    async fn keep(
        &self,
        place: &str,
        key: &SigningKey,
        until: Option<Timestamp>,
    ) -> Result<(), Error> {
        let (place, kid, pem) = (place.to_owned(), key.id().to_string(), key.to_pem());
        let decide = move |_, _: Option<&_>| {
            let values =
                [place.clone().into(), kid.clone().into(), pem.as_str().into(), until.into()];
            Plan::new(()).then(sql::KEEP_KEY, values)
        };
        self.engine.write(About::Keys, decide).await
    }
}
