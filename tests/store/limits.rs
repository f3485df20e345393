//! Limits are counted in the transaction that writes: parallel requests do not exceed them.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use doorward::internals::{
    store::{AddFactor, AddKey, Effects, MAX_PASSKEYS, MAX_PERSONAL_KEYS, Store},
    token::cookie::CodeId,
    user::{FactorId, Passkey, User},
};
use futures_util::future::join_all;
use uuid::Uuid;

use crate::{NOW, api_keys::api_key, postgres_store, user};

/// How often each came.
fn counted<T: Eq + Hash>(outcomes: impl IntoIterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for outcome in outcomes {
        *counts.entry(outcome).or_default() += 1;
    }
    counts
}

pub fn passkey(user: &User) -> Passkey {
    let id = FactorId::random();
    Passkey {
        id,
        user_id: user.id,
        credential_id: id.to_string().into_bytes(),
        rp_id: "auth.example.com".into(),
        user_handle: vec![1; 32],
        public_key: vec![2; 77],
        verifies_user: true,
        aaguid: Uuid::nil(),
        name: "Phone".into(),
        transports: String::new(),
        sign_count: 0,
        backup_eligible: false,
        backed_up: false,
        created_at: NOW,
        last_used_at: None,
    }
}

async fn add_passkeys(store: &Arc<Store>, user: &User, setups: Vec<CodeId>) -> Vec<AddFactor> {
    let adding = setups.into_iter().map(|setup| {
        let (store, user, passkey) = (Arc::clone(store), user.clone(), passkey(user));
        tokio::spawn(async move {
            store
                .add_passkey(&user, &passkey, (setup, NOW), &[], None, &Effects::NONE)
                .await
                .unwrap()
        })
    });
    join_all(adding).await.into_iter().map(Result::unwrap).collect()
}

async fn run_all(store: Store) {
    let store = Arc::new(store);
    let ada = user("Ada", "ada@example.com");
    store.add_user(&ada, &Effects::NONE).await.unwrap();
    let adding = (0..2 * MAX_PERSONAL_KEYS).map(|_| {
        let (store, ada, (key, digest)) = (Arc::clone(&store), ada.clone(), api_key(Some(ada.id)));
        tokio::spawn(async move {
            store.add_personal_key(&ada, &key, &digest, &Effects::NONE).await.unwrap()
        })
    });
    let outcomes = join_all(adding).await.into_iter().map(Result::unwrap);
    let expected = [(AddKey::Added, MAX_PERSONAL_KEYS), (AddKey::TooMany, MAX_PERSONAL_KEYS)];
    assert_eq!(counted(outcomes), HashMap::from(expected));
    let held = store.api_keys_by_user(ada.id, NOW).await.unwrap();
    assert_eq!(held.len(), MAX_PERSONAL_KEYS);
    // Room again.
    assert!(store.revoke_api_key(&held[0], NOW, &Effects::NONE).await.unwrap());
    let (key, digest) = api_key(Some(ada.id));
    let added = store.add_personal_key(&ada, &key, &digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::Added);

    // One setup makes one passkey, however many answer it at once.
    let outcomes = add_passkeys(&store, &ada, vec![CodeId::random(); 1]).await;
    assert_eq!(outcomes, [AddFactor::Added]);
    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    let outcomes = add_passkeys(&store, &ada, vec![CodeId::random(); 10]).await;
    let expected = [(AddFactor::Added, 1), (AddFactor::SetupUsed, 9)];
    assert_eq!(counted(outcomes), HashMap::from(expected));
    let setups = (0..2 * MAX_PASSKEYS).map(|_| CodeId::random()).collect();
    let outcomes = add_passkeys(&store, &ada, setups).await;
    let expected = [(AddFactor::Added, MAX_PASSKEYS - 2), (AddFactor::TooMany, MAX_PASSKEYS + 2)];
    assert_eq!(counted(outcomes), HashMap::from(expected));
    let held = store.factors_of(&ada, NOW).await.unwrap().passkeys;
    assert_eq!(held.len(), MAX_PASSKEYS);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_count_where_they_are_written_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run_all(Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_count_where_they_are_written_on_postgres() {
    if let Some(store) = postgres_store().await {
        run_all(store).await;
    }
}
