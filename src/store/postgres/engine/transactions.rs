//! Runs writes: each is one transaction, retried after conflicts, in a task that runs to completion even if the caller
//! disconnects.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deadpool::managed::Object;
use futures_util::future::{join_all, join4};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Error as PgError;
use uuid::Uuid;

use super::{
    CALL_TIMEOUT, MAX_ATTEMPTS, PostgresEngine, jitter,
    lost_commits::{CommitOutcome, user_in},
};
use crate::store::{
    Error,
    postgres::{
        connection::{Connection, Connector, describe},
        error_class::ErrorClass,
        statements as sql,
    },
    user_record::user_record_from_row,
    write::{AnyResult, Prepare, RowCounts, Transaction, Verdict, Write, WriteScope},
};

/// How one attempt at a write ended.
enum Attempt {
    Done(AnyResult),
    /// Nothing was written; a retry may succeed.
    Retry(String),
    /// The commit was sent and its outcome is unknown.
    CommitLost(AnyResult),
    Failed(Error),
}

impl PostgresEngine {
    /// Runs a write in one transaction and returns after its commit is durable.
    pub(in crate::store::postgres) async fn write(
        self: &Arc<Self>,
        transaction: Transaction,
    ) -> Result<AnyResult, Error> {
        let began = Instant::now();
        let Transaction { scope, revokes_access, prepare } = transaction;
        let outcome = match scope {
            WriteScope::Everybody => self.write_everybody(&*prepare).await,
            scope => self.write_in_task(scope, revokes_access, prepare).await,
        };
        self.counts.add_write(began.into_std(), &outcome);
        outcome
    }

    /// Changes all users, on a connection of its own, because it takes longer than a write may if there are many users.
    async fn write_everybody(&self, prepare: &Prepare) -> Result<AnyResult, Error> {
        for _ in 0..MAX_ATTEMPTS {
            let change_id = Uuid::new_v4();
            let db = self.connector().connect().await?;
            let statements = run_statements(&db, change_id, WriteScope::Everybody, prepare).await;
            let Uncommitted { result, .. } = match statements {
                Ok(uncommitted) => uncommitted,
                Err(StatementError::Store(error)) => return Err(error),
                Err(StatementError::Database(error)) => match ErrorClass::of(&error) {
                    ErrorClass::Conflict => continue,
                    _ => return Err(error.into()),
                },
            };
            db.clear_warnings();
            let is_lost = match db.batch(sql::COMMIT).await {
                Ok(()) => db.was_warned(),
                Err(error) => match ErrorClass::of(&error) {
                    ErrorClass::Connection => true,
                    ErrorClass::Conflict => continue,
                    _ => return Err(error.into()),
                },
            };
            if is_lost && !self.has_committed(change_id).await? {
                return Err(Error::Unavailable("the commit failed: nothing was changed".into()));
            }
            self.mark(WriteScope::Everybody);
            return Ok(result);
        }
        let cause = "other transactions keep changing the same rows: try again";
        Err(Error::Unavailable(cause.into()))
    }

    async fn write_in_task(
        self: &Arc<Self>,
        scope: WriteScope,
        revokes_access: bool,
        prepare: Box<Prepare>,
    ) -> Result<AnyResult, Error> {
        self.availability.check()?;
        let abandoned = Arc::new(AtomicBool::new(false));
        // In a separate task, so that a caller who disconnects leaves no transaction open.
        let (engine, is_abandoned) = (Arc::clone(self), Arc::clone(&abandoned));
        let task = tokio::spawn(async move {
            engine.write_with_retries(scope, &*prepare, &is_abandoned).await
        });
        match self.while_reachable(task).await {
            Ok(outcome) => outcome.unwrap_or_else(|error| Err(Error::Failed(error.into()))),
            Err(error) => {
                abandoned.store(true, Ordering::Release);
                // Whoever signs in while the database hangs stays known to guards. If the write is committed after all, its
                // row in `changes` is read as one of another instance.
                if revokes_access {
                    self.mark(scope);
                }
                Err(error)
            }
        }
    }

