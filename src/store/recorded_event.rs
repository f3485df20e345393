//! The row of an event in the table `audit_events`, which every write adds to its own statements.

use super::{statements::statements, value::Value};
use crate::{
    audit::{AuditKey, Record},
    event::Event,
    user::UserId,
};

statements! {
    /// It may run twice, because the outcome of a commit may be lost.
    ADD_EVENT =
        "INSERT INTO audit_events (id, number, kind, subject_id, actor_id, salt, record) VALUES ($1, NULL, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO NOTHING";
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
