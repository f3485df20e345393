//! Reads by id that travel together: what is asked for while others are under way is asked for in one statement, which
//! spares the server most of the parsing and planning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{column, engine::Engine, statements::IDS};
use crate::store::Error;

/// With fewer statements under way the next one leaves at once; with as many it leaves when it is full, or when one of
/// them is back.
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
        if let Some(traveller) = self.join(Waiting { id, answer }) {
            // In a task of its own: others may wait for the answer when this one no longer does.
            tokio::spawn(traveller.travel(Arc::clone(engine)));
        }
        engine.unless_away(answered).await?.unwrap_or_else(|_| {
            Err(Error::Unavailable("whoever asked for several has not come back".into()))
        })
    }

    /// Returns whoever has to be sent.
    fn join(self: &Arc<Self>, waiting: Waiting<T>) -> Option<Traveller<T>> {
        let mut queue = self.queue();
        queue.waiting.push(waiting);
        let leaves = queue.under_way < UNDER_WAY || queue.waiting.len().is_multiple_of(IDS);
        leaves.then(|| {
            queue.under_way += 1;
            Traveller { batch: Arc::clone(self), is_under_way: true }
        })
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
        if matches!(found, Err(Error::Failed(_))) && waiting.len() > 1 {
            // What is wrong with one of them must not fail the others.
            for alone in waiting {
                Box::pin(self.ask(engine, vec![alone])).await;
            }
            return;
        }
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

/// Asks for one batch after the other while there are some.
struct Traveller<T: Send + 'static> {
    batch: Arc<Batch<T>>,
    is_under_way: bool,
}

impl<T: Send + 'static> Traveller<T> {
    async fn travel(mut self, engine: Arc<Engine>) {
        while let Some(waiting) = self.depart() {
            self.batch.ask(&engine, waiting).await;
        }
    }

    /// Those who travel together now. None ends the journey: nobody waits, or they had better wait for others who are
    /// soon back. Deciding that and being no longer under way are one step, so that nobody joins in between and is left.
    fn depart(&mut self) -> Option<Vec<Waiting<T>>> {
        let mut queue = self.batch.queue();
        let together = queue.waiting.len().min(IDS);
        if together == IDS || together > 0 && queue.under_way <= UNDER_WAY {
            return Some(queue.waiting.drain(..together).collect());
        }
        queue.under_way -= 1;
        self.is_under_way = false;
        None
    }
}

/// However a journey ends, the next one can begin.
impl<T: Send + 'static> Drop for Traveller<T> {
    fn drop(&mut self) {
        if self.is_under_way {
            self.batch.queue().under_way -= 1;
        }
    }
}

/// The error for another of those whom it concerns.
fn told_again(error: &Error) -> Error {
    match error {
        Error::Unavailable(cause) => Error::Unavailable(cause.clone()),
        Error::Failed(cause) => Error::Failed(cause.to_string().into()),
        Error::EmailTaken => Error::EmailTaken,
    }
}
