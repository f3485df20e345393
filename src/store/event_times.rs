//! When something happened last, by the clock of that time: what shows that the clock has not jumped.

use super::{Error, Store, statements::statements};
use crate::{clock::Timestamp, event::EventId};

statements! {
    LAST_EVENT_BEFORE = "SELECT id FROM audit_events WHERE id < $1 ORDER BY id DESC LIMIT 1";
}

impl Store {
    /// The time of the newest event of the audit trail before this time.
    pub async fn last_event_before(&self, time: Timestamp) -> Result<Option<Timestamp>, Error> {
        let rows = self.read(LAST_EVENT_BEFORE, [EventId::first_at(time).into()]).await?;
        let id: Option<EventId> = rows.first().map(|row| row.get(0)).transpose()?;
        Ok(id.map(EventId::time))
    }
}
