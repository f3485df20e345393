//! The schema: which unique index means that an address is taken, which versions a start accepts, and whether the descriptions of
//! tables match it.

use std::{collections::BTreeMap, fs, path::Path};

use aws_lc_rs::digest::{SHA256, digest};
use doorward::internals::store::{
    Effects, Error, PostgresOptions, PostgresUrl, Store,
    archive::{DatabaseKind, Kind, Table},
};

use super::{NOW, open_postgres, postgres, session, user};

/// Adds one user and then rows that violate a unique index each.
async fn add_duplicates(store: &Store) {
    let ada = user("Ada", "ada@example.com");
    let first = session(&ada, 60);
    store.add_user_with_session(&ada, &first, &Effects::NONE).await.unwrap();
    let same_address = store.add_user(&user("Eve", "ADA@example.com"), &Effects::NONE).await;
    assert!(matches!(same_address, Err(Error::EmailTaken)), "{same_address:?}");
    let mut duplicate = user("Eve", "eve@example.com");
    duplicate.id = ada.id;
    let same_id = store.add_user(&duplicate, &Effects::NONE).await;
    assert!(matches!(same_id, Err(Error::Failed(_))), "{same_id:?}");
    let same_session = store.add_session(&ada, &first, &Effects::NONE).await;
    assert!(matches!(same_session, Err(Error::Failed(_))), "{same_session:?}");
    assert_eq!(store.user_by_id(ada.id).await.unwrap().as_ref(), Some(&ada));
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), [first]);
}

#[tokio::test]
async fn only_a_taken_address_is_reported_as_one_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    add_duplicates(&Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap()).await;
}

#[tokio::test]
async fn only_a_taken_address_is_reported_as_one_on_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    let store = open_postgres(&url).await;
    add_duplicates(&store).await;
    // An index whose name is close to that of the right one.
    run(&url, "CREATE UNIQUE INDEX users_by_email ON users (email)").await;
    run(&url, "UPDATE users SET email_key = 'other'").await;
    let violated = store.add_user(&user("Ada", "ada@example.com"), &Effects::NONE).await;
    assert!(matches!(violated, Err(Error::Failed(_))), "{violated:?}");
}

#[tokio::test]
async fn an_interrupted_migration_is_finished_by_the_next_start() {
    let Some(url) = postgres::fresh_database() else { return };
    let ada = user("Ada", "ada@example.com");
    open_postgres(&url).await.add_user(&ada, &Effects::NONE).await.unwrap();
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
    let refused = refusal(&url).await;
    assert!(refused.contains("schema 1000"), "{refused}");
}

#[tokio::test]
async fn a_schema_that_something_else_has_made_or_changed_is_refused() {
    for (change, difference) in [
        (
            "DROP INDEX sessions_by_expiry",
            "index sessions_by_expiry on sessions (expires_at) is missing",
        ),
        (
            "ALTER TABLE users DROP CONSTRAINT users_by_email_key",
            "unique index users_by_email_key on users",
        ),
        (
            "ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT ''",
            "sessions.colour text not null is not known",
        ),
        (
            "ALTER TABLE users ALTER COLUMN disabled TYPE BIGINT USING 0",
            "users.disabled boolean not null is missing",
        ),
        ("DROP TABLE used_codes", "used_codes.expires_at bigint not null is missing"),
    ] {
        let Some(url) = postgres::fresh_database() else { return };
        drop(open_postgres(&url).await);
        // Indexes and tables of the operator are no matter.
        run(&url, "CREATE INDEX users_by_name ON users (name); CREATE TABLE notes (text TEXT)")
            .await;
        drop(open_postgres(&url).await);
        run(&url, change).await;
        let refused = refusal(&url).await;
        assert!(refused.contains("schema ") && refused.contains(difference), "{change}: {refused}");
    }
}

#[tokio::test]
async fn an_instance_serves_on_while_a_newer_version_migrates_the_schema() {
    let Some(url) = postgres::fresh_database() else { return };
    let store = open_postgres(&url).await;
    let (ada, eve) = (user("Ada", "ada@example.com"), user("Eve", "eve@example.com"));
    let first = session(&ada, 60);
    store.add_user_with_session(&ada, &first, &Effects::NONE).await.unwrap();
    let next = DatabaseKind::Postgres.schema() + 1;
    run(
        &url,
        &format!(
            "ALTER TABLE users ADD COLUMN IF NOT EXISTS colour TEXT NOT NULL DEFAULT 'red'; \
             ALTER TABLE sessions ADD COLUMN IF NOT EXISTS colour TEXT; \
             CREATE TABLE IF NOT EXISTS colours (name TEXT NOT NULL PRIMARY KEY); \
             INSERT INTO schema_versions (version) VALUES ({next})"
        ),
    )
    .await;
    assert!(!store.has_known_schema().await.unwrap());
    assert_eq!(store.user_by_id(ada.id).await.unwrap().as_ref(), Some(&ada));
    assert_eq!(store.sessions_by_user(ada.id, NOW).await.unwrap(), [first]);
    let second = session(&eve, 60);
    store.add_user_with_session(&eve, &second, &Effects::NONE).await.unwrap();
    assert_eq!(store.sessions_by_user(eve.id, NOW).await.unwrap(), [second]);
    assert_eq!(store.end_sessions(ada.id, NOW, &Effects::NONE).await.unwrap(), 1);
    // It does not start again.
    let refused = refusal(&url).await;
    assert!(refused.contains(&format!("(schema {next}, ")), "{refused}");
}

