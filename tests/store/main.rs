//! The stores: the same behaviour on SQLite and PostgreSQL, under contention, over lost connections, and when data moves from
//! one to the other.

mod commit;
mod concurrency;
mod emergency;
mod failed_logins;
mod imports;
mod invitations;
mod migrate;
mod model;
mod one_times;
mod operations;
mod outbox;
#[path = "../postgres/mod.rs"]
mod postgres;
mod schema;
#[path = "../stopwatch/mod.rs"]
mod stopwatch;
mod tls;

use std::time::Duration;

use doorward::internals::{
    clock::Timestamp,
    credential::password::PasswordHash,
    language::Language,
    mail::{Mail, MailId, Message},
    session::{Origin, Session},
    store::{PostgresOptions, PostgresStore, PostgresUrl},
    user::{Email, Name, User, UserId},
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

fn user(name: &str, email: &str) -> User {
    let hash = PasswordHash::from_store(format!("hash of {name}"));
    let (name, email) = (Name::parse(name.into()).unwrap(), Email::parse(email.into()).unwrap());
    User::new(name, email, Some(hash), NOW)
}

fn session(user: &User, lifetime: u64) -> Session {
    let origin = Origin::new([192, 0, 2, 7].into(), "curl/8 \u{7f}(λ)");
    Session::new(user.id, origin, NOW, Duration::from_secs(lifetime))
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

/// A store on an empty database, unless there is no PostgreSQL here.
async fn postgres_store() -> Option<PostgresStore> {
    Some(open_postgres(&postgres::fresh_database()?).await)
}

async fn open_postgres(url: &str) -> PostgresStore {
    let options = PostgresOptions::default();
    PostgresStore::open(&PostgresUrl::parse(url).unwrap(), options).await.unwrap()
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
