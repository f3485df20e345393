//! What stays of a user who was deleted: nothing, in any table.

use std::time::Duration;

use doorward::internals::{
    credential::password::PasswordHash,
    mail::Message,
    network::ClientInfo,
    new_user,
    store::{AddKey, Effects, ImportedWays, SignIn, SignInWritten, Store, archive::Table},
    token::one_time::Purpose,
    user::{FactorId, TrustedDevice},
};

use crate::{
    NOW, api_keys::api_key, imports::identity, invitations::invitation, mail, migrate::add_factors,
    one_time_secrets::one_time, postgres_store, rows, session, user,
};

/// The tables with rows of users. A new one needs a row in [`nothing_stays`].
fn tables_of_users() -> impl Iterator<Item = &'static str> {
    Table::all().filter(|table| table.columns_of_user().next().is_some()).map(|table| table.name)
}

async fn nothing_stays(store: &Store) {
    let ada = user("Ada", "ada@example.com");
    let hash = PasswordHash::from_store("$2b$10$aaa".into());
    let ada = new_user(ada.name, ada.email, Some(hash), NOW);
    let identities = vec![identity(&ada, "1")];
    let ways = ImportedWays { identities, ..ImportedWays::default() };
    store.import_users(vec![ada.clone()], ways, Vec::new(), NOW, &Effects::NONE).await.unwrap();
    let mails = vec![mail(Some(ada.id), Message::HasPassword)];
    let secrets = vec![one_time(&ada, Purpose::SignIn), one_time(&ada, Purpose::OperatorReset)];
    let effects = Effects { mails, secrets, ..Effects::NONE };
    assert!(store.add_session(&ada, &session(&ada, 60), &effects).await.unwrap());
    let device = TrustedDevice {
        id: FactorId::random(),
        user_id: ada.id,
        password_version: ada.password_version(),
        client: ClientInfo::new([192, 0, 2, 7].into(), "curl/8"),
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(60),
    };
    let sign_in =
        SignIn { new_trusted_device: Some(device), ..SignIn::new(&ada, session(&ada, 60)) };
    let written = store.sign_in(sign_in, &Effects::NONE).await.unwrap();
    assert!(matches!(written, SignInWritten::Begun(_)), "{written:?}");
    add_factors(store, &ada).await;
    let (invitation, digest) = invitation("friend@example.com", Some(ada.id));
    store.add_invitation(&invitation, &digest, &Effects::NONE).await.unwrap();

    let ada = store.user_by_id(ada.id).await.unwrap().unwrap();
    let (key, digest) = api_key(Some(ada.id));
    let added = store.add_personal_key(&ada, &key, &digest, &Effects::NONE).await.unwrap();
    assert_eq!(added, AddKey::Added);

    let rows_about_ada = async || {
        let mut rows = rows(store).await.unwrap();
        rows.retain(|row| row.contains(&ada.id.to_string()));
        rows
    };
    let before = rows_about_ada().await;
    for table in tables_of_users() {
        let start = format!(r#"{{"{table}":"#);
        assert!(before.iter().any(|row| row.starts_with(&start)), "no row in {table}: {before:?}");
    }
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    let mut after = rows_about_ada().await;
    // What says that the audit trail has to be erased comes with the deletion.
    after.retain(|row| !row.starts_with(r#"{"erasures":"#));
    assert_eq!(after, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_stays_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    nothing_stays(&store).await;
}

#[tokio::test]
async fn nothing_stays_on_postgres() {
    if let Some(store) = postgres_store().await {
        nothing_stays(&store).await;
    }
}
