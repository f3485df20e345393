//! The schema: which unique index means that an address is taken, and which versions a start accepts.

use doorward::internals::{
    mail::Mailing,
    store::{Error, PostgresOptions, PostgresStore, PostgresUrl, SqliteStore, Store, UserStore},
};

use super::{NOW, open_postgres, postgres, session, user};

/// Adds one user and then rows that violate a unique index each.
async fn add_duplicates(store: &dyn Store) {
    let ada = user("Ada", "ada@example.com");
    let first = session(&ada, 60);
    store.add_user(&ada, Some(&first), None, &Mailing::NONE).await.unwrap();
    let same_address =
        store.add_user(&user("Eve", "ADA@example.com"), None, None, &Mailing::NONE).await;
    assert!(matches!(same_address, Err(Error::EmailTaken)), "{same_address:?}");
    let mut duplicate = user("Eve", "eve@example.com");
    duplicate.id = ada.id;
    let same_id = store.add_user(&duplicate, None, None, &Mailing::NONE).await;
    assert!(matches!(same_id, Err(Error::Failed(_))), "{same_id:?}");
    let same_session = store.add_session(&ada, &first, &Mailing::NONE).await;
    assert!(matches!(same_session, Err(Error::Failed(_))), "{same_session:?}");
    assert_eq!(store.user_by_id(ada.id).await.unwrap().as_ref(), Some(&ada));
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), [first]);
}

#[tokio::test]
async fn only_a_taken_address_is_reported_as_one_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    add_duplicates(&SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn only_a_taken_address_is_reported_as_one_on_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    let store = open_postgres(&url).await;
    add_duplicates(&store).await;
    // An index whose name is close to that of the right one.
    run(&url, "CREATE UNIQUE INDEX users_by_email ON users (email)").await;
    run(&url, "UPDATE users SET email_key = 'other'").await;
    let violated =
        store.add_user(&user("Ada", "ada@example.com"), None, None, &Mailing::NONE).await;
    assert!(matches!(violated, Err(Error::Failed(_))), "{violated:?}");
}

#[tokio::test]
async fn an_interrupted_migration_is_finished_by_the_next_start() {
    let Some(url) = postgres::fresh_database() else { return };
    let ada = user("Ada", "ada@example.com");
    open_postgres(&url).await.add_user(&ada, None, None, &Mailing::NONE).await.unwrap();
    // As if the version had not been written.
    run(&url, "DELETE FROM schema_versions").await;
    run(&url, "DROP INDEX sessions_by_expiry").await;
    let store = open_postgres(&url).await;
    assert_eq!(store.user_by_id(ada.id).await.unwrap(), Some(ada));
    run(&url, "DROP INDEX sessions_by_expiry").await;
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let Some(url) = postgres::fresh_database() else { return };
    drop(open_postgres(&url).await);
    run(&url, "INSERT INTO schema_versions (version) VALUES (1000)").await;
    let url = PostgresUrl::parse(&url).unwrap();
    let opened = PostgresStore::open(&url, PostgresOptions::default()).await;
    let Err(Error::Failed(cause)) = opened else { panic!("opened, or a temporary error") };
    assert!(cause.to_string().contains("schema 1000"), "{cause}");
}

async fn run(url: &str, statement: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap();
}
