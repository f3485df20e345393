//! How statements are run: reads share a few connections, each write is one transaction on a connection of its own
//! that is seen through to its end, whoever still waits for it.

use std::{
    collections::HashSet,
    fmt,
    hash::{BuildHasher, RandomState},
    io, mem,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool::{
    Runtime,
    managed::{Object, Pool},
};
use futures_util::future::{join_all, join3};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep, timeout},
};
use tokio_postgres::{Error as PgError, Row};
use uuid::Uuid;

use super::{
    Locked, column,
    connection::{Connection, Connector, Value, describe},
    line::Line,
    statements as sql,
    trouble::Trouble,
    url::PostgresUrl,
};
use crate::{
    store::{Changes, Endings, Error},
    user::UserId,
};

/// Connections that reads share.
const LINES: usize = 2;
/// How long anybody waits for a read or a write while the database answers at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most of them fit into the patience of whoever waits.
const TRIES: usize = 10;

/// The connections to one database.
pub(super) struct Engine {
    pool: Pool<Connector>,
    lines: [Line; LINES],
    turn: AtomicUsize,
    named_statements: bool,
    changes: Changes,
    /// Changes that were made and marked here, since they were last taken.
    own: Mutex<HashSet<Uuid>>,
    endings: Endings,
    keys_changed: watch::Sender<()>,
    away: watch::Sender<bool>,
    settling: Semaphore,
}

/// How the database is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// A file with the password, read for each connection.
    pub password_file: Option<PathBuf>,
    /// Connections for writing at most.
    pub connections: usize,
    /// Whether reads name their statements, which saves the server work and does not go through every pooler.
    pub named_statements: bool,
    /// For how long what is known of callers is relied upon while the database is away.
    pub outage_grace: Duration,
}

/// What a write is about, and so who has to hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A user who is being made.
    NewUser(UserId),
    /// A user, whose row is locked first.
    User(UserId),
    /// The keys, whose rows are locked first.
    Keys,
    /// Nothing that anybody has to hear of.
    Housekeeping,
}

impl About {
    fn user(self) -> Option<UserId> {
        match self {
            Self::NewUser(id) | Self::User(id) => Some(id),
            Self::Keys | Self::Housekeeping => None,
        }
    }
}

/// What a write does once it has seen what it is about: statements, and what is to be said of it.
pub(super) struct Plan<T> {
    statements: Vec<(&'static str, Vec<Value>)>,
    outcome: Outcome<T>,
}

/// What is to be said, from the number of rows that each statement touched.
type Outcome<T> = Box<dyn FnOnce(&[u64]) -> T + Send>;

impl<T: Send + 'static> Plan<T> {
    /// Nothing is to be done.
    pub(super) fn nothing(outcome: T) -> Self {
        Self::new(outcome)
    }

    /// Something is to be done, with an outcome that is known before.
    pub(super) fn new(outcome: T) -> Self {
        Self { statements: Vec::new(), outcome: Box::new(|_| outcome) }
    }

    /// Something is to be done whose outcome shows in the number of rows that each statement touched.
    pub(super) fn counted(outcome: impl FnOnce(&[u64]) -> T + Send + 'static) -> Self {
        Self { statements: Vec::new(), outcome: Box::new(outcome) }
    }

    /// And then this.
    pub(super) fn then(mut self, sql: &'static str, values: impl Into<Vec<Value>>) -> Self {
        self.statements.push((sql, values.into()));
        self
    }
}

/// How one try at a write ended.
enum Attempt<T> {
    Done(T),
    /// It did not come about, and may next time.
    Again(String),
    /// It was to be committed, and nobody knows whether it was.
    Unsure(T),
    Failed(Error),
}