    async fn write_with_retries(
        &self,
        scope: WriteScope,
        prepare: &Prepare,
        abandoned: &AtomicBool,
    ) -> Result<AnyResult, Error> {
        const COMMIT_FAILED: &str = "the commit failed";
        let mut attempts = 0;
        loop {
            attempts += 1;
            let change_id = Uuid::new_v4();
            let cause = match self.try_to_write(change_id, scope, prepare, abandoned).await {
                Attempt::Done(result) => {
                    self.mark(scope);
                    return Ok(result);
                }
                Attempt::Failed(error) => return Err(error),
                Attempt::Retry(cause) => cause,
                // This has no row in `changes` to check, and can run twice.
                Attempt::CommitLost(_) if scope == WriteScope::Uncached => COMMIT_FAILED.into(),
                Attempt::CommitLost(result) => match self.commit_outcome(change_id, scope).await {
                    CommitOutcome::Committed => return Ok(result),
                    CommitOutcome::NotCommitted => COMMIT_FAILED.into(),
                    CommitOutcome::Unknown => {
                        let cause = "the outcome of the commit is unknown";
                        return Err(Error::Unavailable(cause.into()));
                    }
                },
            };
            if attempts == MAX_ATTEMPTS || abandoned.load(Ordering::Acquire) {
                return Err(Error::Unavailable(cause));
            }
            sleep(jitter(Duration::from_millis(20 << attempts.min(4)))).await;
        }
    }

    async fn try_to_write(
        &self,
        change_id: Uuid,
        scope: WriteScope,
        prepare: &Prepare,
        abandoned: &AtomicBool,
    ) -> Attempt {
        let db = match self.pool.get().await {
            Ok(db) => db,
            Err(error) => return Attempt::Retry(error.to_string()),
        };
        let started = Instant::now();
        let statements = run_statements(&db, change_id, scope, prepare);
        let Uncommitted { result, is_empty } = match timeout(CALL_TIMEOUT, statements).await {
            Ok(Ok(uncommitted)) => uncommitted,
            Ok(Err(error)) => return attempt_after(db, error).await,
            Err(_) => {
                self.roll_back_in_background(db);
                return Attempt::Retry("the statements timed out".into());
            }
        };
        if is_empty {
            roll_back(db).await;
            return Attempt::Done(result);
        }
        if abandoned.load(Ordering::Acquire) {
            roll_back(db).await;
            return Attempt::Retry("the caller has stopped waiting".into());
        }
        db.clear_warnings();
        // Without a time limit while the database answers: the commit may wait for a standby. A cancelled commit would
        // report success without being replicated, and a dropped connection would leave a waiting backend behind.
        let committed = tokio::select! {
            committed = db.batch(sql::COMMIT) => Some(committed),
            () = self.availability.becomes_unreachable() => None,
        };
        match committed {
            Some(Ok(())) if db.was_warned() || started.elapsed() > CALL_TIMEOUT => {
                Attempt::CommitLost(result)
            }
            Some(Ok(())) => {
                self.own_changes().insert(change_id);
                Attempt::Done(result)
            }
            Some(Err(error)) if ErrorClass::of(&error) == ErrorClass::Connection => {
                drop(Object::take(db));
                Attempt::CommitLost(result)
            }
            Some(Err(error)) => attempt_after(db, error.into()).await,
            None => {
                drop(Object::take(db));
                Attempt::CommitLost(result)
            }
        }
    }

    /// Waits in the background for a statement that no caller waits for. The connection keeps its place in the pool until
    /// the server has finished, so that such statements do not pile up there.
    fn roll_back_in_background(&self, db: Object<Connector>) {
        let mut unreachable = self.availability.subscribe();
        tokio::spawn(async move {
            let is_clean = tokio::select! {
                rolled_back = db.batch(sql::ROLLBACK) => rolled_back.is_ok(),
                _ = unreachable.wait_for(|unreachable| *unreachable) => false,
            };
            if !is_clean {
                drop(Object::take(db));
            }
        });
    }
}

/// A transaction that has run all statements but its commit.
struct Uncommitted {
    result: AnyResult,
    /// Whether it is rolled back, because it changes nothing.
    is_empty: bool,
}

