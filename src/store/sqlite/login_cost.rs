//! What a login costs: how often SQLite parses a statement, and the steps of its virtual machine. Other work on the machine changes
//! neither.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rusqlite::{Connection, hooks::Authorization};

use super::{
    connections::{Database, MemoryDatabase, Place},
    engine::SqliteEngine,
};
use crate::{
    clock::Timestamp,
    event::{Event, EventKind},
    network::{ClientInfo, Requester},
    session::Session,
    store::{Effects, MAX_SESSIONS, OldSchema, SignIn, SignInWritten, Store},
    user::{Email, Name, User},
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// A database with one connection, which reads and writes.
struct Counted {
    store: Store,
    user: User,
    client: ClientInfo,
    /// What SQLite has asked while it parsed statements: at least one thing for each.
    asked: Arc<AtomicUsize>,
    steps: Arc<AtomicUsize>,
}

impl Counted {
    async fn open() -> Self {
        let database = Arc::new(Database::new(Place::Memory(MemoryDatabase::new().unwrap())));
        let mut opened = database.open_first(None, OldSchema::MIGRATE).unwrap();
        let (asked, steps) = (Arc::default(), Arc::default());
        count(&mut opened.db, &asked, &steps);
        let store = Store::over(Box::new(SqliteEngine::over(database, opened, None)));
        let (name, email) = ("Ada".to_owned(), "ada@example.com".to_owned());
        let user = User::new(Name::parse(name).unwrap(), Email::parse(email).unwrap(), None, NOW);
        store.add_user(&user, &Effects::NONE).await.unwrap();
        let client = ClientInfo::new([192, 0, 2, 1].into(), "an app");
        Self { store, user, client, asked, steps }
    }

    /// The work of a login in the database. Returns what was asked meanwhile, and the steps.
    async fn log_in(&self) -> (usize, usize) {
        let [asked, steps] = [&self.asked, &self.steps].map(|count| count.load(Ordering::Relaxed));
        let (store, key) = (&self.store, self.user.email.key());
        store.known_networks(&key).await.unwrap();
        let user = store.user_by_email(&key).await.unwrap().unwrap();
        store.newest_user_agents(user.id, NOW, 8).await.unwrap();
        let session = Session::new(user.id, self.client.clone(), NOW, DAY);
        let kind = EventKind::SignedIn {
            session: session.id,
            methods: session.methods.clone(),
            login: None,
        };
        let requester = Requester::new(self.client.clone());
        let effects = Effects::from(Event::by_user(user.id, &requester, NOW, kind));
        let written = store.sign_in(SignIn::new(&user, session), &effects).await.unwrap();
        assert!(matches!(written, SignInWritten::Begun(_)));
        (self.asked.load(Ordering::Relaxed) - asked, self.steps.load(Ordering::Relaxed) - steps)
    }

    /// What a server does in the background.
    async fn keep_up(&self) {
        self.store.number_events().await.unwrap();
        self.store.delete_expired(NOW, 100).await.unwrap();
        self.store.check().await.unwrap();
    }
}

fn count(db: &mut Connection, asked: &Arc<AtomicUsize>, steps: &Arc<AtomicUsize>) {
    let (asked, steps) = (Arc::clone(asked), Arc::clone(steps));
    db.authorizer(Some(move |_: rusqlite::hooks::AuthContext<'_>| {
        asked.fetch_add(1, Ordering::Relaxed);
        Authorization::Allow
    }))
    .unwrap();
    let step = move || {
        steps.fetch_add(1, Ordering::Relaxed);
        false
    };
    db.progress_handler(1, Some(step)).unwrap();
}

#[tokio::test]
async fn a_warm_login_parses_no_statement() {
    let counted = Counted::open().await;
    assert!(counted.log_in().await.0 > 0, "the first one parses its statements");
    counted.keep_up().await;
    for login in 0..3 {
        assert_eq!(counted.log_in().await.0, 0, "login {login}");
        counted.keep_up().await;
    }
}

/// The index of sessions is read up to the oldest that stays. What was ended by sorting took 50 steps for each session.
#[tokio::test]
async fn a_login_takes_few_more_steps_for_a_user_with_all_sessions_that_one_can_have() {
    const FOR_EACH_SESSION: usize = 8;
    let counted = Counted::open().await;
    counted.log_in().await;
    let with_one = counted.log_in().await.1;
    for _ in 2..MAX_SESSIONS - 1 {
        counted.log_in().await;
    }
    let with_most = counted.log_in().await.1;
    let more = with_most - with_one;
    assert!(more <= FOR_EACH_SESSION * MAX_SESSIONS, "{with_one} steps, then {more} more");
    // The oldest session ends from now on.
    counted.log_in().await;
    let (first, second) = (counted.log_in().await.1, counted.log_in().await.1);
    assert!(first < with_most + 400 && second < with_most + 400, "{with_most}, {first}, {second}");
    let left = counted.store.sessions_by_user(counted.user.id, NOW).await.unwrap();
    assert_eq!(left.len(), MAX_SESSIONS);
}