impl Engine {
    pub(super) fn new(url: &PostgresUrl, options: PostgresOptions) -> io::Result<Self> {
        let connector = Connector::new(url, options.password_file)?;
        let pool = Pool::builder(connector)
            .max_size(options.connections)
            // Whoever waits longer has been told so; nobody queues up behind commits that wait for a standby.
            .wait_timeout(Some(PATIENCE))
            .runtime(Runtime::Tokio1)
            .build();
        Ok(Self {
            pool: pool.map_err(io::Error::other)?,
            lines: Default::default(),
            turn: AtomicUsize::new(0),
            named_statements: options.named_statements,
            changes: Changes::shared(options.outage_grace),
            own: Mutex::default(),
            endings: Endings::new(),
            keys_changed: watch::Sender::new(()),
            away: watch::Sender::new(false),
            settling: Semaphore::new(2),
        })
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(super) fn endings(&self) -> &Endings {
        &self.endings
    }

    pub(super) fn keys_changed(&self) -> &watch::Sender<()> {
        &self.keys_changed
    }

    pub(super) fn connector(&self) -> &Connector {
        self.pool.manager()
    }

    /// Makes the shared connections, so that a start does not succeed by the luck of one of them.
    pub(super) async fn connect_lines(&self) -> Result<(), Error> {
        for line in &self.lines {
            line.connection(self.connector()).await?;
        }
        Ok(())
    }

    /// Reads on one of the shared connections.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>, Error> {
        let values = values.into();
        self.unless_away(self.try_to_read(sql, &values)).await?
    }