/// Why the statements of a transaction failed.
enum StatementError {
    Database(PgError),
    Store(Error),
}

impl From<PgError> for StatementError {
    fn from(error: PgError) -> Self {
        Self::Database(error)
    }
}

/// Everything but the commit, in two round trips: the change is inserted and the rows are locked, then the statements run.
async fn run_statements(
    db: &Connection,
    change_id: Uuid,
    scope: WriteScope,
    prepare: &Prepare,
) -> Result<Uncommitted, StatementError> {
    let begin = db.batch(sql::BEGIN);
    let insert_change = async {
        if scope == WriteScope::Uncached {
            return Ok(0);
        }
        db.execute(sql::ADD_CHANGE, &[change_id.into(), user_in(scope).into()]).await
    };
    let lock = async {
        match scope {
            WriteScope::User(id) | WriteScope::OneTime(id, _) => {
                db.query(sql::LOCK_USER, &[id.into()]).await
            }
            // Whoever signs in locks the user first. So their session is ended below, or begins after the commit.
            WriteScope::Everybody => db.query(sql::LOCK_USERS, &[]).await,
            WriteScope::SigningKeys => db.query(sql::LOCK_KEYS, &[]).await,
            WriteScope::NewUser(_) | WriteScope::Uncached => Ok(Vec::new()),
        }
    };
    // A statement of its own after the lock, so that it sees what the last holder of the lock has committed.
    let lock_one_time = async {
        let WriteScope::OneTime(user_id, id) = scope else { return Ok(Vec::new()) };
        db.query(sql::LOCK_ONE_TIME, &[id.into(), user_id.into()]).await
    };
    let (begun, inserted, locked, one_time) =
        join4(begin, insert_change, lock, lock_one_time).await;
    begun?;
    inserted?;
    let (locked, one_time) = (locked?, one_time?);
    let user = match scope {
        WriteScope::OneTime(..) if one_time.is_empty() => Ok(None),
        WriteScope::User(_) | WriteScope::OneTime(..) => {
            locked.first().map(user_record_from_row).transpose()
        }
        WriteScope::NewUser(_)
        | WriteScope::Everybody
        | WriteScope::SigningKeys
        | WriteScope::Uncached => Ok(None),
    };
    let user = user.map_err(StatementError::Store)?;
    let Write { statements, verdict, .. } = prepare(change_id, user.as_ref());
    let counts = join_all(statements.iter().map(|(sql, values)| db.execute(sql, values))).await;
    let counts = RowCounts::new(counts.into_iter().collect::<Result<_, _>>()?);
    match verdict(&counts) {
        Verdict::Commit(result) => Ok(Uncommitted { result, is_empty: statements.is_empty() }),
        Verdict::CommitAfter(late, result) => {
            let written = join_all(late.iter().map(|(sql, values)| db.execute(sql, values))).await;
            written.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok(Uncommitted { result, is_empty: false })
        }
        Verdict::RollBack(result) => Ok(Uncommitted { result, is_empty: true }),
        Verdict::Fail(error) => Err(StatementError::Store(error)),
    }
}

/// The outcome of an attempt after an error before the commit, or an error that the server returned for the commit.
async fn attempt_after(db: Object<Connector>, error: StatementError) -> Attempt {
    let error = match error {
        StatementError::Store(error) => {
            roll_back(db).await;
            return Attempt::Failed(error);
        }
        StatementError::Database(error) => error,
    };
    match ErrorClass::of(&error) {
        ErrorClass::Connection => {
            drop(Object::take(db));
            Attempt::Retry(describe(&error))
        }
        ErrorClass::Conflict => {
            roll_back(db).await;
            Attempt::Retry(describe(&error))
        }
        _ => {
            roll_back(db).await;
            Attempt::Failed(error.into())
        }
    }
}

/// Returns the connection to the pool, unless the rollback fails.
async fn roll_back(db: Object<Connector>) {
    const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(1);
    if !matches!(timeout(ROLLBACK_TIMEOUT, db.batch(sql::ROLLBACK)).await, Ok(Ok(()))) {
        drop(Object::take(db));
    }
}
