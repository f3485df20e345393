//! Lost commits and unreachable servers, through a proxy between the store and PostgreSQL.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{body::to_bytes, http::Request};
use doorward::{
    Doorward,
    internals::{
        Internals,
        access::caller::AuthError,
        clock::Timestamp,
        config::{DatabaseUrl, Settings},
        network::{ClientInfo, Requester},
        new_session, new_user,
        session::Session,
        store::{Connectivity, Effects, Error, PostgresOptions, PostgresUrl, Store},
        user::{Email, Name, Role, User},
    },
};
use futures_util::future::{join_all, poll_immediate};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tower::ServiceExt;

use crate::{own_postgres, postgres, stopwatch::Stopwatch};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// The time within which a request fails when the database is unreachable.
const NOTICED_WITHIN: Duration = Duration::from_secs(2);
/// The bound of waits without a documented time.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the proxy does to a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Forward it and drop the answer.
    AnswerLost,
    /// Drop it.
    Lost,
}

/// A proxy between a store and its server.
struct Proxy {
    url: String,
    /// How many more commits are affected.
    left: Arc<AtomicUsize>,
    cut: watch::Sender<bool>,
}

impl Proxy {
    async fn to(url: &str, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap().port();
        let server = url.split(['@', '/']).find(|part| part.starts_with("127.0.0.1:")).unwrap();
        let (left, cut) = (Arc::new(AtomicUsize::new(0)), watch::Sender::new(false));
        let (counted, watched, there) = (Arc::clone(&left), cut.subscribe(), server.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (counted, watched) = (Arc::clone(&counted), watched.clone());
                let there = there.clone();
                tokio::spawn(async move {
                    if !*watched.borrow() {
                        let server = TcpStream::connect(there).await.unwrap();
                        pass(client, server, fault, &counted, watched).await;
                    }
                });
            }
        });
        Self { url: url.replace(server, &format!("127.0.0.1:{here}")), left, cut }
    }
}