    async fn try_to_read(&self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>, Error> {
        /// Every read finds its rows by an index.
        const LONG: Duration = Duration::from_secs(2);
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let line = &self.lines[turn % LINES];
        let mut tries = 0;
        loop {
            tries += 1;
            let db = line.connection(self.connector()).await?;
            let rows = async {
                if self.named_statements {
                    db.query_named(sql, values).await
                } else {
                    db.query(sql, values).await
                }
            };
            let error = match timeout(LONG, rows).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) => error,
                Err(_) => {
                    line.hang_up(&db);
                    return Err(Error::Unavailable("no answer".into()));
                }
            };
            match Trouble::of(&error) {
                Trouble::Connection => line.hang_up(&db),
                Trouble::Conflict => {}
                _ => return Err(error.into()),
            }
            if tries == TRIES {
                return Err(Error::Unavailable(describe(&error)));
            }
            sleep(jitter(Duration::from_millis(20))).await;
        }
    }

    /// Reads on a connection of its own what takes as long as it takes.
    pub(super) async fn read_at_length(&self, sql: &'static str) -> Result<Vec<Row>, Error> {
        let db = self.connector().connect().await?;
        Ok(db.query(sql, &[]).await?)
    }

    /// Writes in one transaction, and returns when it is safe. `decide` may be asked more than once.
    pub(super) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        about: About,
        decide: impl Fn(Uuid, Option<&Locked>) -> Plan<T> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        if *self.away.borrow() {
            return Err(away());
        }
        let given_up = Arc::new(AtomicBool::new(false));
        // In a task of its own: a client who leaves does not leave a transaction half done.
        let (engine, noted) = (Arc::clone(self), Arc::clone(&given_up));
        let writing =
            tokio::spawn(async move { engine.carry_through(about, decide, &noted).await });
        match self.unless_away(writing).await {
            Ok(outcome) => outcome.unwrap_or_else(|error| Err(Error::Failed(error.into()))),
            Err(error) => {
                given_up.store(true, Ordering::Release);
                self.mark(about);
                Err(error)
            }
        }
    }

    async fn carry_through<T: Send + 'static>(
        &self,
        about: About,
        decide: impl Fn(Uuid, Option<&Locked>) -> Plan<T> + Send + Sync,
        given_up: &AtomicBool,
    ) -> Result<T, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let change = Uuid::new_v4();
            let cause = match self.try_to_write(change, about, &decide, given_up).await {
                Attempt::Done(outcome) => {
                    self.mark(about);
                    return Ok(outcome);
                }
                Attempt::Failed(error) => return Err(error),
                Attempt::Again(cause) => cause,
                Attempt::Unsure(_) if about == About::Housekeeping => "the commit broke off".into(),
                Attempt::Unsure(outcome) => match self.settle(change, about).await {
                    Settled::Committed => return Ok(outcome),
                    Settled::Void => "the commit broke off".into(),
                    Settled::Unknown => {
                        return Err(Error::Unavailable("nobody knows whether it was done".into()));
                    }
                },
            };
            if tries == TRIES || given_up.load(Ordering::Acquire) {
                return Err(Error::Unavailable(cause));
            }
            sleep(jitter(Duration::from_millis(20 << tries.min(4)))).await;
        }
    }

    async fn try_to_write<T: Send + 'static>(
        &self,
        change: Uuid,
        about: About,
        decide: &(impl Fn(Uuid, Option<&Locked>) -> Plan<T> + Send + Sync),
        given_up: &AtomicBool,
    ) -> Attempt<T> {
        let db = match self.pool.get().await {
            Ok(db) => db,
            Err(error) => return Attempt::Again(error.to_string()),
        };
        let began = Instant::now();
        let written = match timeout(PATIENCE, write_on(&db, change, about, decide)).await {
            Ok(Ok(written)) => written,
            Ok(Err(error)) => return broken_off(db, error).await,
            Err(_) => {
                self.abandon(db);
                return Attempt::Again("no answer".into());
            }
        };
        let outcome = written.outcome;
        if written.statements == 0 {
            roll_back(db).await;
            return Attempt::Done(outcome);
        }
        if given_up.load(Ordering::Acquire) {
            roll_back(db).await;
            return Attempt::Again("too late".into());
        }
        db.clear_warnings();
        // Without a limit while the database answers at all: the commit may have to wait for a standby, cancelling it
        // would make it a commit that is not safe, and leaving it alone would pile up waiting backends.
        let committed = tokio::select! {
            committed = db.batch(sql::COMMIT) => Some(committed),
            () = self.goes_away() => None,
        };
        match committed {
            Some(Ok(())) if db.was_warned() || began.elapsed() > PATIENCE => {
                Attempt::Unsure(outcome)
            }
            Some(Ok(())) => {
                self.own().insert(change);
                Attempt::Done(outcome)
            }
            Some(Err(error)) if Trouble::of(&error) == Trouble::Connection => {
                drop(Object::take(db));
                Attempt::Unsure(outcome)
            }
            Some(Err(error)) => broken_off(db, error.into()).await,
            None => {
                drop(Object::take(db));
                Attempt::Unsure(outcome)
            }
        }
    }

    /// Waits in the background for a statement that nobody waits for any more. Until the server has done with it the
    /// connection keeps its place in the pool, so that such statements do not pile up there.
    fn abandon(&self, db: Object<Connector>) {
        let mut away = self.away.subscribe();
        tokio::spawn(async move {
            let is_clean = tokio::select! {
                undone = db.batch(sql::ROLLBACK) => undone.is_ok(),
                _ = away.wait_for(|away| *away) => false,
            };
            if !is_clean {
                drop(Object::take(db));
            }
        });
    }

    /// Finds out what became of a write whose end is not known, and makes sure that everybody hears of it.
    async fn settle(&self, change: Uuid, about: About) -> Settled {
        const LONG_ENOUGH: Duration = Duration::from_secs(600);
        /// A statement that waits for a commit that waits for a standby.
        const WAIT: Duration = Duration::from_secs(60);
        let began = Instant::now();
        let mut pause = Duration::from_millis(50);
        while began.elapsed() < LONG_ENOUGH {
            {
                let _turn = self.settling.acquire().await;
                let settled = timeout(WAIT, self.try_to_settle(change, about)).await;
                if let Ok(Ok(settled)) = settled {
                    self.mark(about);
                    return settled;
                }
            }
            sleep(jitter(pause)).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        Settled::Unknown
    }

    async fn try_to_settle(&self, change: Uuid, about: About) -> Result<Settled, Error> {
        let db = self.connector().connect().await?;
        let user = about.user().map(UserId::uuid);
        db.clear_warnings();
        let rows = db.query(sql::SETTLE_CHANGE, &[change.into(), user.into()]).await?;
        if db.was_warned() {
            return Err(Error::Unavailable("not on a standby".into()));
        }
        let row = rows.first().ok_or_else(|| Error::Failed("no answer".into()))?;
        Ok(if column(row, 0)? { Settled::Void } else { Settled::Committed })
    }

    /// Changes that need not be marked when they are heard of. Only who listens takes them.
    pub(super) fn take_own(&self) -> HashSet<Uuid> {
        mem::take(&mut self.own())
    }

    fn own(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self, about: About) {
        match about {
            About::NewUser(_) | About::Housekeeping => {}
            About::User(id) => self.changes.mark(id),
            About::Keys => self.keys_changed.send_replace(()),
        }
    }

    /// Waits for the work, but neither for too long nor while the database is away.
    pub(super) async fn unless_away<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        if *self.away.borrow() {
            return Err(away());
        }
        tokio::select! {
            done = work => Ok(done),
            () = self.goes_away() => Err(away()),
            () = sleep(PATIENCE) => Err(Error::Unavailable("it takes too long".into())),
        }
    }

    async fn goes_away(&self) {
        let mut away = self.away.subscribe();
        // The sender is ours, so that this ends only when the database is away.
        let _ = away.wait_for(|away| *away).await;
    }

    /// The database has answered.
    pub(super) fn answers(&self) {
        self.changes.heard();
        if self.away.send_if_modified(|away| mem::replace(away, false)) {
            tracing::info!("the database is back");
        }
    }

    /// The database does not answer.
    pub(super) fn does_not_answer(&self, cause: &impl fmt::Display) {
        self.changes.heard_nothing();
        if self.away.send_if_modified(|away| !mem::replace(away, true)) {
            tracing::error!(%cause, "the database is away; known callers still pass their guards");
            // Whatever comes back may be another server.
            self.connector().begin_anew();
            self.lines.iter().for_each(Line::forget);
        }
    }
}