#[tokio::test]
async fn tables_of_another_program_are_refused() {
    let Some(url) = postgres::fresh_database() else { return };
    run(&url, "CREATE TABLE users (id UUID NOT NULL PRIMARY KEY, nick TEXT)").await;
    let refused = refusal(&url).await;
    assert!(refused.contains("users.nick text is not known"), "{refused}");
    assert!(refused.contains("give doorward a database of its own"), "{refused}");
}

/// Why the database is not opened.
async fn refusal(url: &str) -> String {
    let url = PostgresUrl::parse(url).unwrap();
    let Err(Error::Failed(cause)) = Store::open_postgres(&url, PostgresOptions::default()).await
    else {
        panic!("opened, or a temporary error")
    };
    cause.to_string()
}

async fn run(url: &str, statement: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap();
}

/// The databases of released versions have the schemas of these files.
#[test]
fn a_released_migration_never_changes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let released = fs::read_to_string(folder.join("released.sha256")).unwrap();
    assert!(released.lines().count() >= 2);
    for line in released.lines() {
        let (expected, name) = line.split_once("  ").unwrap();
        let digest = digest(&SHA256, &fs::read(folder.join(name)).unwrap());
        let found: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected, "{name} is released: add a migration instead");
    }
}

/// The columns of each table, each with its type and whether it may be null.
type Schema = BTreeMap<String, BTreeMap<String, (String, bool)>>;

/// Asserts that every table is described, and the columns of those that are moved. A column that is missing would be lost in a
/// backup.
fn assert_described(schema: &Schema, database: DatabaseKind, type_of: fn(Kind) -> &'static str) {
    let mut others = schema.clone();
    for table in Table::all() {
        let columns = table.columns.iter().filter(|column| column.is_in(database));
        let described: BTreeMap<_, _> = columns
            .map(|column| {
                (column.name.to_owned(), (type_of(column.kind).to_owned(), column.is_nullable))
            })
            .collect();
        assert_eq!(others.remove(table.name).as_ref(), Some(&described), "{}", table.name);
    }
    Table::not_moved().for_each(|name| drop(others.remove(name)));
    others.remove("schema_versions");
    assert!(others.is_empty(), "describe these tables in src/store/tables.rs: {:?}", others.keys());
}

#[test]
fn the_descriptions_of_tables_match_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("doorward.db");
    drop(Store::open_sqlite(&file, None).unwrap());
    let db = rusqlite::Connection::open(&file).unwrap();
    let mut columns = db
        .prepare(
            "SELECT m.name, c.name, c.type, NOT (c.\"notnull\" OR c.pk > 0) FROM sqlite_master m \
             JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let mut schema = Schema::new();
    let mut rows = columns.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (table, column): (String, String) = (row.get(0).unwrap(), row.get(1).unwrap());
        let described = (row.get(2).unwrap(), row.get(3).unwrap());
        schema.entry(table).or_default().insert(column, described);
    }
    assert_described(&schema, DatabaseKind::Sqlite, |kind| match kind {
        Kind::Id | Kind::Bytes => "BLOB",
        Kind::Text => "TEXT",
        Kind::Number | Kind::Flag => "INTEGER",
    });
}

#[tokio::test]
async fn the_descriptions_of_tables_match_postgres() {
    let Some(url) = postgres::fresh_database() else { return };
    drop(open_postgres(&url).await);
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let columns = client.query(
        "SELECT table_name::text, column_name::text, data_type::text, is_nullable = 'YES' \
         FROM information_schema.columns WHERE table_schema = current_schema()",
        &[],
    );
    let mut schema = Schema::new();
    for row in columns.await.unwrap() {
        schema.entry(row.get(0)).or_default().insert(row.get(1), (row.get(2), row.get(3)));
    }
    assert_described(&schema, DatabaseKind::Postgres, |kind| match kind {
        Kind::Id => "uuid",
        Kind::Text => "text",
        Kind::Number => "bigint",
        Kind::Flag => "boolean",
        Kind::Bytes => "bytea",
    });
}
