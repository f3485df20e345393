//! Reads by id that travel together: what is asked for while others are under way is asked for in one statement, which
//! spares the server most of the parsing and planning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{column, engine::Engine, statements::IDS};
use crate::store::Error;

/// Statements under way at once; who comes later joins the next one.
const UNDER_WAY: usize = 2;

/// Something that is read by its id, which is the first column.
pub(super) struct Batch<T> {
    one: &'static str,
    several: &'static str,
    decode: fn(&Row) -> Result<T, Error>,
    queue: Mutex<Queue<T>>,
}

struct Queue<T> {
    waiting: Vec<Waiting<T>>,
    under_way: usize,
}

struct Waiting<T> {
    id: Uuid,
    answer: oneshot::Sender<Result<Option<T>, Error>>,
}

impl<T: Send + 'static> Batch<T> {
    /// By a statement with one id, and by one with as many as can be asked for at once.
    pub(super) fn new(
        one: &'static str,
        several: &'static str,
        decode: fn(&Row) -> Result<T, Error>,
    ) -> Arc<Self> {
        let queue = Mutex::new(Queue { waiting: Vec::new(), under_way: 0 });
        Arc::new(Self { one, several, decode, queue })
    }

    /// What has this id, as of now or later.
    pub(super) async fn get(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        id: Uuid,
    ) -> Result<Option<T>, Error> {
        let (answer, answered) = oneshot::channel();
        if self.join(Waiting { id, answer }) {
            let (batch, engine) = (Arc::clone(self), Arc::clone(engine));
            // In a task of its own: others may wait for the answer when this one no longer does.
            tokio::spawn(async move {
                while let Some(waiting) = batch.depart() {
                    batch.ask(&engine, waiting).await;
                }
            });
        }
        answered.await.unwrap_or_else(|_| Err(Error::Failed("the read was given up".into())))
    }

    /// Whether somebody has to be sent.
    fn join(&self, waiting: Waiting<T>) -> bool {
        let mut queue = self.queue();
        queue.waiting.push(waiting);
        let sends = queue.under_way < UNDER_WAY;
        queue.under_way += usize::from(sends);
        sends
    }

    /// Who travels together now. None ends the journey: nobody waits.
    fn depart(&self) -> Option<Vec<Waiting<T>>> {
        let mut queue = self.queue();
        if queue.waiting.is_empty() {
            queue.under_way -= 1;
            return None;
        }
        let together = queue.waiting.len().min(IDS);
        Some(queue.waiting.drain(..together).collect())
    }

    async fn ask(&self, engine: &Engine, waiting: Vec<Waiting<T>>) {
        let rows = match waiting.as_slice() {
            [alone] => engine.read(self.one, [alone.id.into()]).await,
            several => {
                // Every place of the statement takes an id, so that they repeat.
                let ids = several.iter().map(|waiting| waiting.id).cycle().take(IDS);
                engine.read(self.several, ids.map(Into::into).collect::<Vec<_>>()).await
            }
        };
        let found = rows.and_then(|rows| {
            let by_id = |row| Ok((column::<Uuid>(&row, 0)?, row));
            rows.into_iter().map(by_id).collect::<Result<Vec<_>, _>>()
        });
        for Waiting { id, answer } in waiting {
            let answered = match &found {
                Ok(rows) => {
                    let row = rows.iter().find(|(of, _)| *of == id);
                    row.map(|(_, row)| (self.decode)(row)).transpose()
                }
                Err(error) => Err(told_again(error)),
            };
            // Whoever asked may have left.
            let _ = answer.send(answered);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for another of those whom it concerns.
fn told_again(error: &Error) -> Error {
    match error {
        Error::Unavailable(cause) => Error::Unavailable(cause.clone()),
        error => Error::Failed(error.to_string().into()),
    }
}