fn away() -> Error {
    Error::Unavailable("it is away".into())
}

enum Settled {
    Committed,
    Void,
    Unknown,
}

/// What was done before the commit.
struct Written<T> {
    statements: usize,
    outcome: T,
}

/// Why nothing was done.
enum Broken {
    Database(PgError),
    Ours(Error),
}

impl From<PgError> for Broken {
    fn from(error: PgError) -> Self {
        Self::Database(error)
    }
}

/// Everything but the commit, in two flights: what it is about is announced and locked, then it is done.
async fn write_on<T: Send + 'static>(
    db: &Connection,
    change: Uuid,
    about: About,
    decide: &(impl Fn(Uuid, Option<&Locked>) -> Plan<T> + Send + Sync),
) -> Result<Written<T>, Broken> {
    let begin = db.batch(sql::BEGIN);
    let announce = async {
        if about == About::Housekeeping {
            return Ok(0);
        }
        let user = about.user().map(UserId::uuid);
        db.execute(sql::ADD_CHANGE, &[change.into(), user.into()]).await
    };
    let lock = async {
        match about {
            About::User(id) => db.query(sql::LOCK_USER, &[id.into()]).await,
            About::Keys => db.query(sql::LOCK_KEYS, &[]).await,
            About::NewUser(_) | About::Housekeeping => Ok(Vec::new()),
        }
    };
    let (begun, announced, rows) = join3(begin, announce, lock).await;
    begun?;
    announced?;
    let rows = rows?;
    let locked = match about {
        About::User(_) => rows.first().map(Locked::read).transpose().map_err(Broken::Ours)?,
        _ => None,
    };
    let Plan { statements, outcome } = decide(change, locked.as_ref());
    let done = join_all(statements.iter().map(|(sql, values)| db.execute(sql, values))).await;
    let counts = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Written { statements: statements.len(), outcome: outcome(&counts) })
}

/// After an error before the commit, or one that the server gave instead of it.
async fn broken_off<T>(db: Object<Connector>, broken: Broken) -> Attempt<T> {
    let error = match broken {
        Broken::Ours(error) => {
            roll_back(db).await;
            return Attempt::Failed(error);
        }
        Broken::Database(error) => error,
    };
    match Trouble::of(&error) {
        Trouble::Connection => {
            drop(Object::take(db));
            Attempt::Again(describe(&error))
        }
        Trouble::Conflict => {
            roll_back(db).await;
            Attempt::Again(describe(&error))
        }
        _ => {
            roll_back(db).await;
            Attempt::Failed(error.into())
        }
    }
}

/// Gives the connection back as it was, or not at all.
async fn roll_back(db: Object<Connector>) {
    const LONG: Duration = Duration::from_secs(1);
    if !matches!(timeout(LONG, db.batch(sql::ROLLBACK)).await, Ok(Ok(()))) {
        drop(Object::take(db));
    }
}

/// Up to this long, so that those who collided do not meet again.
pub(super) fn jitter(most: Duration) -> Duration {
    let random = RandomState::new().hash_one(0);
    most.mul_f64(random as f64 / u64::MAX as f64)
}
