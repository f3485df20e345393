//! The stores: the same behaviour on SQLite and PostgreSQL, under contention, over lost connections, and when data moves from
//! one to the other.

mod api_keys;
mod authority;
mod commit;
mod concurrency;
mod deletion;
mod emergency;
mod failed_logins;
mod first_passkey;
mod imports;
mod invitations;
mod limits;
mod migrate;
mod model;
mod one_time_secrets;
mod operations;
mod outbox;
#[path = "../postgres/mod.rs"]
mod postgres;
mod schema;
mod search;
mod secure;
#[path = "../seed/mod.rs"]
mod seed;
#[path = "../size/mod.rs"]
mod size;
#[path = "../stopwatch/mod.rs"]
mod stopwatch;
mod tls;
mod trusted_devices;

use std::time::Duration;

use doorward::internals::{
    backup,
    clock::Timestamp,
    credential::password::PasswordHash,
    language::Language,
    mail::{Mail, MailId, Message},
    network::ClientInfo,
    new_session, new_user,
    session::Session,
    store::{
        Conditional, Effects, Error, PostgresOptions, PostgresUrl, Store, archive::KeySnapshot,
    },
    user::{Email, Name, User, UserId},
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

fn user(name: &str, email: &str) -> User {
    let hash = PasswordHash::from_store(format!("hash of {name}"));
    let (name, email) = (Name::parse(name.into()).unwrap(), Email::parse(email.into()).unwrap());
    new_user(name, email, Some(hash), NOW)
}

fn session(user: &User, lifetime: u64) -> Session {
    let origin = ClientInfo::new([192, 0, 2, 7].into(), "curl/8 \u{7f}(λ)");
    new_session(user.id, origin, NOW, Duration::from_secs(lifetime))
}

fn mail(user_id: Option<UserId>, message: Message) -> Mail {
    Mail {
        id: MailId::random(),
        user_id,
        recipient: Email::parse("Recipient@example.com".into()).unwrap(),
        language: Language::English,
        message,
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(24 * 60 * 60),
    }
}

/// Edits the record of a user as it is stored. Returns false if there is no such user.
async fn edit(
    store: &Store,
    id: UserId,
    at: Timestamp,
    change: impl Fn(&mut User),
    effects: &Effects,
) -> Result<bool, Error> {
    loop {
        let Some(read) = store.user_by_id(id).await? else { return Ok(false) };
        let mut edited = read.clone();
        edited.updated_at = at;
        change(&mut edited);
        match store.edit_user(&read, &edited, effects).await? {
            Conditional::Done => return Ok(true),
            Conditional::Gone => return Ok(false),
            Conditional::Changed => {}
        }
    }
}

/// A store on an empty database, unless there is no PostgreSQL here.
async fn postgres_store() -> Option<Store> {
    Some(open_postgres(&postgres::fresh_database()?).await)
}

async fn open_postgres(url: &str) -> Store {
    let options = PostgresOptions::default();
    Store::open_postgres(&PostgresUrl::parse(url).unwrap(), options).await.unwrap().0
}

/// All rows, as they are in a backup.
async fn rows(store: &Store) -> Result<Vec<String>, Error> {
    let snapshot = store.snapshot().await?;
    let keys = KeySnapshot::default();
    let mut text = Vec::new();
    backup::write(&snapshot, &keys, true, NOW, &mut text, &mut |_, _| {}).await.unwrap();
    let lines: Vec<_> = str::from_utf8(&text).unwrap().lines().map(str::to_owned).collect();
    // Without the header and the end.
    Ok(lines[1..lines.len() - 1].to_vec())
}

/// A server whose settings a test may change.
fn own_postgres() -> Option<postgres::Server> {
    Some(postgres::Server::start(postgres::programs()?))
}

#[test]
fn every_fresh_database_is_a_different_one() {
    if let (Some(first), Some(second)) = (postgres::fresh_database(), postgres::fresh_database()) {
        assert_ne!(first, second);
    }
}
