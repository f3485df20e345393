//! What is erased from the audit trail when an account ends: the personal parts of events. The transaction that deletes the user only
//! takes note of it, because there may be many events; from then on nobody is shown them. Then they are erased in batches.

use std::{collections::BTreeSet, time::Duration};

use uuid::Uuid;

use super::{
    Error, Store,
    audit::{OLDEST_ABOUT, OLDEST_BY},
    recorded_event::{StoredEvent, event_from_row},
    statements::{BATCH_IDS, ids, repeated_ids, statements},
    value::sql_limit,
    write::{StatementBatch, Write},
};
use crate::{clock::Timestamp, event::EventId, id::Id, user::UserId};

statements! {
    DUE_ERASURES =
        "SELECT user_id, deleted_at, due_at FROM erasures WHERE due_at <= $1 ORDER BY due_at LIMIT $2";
    /// What is due later than any that was deleted until now: the clock was ahead.
    ERASURES_OF_FUTURE =
        "SELECT user_id, deleted_at, due_at FROM erasures WHERE due_at > $1 ORDER BY due_at LIMIT $2";
    REPEAT_ERASURE = "UPDATE erasures SET due_at = $3 WHERE user_id = $1 AND due_at = $2";
    END_ERASURE = "DELETE FROM erasures WHERE user_id = $1 AND due_at = $2";
    ERASE_EVENT =
        "UPDATE audit_events SET personal = NULL, commitment = $2 WHERE id = $1 AND personal IS NOT NULL";
    EXISTING_USERS = concat!("SELECT id FROM users WHERE id IN ", ids!());
}

/// A deleted user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    user: UserId,
    deleted_at: Timestamp,
    due_at: Timestamp,
}

/// An erasure is repeated once after this time: what was refused is recorded late, and another instance may have been cut off from the
/// database.
const REPEATED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The clocks of instances differ.
const SKEW: Duration = Duration::from_secs(60);

impl Store {
    /// Users whose events are to be erased now.
    pub async fn due_erasures(&self, now: Timestamp, limit: usize) -> Result<Vec<Erasure>, Error> {
        let latest = now + REPEATED_AFTER + SKEW;
        let mut rows = self.read(DUE_ERASURES, [now.into(), sql_limit(limit)]).await?;
        rows.extend(self.read(ERASURES_OF_FUTURE, [latest.into(), sql_limit(limit)]).await?);
        let erasure = |row: &super::row::Row| {
            Ok(Erasure { user: row.get(0)?, deleted_at: row.get(1)?, due_at: row.get(2)? })
        };
        rows.iter().map(erasure).collect()
    }

    /// Erases the personal parts of the events of a deleted user, in batches, and repeats that once.
    pub async fn erase(&self, erasure: Erasure, now: Timestamp) -> Result<(), Error> {
        const BATCH: usize = 500;
        let Erasure { user, deleted_at, due_at } = erasure;
        // Somebody may have been imported with the same id: later events are of them. Otherwise, a clock that was ahead has made those.
        let end = match self.existing_users(&[user]).await?.contains(&user) {
            true => EventId::first_at(deleted_at + SKEW).uuid(),
            false => Uuid::max(),
        };
        for statement in [OLDEST_ABOUT, OLDEST_BY] {
            let mut after = Uuid::nil();
            loop {
                let values = [after.into(), end.into(), sql_limit(BATCH), user.into()];
                let rows = self.read(statement, values).await?;
                let events = rows.iter().map(event_from_row).collect::<Result<Vec<_>, _>>()?;
                let Some(last) = events.last() else { break };
                after = Uuid::from_u128(last.id.uuid().as_u128() + 1);
                let theirs: Vec<_> = events
                    .into_iter()
                    .filter(|event| event.personal.is_some() && event.person() == Some(user))
                    .collect();
                if !theirs.is_empty() {
                    self.erase_events(theirs).await?;
                }
            }
        }
        self.write_uncached(move || match due_at != deleted_at {
            true => Write::statement(END_ERASURE, [user.into(), due_at.into()], ()),
            false => {
                let again = (now + REPEATED_AFTER).into();
                Write::statement(REPEAT_ERASURE, [user.into(), due_at.into(), again], ())
            }
        })
        .await
    }

    async fn erase_events(&self, events: Vec<StoredEvent>) -> Result<(), Error> {
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            for event in &events {
                batch.add(ERASE_EVENT, [event.id.into(), event.entry().commitment().into()]);
            }
            batch.returning(())
        })
        .await
    }

    /// Hides the personal parts of events whose person has no account any more. They are erased soon.
    pub(super) async fn hide_erased(
        &self,
        mut events: Vec<StoredEvent>,
    ) -> Result<Vec<StoredEvent>, Error> {
        let with_personal = events.iter().filter(|event| event.personal.is_some());
        let persons: BTreeSet<UserId> = with_personal.filter_map(StoredEvent::person).collect();
        let persons: Vec<_> = persons.into_iter().collect();
        let existing = self.existing_users(&persons).await?;
        for event in &mut events {
            let is_gone = |person: &UserId| !existing.contains(person);
            if event.personal.is_some() && event.person().as_ref().is_some_and(is_gone) {
                event.commitment = event.entry().commitment();
                event.personal = None;
            }
        }
        Ok(events)
    }

    /// Those who have an account.
    async fn existing_users(&self, users: &[UserId]) -> Result<BTreeSet<UserId>, Error> {
        let mut existing = BTreeSet::new();
        for users in users.chunks(BATCH_IDS) {
            for row in self.read(EXISTING_USERS, repeated_ids(users)).await? {
                existing.insert(row.get(0)?);
            }
        }
        Ok(existing)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sqlite::unbounded_steps, *};

    #[test]
    fn every_query_of_erasures_follows_an_index() {
        for (name, sql) in STATEMENTS {
            assert_eq!(unbounded_steps(sql), [""; 0], "{name}");
        }
    }
}
