//! How long the operations of a database take, and how many fail.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, Store, outbox::was_due, statements::statements};
use crate::clock::Timestamp;
use crate::count::{Counters, Histogram, labels};

/// Why an operation failed, as far as it concerns the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A temporary failure.
    Unavailable,
    /// A bug, or a damaged database.
    Failed,
}

labels!(Trouble { Unavailable => "unavailable", Failed => "failed" });

/// The operations of a database since the start.
#[derive(Default)]
pub struct StoreCounts {
    /// The times of reads, waiting included.
    pub reads: Histogram,
    /// The times of writes until they are durable, waiting included.
    pub writes: Histogram,
    pub errors: Counters<Trouble, 2>,
}

impl StoreCounts {
    pub(super) fn add_read<T>(&self, began: Instant, outcome: &Result<T, Error>) {
        self.reads.add(began.elapsed());
        self.add_error(outcome);
    }

    pub(super) fn add_write<T>(&self, began: Instant, outcome: &Result<T, Error>) {
        self.writes.add(began.elapsed());
        self.add_error(outcome);
    }

    fn add_error<T>(&self, outcome: &Result<T, Error>) {
        match outcome {
            Err(Error::Unavailable(_)) => self.errors.add_one(Trouble::Unavailable),
            Err(Error::Failed(_)) => self.errors.add_one(Trouble::Failed),
            // The database has answered.
            Ok(_)
            | Err(
                Error::EmailTaken
                | Error::BeyondAuthority
                | Error::RoleBeyondAuthority
                | Error::RightLost,
            ) => {}
        }
    }
}

/// How much a database holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sizes {
    pub users: u64,
    /// Sessions that have not expired.
    pub sessions: u64,
    /// Mail that waits to be sent.
    pub mail_waiting: u64,
    /// Mail that was given up and is kept for the operator.
    pub mail_given_up: u64,
    /// Imported password hashes that have not been replaced.
    pub imported_hashes: u64,
}

statements! {
    SIZES = concat!(
        "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM sessions WHERE expires_at > $1), \
         (SELECT count(*) FROM outbox WHERE given_up_at IS NULL AND ", was_due!(), "), \
         (SELECT count(*) FROM outbox WHERE given_up_at IS NOT NULL), \
         (SELECT count(*) FROM imported_hashes)"
    );
}

impl Store {
    /// How much the database holds. The work grows with its size.
    pub async fn sizes(&self, now: Timestamp) -> Result<Sizes, Error> {
        let rows = self.read(SIZES, [now.into()]).await?;
        let Some(row) = rows.first() else { return Ok(Sizes::default()) };
        let count = |column| row.get::<i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        Ok(Sizes {
            users: count(0)?,
            sessions: count(1)?,
            mail_waiting: count(2)?,
            mail_given_up: count(3)?,
            imported_hashes: count(4)?,
        })
    }
}
