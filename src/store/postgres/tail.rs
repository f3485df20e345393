//! Hears what other instances have changed, by asking over and over: that works on every engine and behind every
//! pooler, and tells at the same time whether the database is there.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Weak},
    time::{Duration, Instant, SystemTime},
};

use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{column, connection::Connection, ending, engine::Engine, statements as sql};
use crate::{store::Error, user::UserId};

/// How often the database is asked.
const EVERY: Duration = Duration::from_millis(250);
/// How long it may take to answer before it counts as away.
const PATIENCE: Duration = Duration::from_millis(1250);
/// A change bears the time at which its transaction began, and shows when it is committed: usually it is no later than
/// this.
const LATE: Duration = Duration::from_secs(10);
/// A commit that waited for a standby may be later still, and a new server's clock behind the old one's. Changes are
/// swept after ten minutes; whoever has not listened for this long may have missed some.
const VERY_LATE: Duration = Duration::from_secs(9 * 60);
/// How often that is looked for.
const LOOK_BACK_EVERY: Duration = Duration::from_secs(60);

/// Within this time every instance obeys a change that another has acknowledged.
pub(super) const REACHES_ALL_WITHIN: Duration = Duration::from_secs(1);

/// What has been heard so far.
struct Ear {
    connection: Option<Connection>,
    /// By the clock of the database.
    listened_at: SystemTime,
    /// When it was last listened to for very late changes.
    looked_back: Option<Instant>,
    heard: HashMap<Uuid, SystemTime>,
    /// Changes of our own that may not have shown yet when it was last listened.
    own: HashSet<Uuid>,
}

/// Listens for as long as the engine is in use, to what has changed since.
pub(super) async fn listen(engine: Weak<Engine>, since: SystemTime) {
    let mut ear = Ear {
        connection: None,
        listened_at: since,
        looked_back: None,
        heard: HashMap::new(),
        own: HashSet::new(),
    };
    while let Some(engine) = engine.upgrade() {
        ear.listen(&engine).await;
        drop(engine);
        sleep(EVERY).await;
    }
}

/// The time by the clock of the database.
pub(super) async fn time(db: &Connection) -> Result<SystemTime, Error> {
    let rows = db.query(sql::TIME, &[]).await?;
    column(rows.first().ok_or_else(|| Error::Failed("no time".into()))?, 0)
}

/// Everything that has ended, also what has been heard of already: that does no harm.
pub(super) async fn hear_all_endings(engine: &Engine, db: &Connection) -> Result<(), Error> {
    let rows = db.query(sql::ENDINGS, &[]).await?;
    let ended: Vec<_> = rows.iter().map(|row| ending(row, 0)).collect::<Result<_, _>>()?;
    engine.endings().add(ended);
    Ok(())
}

impl Ear {
    async fn listen(&mut self, engine: &Arc<Engine>) {
        let mut outcome = timeout(PATIENCE, self.ask(engine)).await;
        // A connection that was cut says nothing about the database.
        if matches!(outcome, Ok(Err(_))) && self.connection.take().is_some() {
            outcome = timeout(PATIENCE, self.ask(engine)).await;
        }
        match outcome {
            Ok(Ok(())) => engine.answers(),
            Ok(Err(error)) => {
                self.connection = None;
                engine.does_not_answer(&error);
            }
            Err(_) => {
                self.connection = None;
                engine.does_not_answer(&"no answer in time");
            }
        }
    }

    async fn ask(&mut self, engine: &Arc<Engine>) -> Result<(), Error> {
        let db = match self.connection.take().filter(|db| engine.connector().is_good(db)) {
            Some(db) => db,
            None => {
                // It may be another server, with a clock of its own.
                self.looked_back = None;
                engine.connector().connect().await?
            }
        };
        let db = self.connection.insert(db);
        let now = time(db).await?;
        let since = self.listened_at;
        let looks_back = self.looked_back.is_none_or(|at| at.elapsed() > LOOK_BACK_EVERY);
        let late = if looks_back { VERY_LATE } else { LATE };
        let rows = db.query(sql::HEAR, &[(since - late).into()]).await?;
        // Those from before the question are all in its answer, those of the meantime in this one or the next.
        let (earlier, latest) = (mem::take(&mut self.own), engine.take_own());
        let is_own = |id: &Uuid| earlier.contains(id) || latest.contains(id);
        // One row for each token that a change has ended, at least one for each change.
        let mut ended = Vec::new();
        for row in &rows {
            let id: Uuid = column(row, 0)?;
            if *self.heard.entry(id).or_insert(now) != now {
                continue;
            }
            match column::<Option<Uuid>>(row, 1)? {
                _ if is_own(&id) => {}
                Some(user) => engine.changes().mark(UserId::from_uuid(user)),
                None => engine.keys_changed().send_replace(()),
            }
            if column::<Option<Uuid>>(row, 2)?.is_some() {
                ended.push(ending(row, 2)?);
            }
        }
        engine.endings().add(ended);
        self.own = latest;
        if now < since || now.duration_since(since).is_ok_and(|gap| gap > VERY_LATE / 2) {
            engine.changes().mark_all();
            engine.keys_changed().send_replace(());
            tokio::spawn(catch_up(Arc::downgrade(engine)));
        }
        if looks_back {
            self.looked_back = Some(Instant::now());
        }
        self.heard.retain(|_, at| *at + 2 * VERY_LATE > now && *at <= now);
        self.listened_at = now;
        Ok(())
    }
}

/// Hears of all endings, however long that takes: some may have been swept before they were heard of.
async fn catch_up(engine: Weak<Engine>) {
    while let Some(engine) = engine.upgrade() {
        let heard = async {
            let db = engine.connector().connect().await?;
            hear_all_endings(&engine, &db).await
        };
        match heard.await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "cannot read which tokens have ended"),
        }
        drop(engine);
        sleep(10 * EVERY).await;
    }
}
