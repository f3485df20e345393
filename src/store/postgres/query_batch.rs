//! Look-ups by id that share a query: ids that arrive while other queries run go into the next one, which saves the
//! server most of the parsing and planning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use uuid::Uuid;

use super::engine::PostgresEngine;
use crate::store::{
    Error,
    row::Row,
    statements::{BATCH_IDS, Lookup, repeated_ids},
};

/// While fewer queries run, the next one starts at once. Otherwise it starts when it is full or when one of them ends.
const CONCURRENT_QUERIES: usize = 2;

/// Looks up rows by id, many in one query.
pub(super) struct QueryBatch {
    statements: Lookup,
    queue: Mutex<Queue>,
}

struct Queue {
    waiting: Vec<WaitingLookup>,
    running: usize,
}

struct WaitingLookup {
    id: Uuid,
    reply: oneshot::Sender<Result<Option<Row>, Error>>,
}

impl QueryBatch {
    pub(super) fn new(statements: Lookup) -> Arc<Self> {
        let queue = Mutex::new(Queue { waiting: Vec::new(), running: 0 });
        Arc::new(Self { statements, queue })
    }

    /// The row with this id. The query starts after this call, so the result is never older than the call.
    pub(super) async fn look_up(
        self: &Arc<Self>,
        engine: &Arc<PostgresEngine>,
        id: Uuid,
    ) -> Result<Option<Row>, Error> {
        let (reply, answer) = oneshot::channel();
        if let Some(runner) = self.enqueue(WaitingLookup { id, reply }) {
            // In a separate task, because other callers wait for its results too.
            tokio::spawn(runner.run(Arc::clone(engine)));
        }
        engine
            .while_reachable(answer)
            .await?
            .unwrap_or_else(|_| Err(Error::Unavailable("the batched read was cancelled".into())))
    }

    /// Returns a runner if one has to be started.
    fn enqueue(self: &Arc<Self>, lookup: WaitingLookup) -> Option<BatchRunner> {
        let mut queue = self.queue();
        queue.waiting.push(lookup);
        let needs_runner =
            queue.running < CONCURRENT_QUERIES || queue.waiting.len().is_multiple_of(BATCH_IDS);
        needs_runner.then(|| {
            queue.running += 1;
            BatchRunner { batch: Arc::clone(self), is_counted: true }
        })
    }

    async fn query(&self, engine: &PostgresEngine, lookups: Vec<WaitingLookup>) {
        let rows = match lookups.as_slice() {
            [lookup] => engine.read(self.statements.one, [lookup.id.into()]).await,
            lookups => {
                let ids: Vec<_> = lookups.iter().map(|lookup| lookup.id).collect();
                engine.read(self.statements.many, repeated_ids(&ids)).await
            }
        };
        let rows_by_id = rows.and_then(|rows| {
            let with_id = |row: Row| Ok((row.get::<Uuid>(0)?, row));
            rows.into_iter().map(with_id).collect::<Result<Vec<_>, _>>()
        });
        if matches!(rows_by_id, Err(Error::Failed(_))) && lookups.len() > 1 {
            // One at a time, so that an error about one id does not fail the others.
            for lookup in lookups {
                Box::pin(self.query(engine, vec![lookup])).await;
            }
            return;
        }
        for WaitingLookup { id, reply } in lookups {
            let answer = match &rows_by_id {
                Ok(rows) => {
                    let row = rows.iter().find(|(row_id, _)| *row_id == id);
                    Ok(row.map(|(_, row)| row.clone()))
                }
                Err(error) => Err(copy_of(error)),
            };
            // The caller may have disconnected.
            let _ = reply.send(answer);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs one query after the other while look-ups wait.
struct BatchRunner {
    batch: Arc<QueryBatch>,
    is_counted: bool,
}

impl BatchRunner {
    async fn run(mut self, engine: Arc<PostgresEngine>) {
        while let Some(lookups) = self.next() {
            self.batch.query(&engine, lookups).await;
        }
    }

    /// The look-ups of the next query. `None` ends the runner: no look-up waits, or another runner takes them when its
    /// query ends. The count is lowered under the same lock, so that no look-up waits without a runner.
    fn next(&mut self) -> Option<Vec<WaitingLookup>> {
        let mut queue = self.batch.queue();
        let count = queue.waiting.len().min(BATCH_IDS);
        if count == BATCH_IDS || count > 0 && queue.running <= CONCURRENT_QUERIES {
            return Some(queue.waiting.drain(..count).collect());
        }
        queue.running -= 1;
        self.is_counted = false;
        None
    }
}

/// Lowers the count even if the runner panics or is cancelled.
impl Drop for BatchRunner {
    fn drop(&mut self) {
        if self.is_counted {
            self.batch.queue().running -= 1;
        }
    }
}

/// A copy of the error, because each caller of a query gets one.
fn copy_of(error: &Error) -> Error {
    match error {
        Error::Unavailable(cause) => Error::Unavailable(cause.clone()),
        Error::Failed(cause) => Error::Failed(cause.to_string().into()),
        Error::EmailTaken => Error::EmailTaken,
        Error::BeyondAuthority => Error::BeyondAuthority,
        Error::RoleBeyondAuthority => Error::RoleBeyondAuthority,
        Error::RightLost => Error::RightLost,
    }
}
