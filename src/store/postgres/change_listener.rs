//! Polls for changes by other instances. Polling works on every engine and behind every pooler, and also shows whether the
//! database answers.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Weak},
    time::{Duration, Instant, SystemTime},
};

use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{connection::Connection, engine::PostgresEngine, statements as sql};
use crate::{
    clock::Timestamp,
    session::TokenId,
    store::{Error, ended_tokens::ENDED_TOKENS, row::Row},
    user::UserId,
};

/// How often the database is polled.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a poll may take before the database counts as unreachable.
const POLL_TIMEOUT: Duration = Duration::from_millis(1250);
/// A change has the time at which its transaction began, and becomes visible when it is committed: usually within this
/// time.
const USUAL_DELAY: Duration = Duration::from_secs(10);
/// How late a change may become visible if its commit waits for a standby, or the clock of a new server is behind. Less than
/// the ten minutes after which changes are deleted.
const MAX_DELAY: Duration = Duration::from_secs(9 * 60);
/// How often changes as old as [`MAX_DELAY`] are read again.
const LOOK_BACK_INTERVAL: Duration = Duration::from_secs(60);

/// Within this time every instance has read a change that another has acknowledged.
pub(super) const PROPAGATION: Duration = Duration::from_secs(1);

/// Polls the table `changes`.
struct ChangeListener {
    connection: Option<Connection>,
    /// When it last polled, by the clock of the database.
    polled_at: SystemTime,
    /// When it last read changes as old as [`MAX_DELAY`].
    looked_back_at: Option<Instant>,
    /// Changes that were read, each with the time of the poll.
    seen: HashMap<Uuid, SystemTime>,
    /// Changes of this instance that may not have been visible to the last poll.
    own_changes: HashSet<Uuid>,
}

/// Polls for changes since this time until the engine is dropped.
pub(super) async fn listen(engine: Weak<PostgresEngine>, since: SystemTime) {
    let mut listener = ChangeListener {
        connection: None,
        polled_at: since,
        looked_back_at: None,
        seen: HashMap::new(),
        own_changes: HashSet::new(),
    };
    while let Some(engine) = engine.upgrade() {
        listener.poll_with_retry(&engine).await;
        drop(engine);
        sleep(INTERVAL).await;
    }
}

/// The time by the clock of the database.
pub(super) async fn database_time(db: &Connection) -> Result<SystemTime, Error> {
    let rows = db.query(sql::TIME, &[]).await?;
    let row = rows.first().ok_or_else(|| Error::Failed("the time query returned no row".into()))?;
    row.get(0)
}

/// Reads the columns of an ended token, which start at `first`.
fn ending_from_row(row: &Row, first: usize) -> Result<(TokenId, Timestamp), Error> {
    Ok((row.get(first)?, row.get(first + 1)?))
}

/// Adds all ended tokens to the log, which may then hold some of them twice.
pub(super) async fn load_endings(engine: &PostgresEngine, db: &Connection) -> Result<(), Error> {
    let rows = db.query(ENDED_TOKENS, &[]).await?;
    let ended: Vec<_> = rows.iter().map(|row| ending_from_row(row, 0)).collect::<Result<_, _>>()?;
    engine.endings().add(ended);
    Ok(())
}

impl ChangeListener {
    async fn poll_with_retry(&mut self, engine: &Arc<PostgresEngine>) {
        let mut outcome = timeout(POLL_TIMEOUT, self.poll(engine)).await;
        // A broken connection does not mean that the database is unreachable.
        if matches!(outcome, Ok(Err(_))) && self.connection.take().is_some() {
            outcome = timeout(POLL_TIMEOUT, self.poll(engine)).await;
        }
        match outcome {
            Ok(Ok(())) => engine.set_reachable(),
            Ok(Err(error)) => {
                self.connection = None;
                engine.set_unreachable(&error);
            }
            Err(_) => {
                self.connection = None;
                engine.set_unreachable(&"the poll timed out");
            }
        }
    }

    async fn poll(&mut self, engine: &Arc<PostgresEngine>) -> Result<(), Error> {
        let db = match self.connection.take().filter(|db| engine.connector().is_usable(db)) {
            Some(db) => db,
            None => {
                // The new connection may lead to another server, with another clock.
                self.looked_back_at = None;
                engine.connector().connect().await?
            }
        };
        let db = self.connection.insert(db);
        let now = database_time(db).await?;
        let since = self.polled_at;
        let looks_back = self.looked_back_at.is_none_or(|at| at.elapsed() > LOOK_BACK_INTERVAL);
        let delay = if looks_back { MAX_DELAY } else { USUAL_DELAY };
        let rows = db.query(sql::CHANGES_SINCE, &[(since - delay).into()]).await?;
        // Own changes from before the query are in its result, later ones in this result or the next.
        let (earlier, latest) = (mem::take(&mut self.own_changes), engine.take_own_changes());
        let is_own = |id: &Uuid| earlier.contains(id) || latest.contains(id);
        // At least one row for each change, and one for each token that it ended.
        let mut ended = Vec::new();
        for row in &rows {
            let id: Uuid = row.get(0)?;
            if *self.seen.entry(id).or_insert(now) != now {
                continue;
            }
            match row.get::<Option<UserId>>(1)? {
                _ if is_own(&id) => {}
                Some(user) => engine.changes().mark(user),
                // The keys have changed, or a restore has replaced everything.
                None => {
                    engine.changes().mark_all();
                    engine.keys_changed().send_replace(());
                }
            }
            if row.get::<Option<TokenId>>(2)?.is_some() {
                ended.push(ending_from_row(row, 2)?);
            }
        }
        engine.endings().add(ended);
        self.own_changes = latest;
        // Changes may have been deleted before they were read.
        if now < since || now.duration_since(since).is_ok_and(|gap| gap > MAX_DELAY / 2) {
            engine.changes().mark_all();
            engine.keys_changed().send_replace(());
            tokio::spawn(reload_endings(Arc::downgrade(engine)));
        }
        if looks_back {
            self.looked_back_at = Some(Instant::now());
        }
        self.seen.retain(|_, at| *at + 2 * MAX_DELAY > now && *at <= now);
        self.polled_at = now;
        Ok(())
    }
}

/// Loads all ended tokens, and retries until it succeeds.
async fn reload_endings(engine: Weak<PostgresEngine>) {
    while let Some(engine) = engine.upgrade() {
        let load = async {
            let db = engine.connector().connect().await?;
            load_endings(&engine, &db).await
        };
        match load.await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "cannot read the ended tokens: retrying"),
        }
        drop(engine);
        sleep(10 * INTERVAL).await;
    }
}
