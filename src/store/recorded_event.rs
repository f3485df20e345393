//! The rows of the table `audit_events`. Every write adds those of its events to its own statements.

use super::{Error, columns::event_columns, row::Row, statements::statements, value::Value};
use crate::{
    audit::{AuditKey, Entry, Record},
    event::{Event, EventId},
    user::UserId,
};

statements! {
    /// It may run twice, because the outcome of a commit may be lost.
    ADD_EVENT = concat!(
        "INSERT INTO audit_events (", event_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING"
    );
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub id: EventId,
    /// Its place in the tree, unless it has none yet.
    pub number: Option<u64>,
    pub kind: String,
    pub subject: Option<UserId>,
    pub actor: Option<UserId>,
    pub(super) salt: Vec<u8>,
    pub(super) personal: Option<Vec<u8>>,
    pub(super) commitment: Option<Vec<u8>>,
    /// What no other column has, as JSON.
    pub(super) rest: String,
}

impl StoredEvent {
    pub fn entry(&self) -> Entry {
        let Self { id, number: _, kind, subject, actor, salt, personal, commitment, rest } = self;
        Entry {
            id: id.to_string(),
            kind: kind.clone(),
            subject: subject.map(|id| id.to_string()),
            actor: actor.map(|id| id.to_string()),
            salt: salt.clone(),
            personal: personal.clone(),
            commitment: commitment.clone(),
            rest: rest.clone(),
        }
    }

    /// The user of whom the personal part is.
    pub fn person(&self) -> Option<UserId> {
        self.entry().person()?.parse().ok()
    }
}

/// The columns of a new event.
pub(super) fn new_event_row(event: &Event, key: &AuditKey) -> Vec<Value> {
    let Entry { actor, salt, personal, rest, .. } = Entry::new(Record::from(event), key);
    vec![
        event.id.into(),
        None::<i64>.into(),
        event.kind.name().into(),
        event.subject.into(),
        actor.and_then(|actor| actor.parse::<UserId>().ok()).into(),
        salt.into(),
        personal.into(),
        None::<Vec<u8>>.into(),
        rest.into(),
    ]
}

/// The statement that stores an event.
pub(super) fn event_insertion(event: &Event, key: &AuditKey) -> (&'static str, Vec<Value>) {
    (ADD_EVENT, new_event_row(event, key))
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
        personal: row.get(6)?,
        commitment: row.get(7)?,
        rest: row.get(8)?,
    })
}
