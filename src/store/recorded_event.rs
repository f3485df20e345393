//! The rows of the table `audit_events`. Every write adds those of its events to its own statements.

use super::{Error, row::Row, statements::statements, value::Value};
use crate::{
    audit::{AuditKey, Hash, Record, leaf_hash},
    event::{Event, EventId},
    user::UserId,
};

statements! {
    /// It may run twice, because the outcome of a commit may be lost.
    ADD_EVENT =
        "INSERT INTO audit_events (id, number, kind, subject_id, actor_id, salt, record) VALUES ($1, NULL, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO NOTHING";
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub id: EventId,
    /// Its place in the tree, unless it has none yet.
    pub number: Option<u64>,
    /// As they are in the record, for look-ups.
    pub kind: String,
    pub subject: Option<UserId>,
    pub actor: Option<UserId>,
    pub salt: Vec<u8>,
    /// The text that is hashed.
    pub record: String,
}

impl StoredEvent {
    /// The hash that the tree has for it.
    pub fn leaf(&self) -> Hash {
        leaf_hash(&[&self.salt, self.record.as_bytes()])
    }
}

/// The statement that stores an event.
pub(super) fn event_insertion(event: &Event, key: &AuditKey) -> (&'static str, Vec<Value>) {
    let record = Record::from(event);
    let actor = record.actor.user().filter(|actor| Some(*actor) != record.subject.as_deref());
    let actor = actor.and_then(|actor| actor.parse::<UserId>().ok());
    let text = record.to_text();
    let values = vec![
        event.id.into(),
        event.kind.name().into(),
        event.subject.into(),
        actor.into(),
        key.salt(&text).to_vec().into(),
        text.into(),
    ];
    (ADD_EVENT, values)
}

/// Reads an event. Somebody may have written an id into a column that is none: it is read as no id, so that a verification finds that
/// the event was changed.
pub(super) fn event_from_row(row: &Row) -> Result<StoredEvent, Error> {
    let number = row.get::<Option<i64>>(1)?;
    let no_id = |_| {
        let number = number.map_or("without a number".to_owned(), |number| number.to_string());
        Error::Failed(format!("the audit trail was changed: event {number} has no valid id").into())
    };
    Ok(StoredEvent {
        id: row.get(0).map_err(no_id)?,
        number: number.map(|number| u64::try_from(number).unwrap_or(u64::MAX)),
        kind: row.get(2)?,
        subject: row.get(3).unwrap_or_default(),
        actor: row.get(4).unwrap_or_default(),
        salt: row.get(5)?,
        record: row.get(6)?,
    })
}