/// Forwards bytes in both directions until a commit is affected or the connection is cut.
async fn pass(
    mut client: TcpStream,
    mut server: TcpStream,
    fault: Fault,
    left: &AtomicUsize,
    mut cut: watch::Receiver<bool>,
) {
    let (mut from_client, mut from_server) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            // After the cut nothing is forwarded, even if it arrived before.
            biased;
            () = is_cut(&mut cut) => return,
            read = client.read(&mut from_client) => {
                let Ok(read @ 1..) = read else { return };
                let bytes = &from_client[..read];
                let is_commit = bytes.windows(7).any(|part| part == b"COMMIT\0");
                let takes_one = |left: usize| left.checked_sub(1);
                let order = Ordering::SeqCst;
                if is_commit && left.fetch_update(order, order, takes_one).is_ok() {
                    if fault == Fault::AnswerLost {
                        server.write_all(bytes).await.unwrap();
                        // Wait for the server's answer.
                        let _ = server.read(&mut from_server).await;
                    }
                    return;
                }
                server.write_all(bytes).await.unwrap();
            }
            read = server.read(&mut from_server) => {
                let Ok(read @ 1..) = read else { return };
                if client.write_all(&from_server[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn is_cut(cut: &mut watch::Receiver<bool>) {
    let _ = cut.wait_for(|cut| *cut).await;
}

async fn open(url: &str) -> Store {
    let options = PostgresOptions::default();
    Store::open_postgres(&PostgresUrl::parse(url).unwrap(), options).await.unwrap().0
}

fn user(number: usize) -> User {
    let email = Email::parse(format!("user{number}@example.com")).unwrap();
    new_user(Name::parse("Ada".into()).unwrap(), email, None, NOW)
}

fn session(user: &User) -> Session {
    new_session(user.id, ClientInfo::new([127, 0, 0, 1].into(), ""), NOW, Duration::from_secs(60))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_counts_once() {
    let Some(url) = postgres::fresh_database() else { return };
    for fault in [Fault::AnswerLost, Fault::Lost] {
        let proxy = Proxy::to(&url, fault).await;
        let store = open(&proxy.url).await;
        for number in 0..5 {
            let user = user(number);
            proxy.left.store(1, Ordering::SeqCst);
            store.add_user_with_session(&user, &session(&user), &Effects::NONE).await.unwrap();
            assert_eq!(proxy.left.load(Ordering::SeqCst), 0, "the proxy affected no commit");
            assert_eq!(store.user_by_id(user.id).await.unwrap().as_ref(), Some(&user));

            // A repeated write would change these results.
            let role = Role::parse("staff").unwrap();
            proxy.left.store(1, Ordering::SeqCst);
            assert!(store.grant_role(user.id, &role, NOW, &Effects::NONE).await.unwrap());
            proxy.left.store(1, Ordering::SeqCst);
            assert_eq!(store.end_sessions(user.id, NOW, &Effects::NONE).await.unwrap(), 1);
            proxy.left.store(1, Ordering::SeqCst);
            assert!(store.delete_user(user.id, NOW, &Effects::NONE).await.unwrap());
        }
        assert!(!store.has_users().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_database_and_its_return_are_noticed_at_once() {
    let Some(url) = postgres::fresh_database() else { return };
    let proxy = Proxy::to(&url, Fault::Lost).await;
    let store = open(&proxy.url).await;
    let ada = user(0);
    store.add_user(&ada, &Effects::NONE).await.unwrap();
    let before = store.changes().stamp(ada.id);
    until("the store is connected", || store.changes().connectivity() == Connectivity::Connected)
        .await;

    proxy.cut.send_replace(true);
    let cut = Stopwatch::start(&[std::process::id()]);
    // More reads than one batch holds, and one that is cancelled.
    let mut reads: Vec<_> = (0..40).map(|_| Box::pin(store.user_by_id(ada.id))).collect();
    let asked = poll_immediate(&mut reads[0]).await;
    assert!(matches!(asked, None | Some(Err(Error::Unavailable(_)))));
    drop(reads.remove(0));
    for read in join_all(reads).await {
        assert!(matches!(read, Err(Error::Unavailable(_))));
    }
    cut.must_show_less_than(NOTICED_WITHIN, "reads fail");
    let cut = Stopwatch::start(&[std::process::id()]);
    assert!(matches!(store.add_user(&user(1), &Effects::NONE).await, Err(Error::Unavailable(_))));
    cut.must_show_less_than(NOTICED_WITHIN, "writes fail");
    until("the database is unreachable", || {
        store.changes().connectivity() == Connectivity::Unreachable
    })
    .await;
    assert!(store.changes().is_current(before), "an outage does not count as a change");

    // Another instance changes the user meanwhile.
    let elsewhere = open(&url).await;
    assert!(
        elsewhere
            .grant_role(ada.id, &Role::parse("staff").unwrap(), NOW, &Effects::NONE)
            .await
            .unwrap()
    );
    proxy.cut.send_replace(false);
    until("the database is reachable again", || {
        store.changes().connectivity() == Connectivity::Connected
    })
    .await;
    until("the change is received", || !store.changes().is_current(before)).await;
    for read in join_all((0..40).map(|_| store.user_by_id(ada.id))).await {
        assert_eq!(read.unwrap().unwrap().roles.to_text(), "staff");
    }
    store.add_user(&user(1), &Effects::NONE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_revoked_during_an_outage_is_refused_after_it() {
    let Some(url) = postgres::fresh_database() else { return };
    let proxy = Proxy::to(&url, Fault::Lost).await;
    let serve = async |url: &str| {
        let database = DatabaseUrl::parse(url).unwrap();
        let doorward = Doorward::open(Settings::new().with_database(database)).await.unwrap();
        let upkeep = doorward.clone();
        tokio::spawn(async move { upkeep.run_upkeep().await });
        doorward
    };
    let (here, elsewhere) = (serve(&proxy.url).await, serve(&url).await);
    let body = r#"{"name": "Ada", "email": "ada@example.com"}"#;
    let registered =
        here.routes().oneshot(Request::post("/api/user").body(body.to_owned()).unwrap());
    let answer = registered.await.unwrap().into_body();
    let answer: Value =
        serde_json::from_slice(&to_bytes(answer, usize::MAX).await.unwrap()).unwrap();
    let token = answer["token"].as_str().unwrap();
    assert!(here.caller(token).await.is_ok());

    proxy.cut.send_replace(true);
    let is_away = || here.store().changes().connectivity() == Connectivity::Unreachable;
    until("the database is unreachable", is_away).await;
    let kid = elsewhere.keys().list().await[0].id.to_string();
    assert!(elsewhere.keys().revoke(&kid, NOW).await.unwrap());
    assert!(here.caller(token).await.is_ok(), "cached callers pass during an outage");
    let requester = Requester::new(ClientInfo::new([127, 0, 0, 1].into(), ""));
    assert!(here.feed().page_since(None, &requester).await.is_err(), "revocations are unknown");
    proxy.cut.send_replace(false);
    let began = Instant::now();
    while !matches!(here.caller(token).await, Err(AuthError::Unauthenticated(_))) {
        assert!(began.elapsed() < PATIENCE, "still admitted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(here.keys().list().await[0].id, elsewhere.keys().list().await[0].id);
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_its_standby_is_not_acknowledged() {
    let Some(server) = own_postgres() else { return };
    let url = server.fresh_database();
    let operator = tokio_postgres_client(&url).await;
    let store = Arc::new(open(&url).await);
    // Every commit now waits for a standby that does not exist.
    let wait = "ALTER SYSTEM SET synchronous_standby_names = 'nobody'";
    operator.batch_execute(wait).await.unwrap();
    operator.batch_execute("SELECT pg_reload_conf()").await.unwrap();

    let cancel =
        "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let mut numbers = 0..;
    let deadline = Instant::now() + Duration::from_secs(60);
    // Commits do not wait until the server has reloaded its settings.
    let (ada, adding) = 'waits: loop {
        assert!(Instant::now() < deadline, "no commit waits for a standby");
        let ada = user(numbers.next().unwrap());
        let (writing, added) = (Arc::clone(&store), ada.clone());
        let adding = tokio::spawn(async move { writing.add_user(&added, &Effects::NONE).await });
        while !adding.is_finished() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if operator.query_one(cancel, &[]).await.unwrap().get::<_, i64>(0) > 0 {
                break 'waits (ada, adding);
            }
        }
        let outcome = adding.await.unwrap();
        assert!(matches!(outcome, Ok(()) | Err(Error::Unavailable(_))), "{outcome:?}");
    };
    // PostgreSQL answered that commit with success and a warning.
    let outcome = adding.await.unwrap();
    operator.batch_execute("ALTER SYSTEM RESET synchronous_standby_names").await.unwrap();
    operator.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "the commit was not replicated");
    // The write was not acknowledged, but it was stored: the address is taken.
    let mut again = ada.clone();
    again.id = doorward::UserId::random();
    assert!(matches!(store.add_user(&again, &Effects::NONE).await, Err(Error::EmailTaken)));
    assert_eq!(store.user_by_id(ada.id).await.unwrap(), Some(ada));
}

async fn tokio_postgres_client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
