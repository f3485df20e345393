//! What stays of a user who was deleted: nothing, in any table.

use doorward::internals::{
    credential::password::PasswordHash,
    mail::Message,
    new_user,
    store::{Effects, Store, archive::Table},
    token::one_time::Purpose,
};

use crate::{
    NOW, invitations::invitation, mail, one_time_secrets::one_time, postgres_store, rows, session,
    user,
};

/// The tables with rows about users. A new one needs a row in [`nothing_stays`].
fn tables_about_users() -> Vec<&'static str> {
    let is_about_user = |table: &&Table| {
        table.columns.iter().any(|column| ["user_id", "invited_by"].contains(&column.name))
    };
    Table::all().filter(is_about_user).map(|table| table.name).chain(["users"]).collect()
}

async fn nothing_stays(store: &Store) {
    let ada = user("Ada", "ada@example.com");
    let hash = PasswordHash::from_store("$2b$10$aaa".into());
    let ada = new_user(ada.name, ada.email, Some(hash), NOW);
    store.import_users(vec![ada.clone()], NOW, &Effects::NONE).await.unwrap();
    let mails = vec![mail(Some(ada.id), Message::HasPassword)];
    let secrets = vec![one_time(&ada, Purpose::SignIn), one_time(&ada, Purpose::OperatorReset)];
    let effects = Effects { mails, secrets, ..Effects::NONE };
    assert!(store.add_session(&ada, &session(&ada, 60), &effects).await.unwrap());
    let (invitation, digest) = invitation("friend@example.com", Some(ada.id));
    store.add_invitation(&invitation, &digest, &Effects::NONE).await.unwrap();

    let rows_about_ada = async || {
        let mut rows = rows(store).await.unwrap();
        rows.retain(|row| row.contains(&ada.id.to_string()));
        rows
    };
    let before = rows_about_ada().await;
    for table in tables_about_users() {
        let start = format!(r#"{{"{table}":"#);
        assert!(before.iter().any(|row| row.starts_with(&start)), "no row in {table}: {before:?}");
    }
    assert!(store.delete_user(ada.id, NOW, &Effects::NONE).await.unwrap());
    assert_eq!(rows_about_ada().await, Vec::<String>::new());
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
