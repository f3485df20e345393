//! The audit trail.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::{
        super::text::{AdminTexts, Texts},
        KEPT, PageContext,
        field::Field,
        html,
    },
    frame::Frame,
    parts::{Cell, List, Moment, Tag},
};
use crate::{
    account::audit::AuditEvent,
    audit::{Outcome, Record, RecordedActor},
    clock::Timestamp,
    event::EventKind,
    session::device::Device,
    user::User,
};

/// The audit trail.
pub struct AuditTrail<'a> {
    pub now: Timestamp,
    pub events: &'a [AuditEvent],
    /// The users whom the events name and who still exist.
    pub users: &'a [User],
    /// The values of the filter: user, kind, from and to.
    pub typed: [(&'static str, String); 4],
    /// The names of the fields that are not valid.
    pub faults: Vec<(String, String)>,
    /// Where the next page begins.
    pub next: Option<String>,
}

#[derive(Template)]
#[template(path = "admin/audit.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    user: Field<'a>,
    kinds: Vec<(&'static str, bool)>,
    from: Field<'a>,
    to: Field<'a>,
    /// The names and values of the filter.
    filter: Vec<(&'static str, &'a str)>,
    list: List<'a>,
}

impl AuditTrail<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let a = &t.admin;
        let [user, kind, from, to] = &self.typed;
        let field = |typed: &'_ (&'static str, String), label, of| {
            let fault = self.faults.iter().find(|(name, _)| name == typed.0);
            let field = Field::new(typed.0, typed.0, label, of, "off");
            (field, fault.map(|(_, words)| words.clone()))
        };
        let (user_field, user_fault) = field(user, a.user, "search");
        let (from_field, from_fault) = field(from, a.from, "date");
        let (to_field, to_fault) = field(to, a.to, "date");
        let filled = |field: Field<'static>, value, fault| Field {
            value,
            fault,
            is_optional: true,
            ..field
        };
        let query = self.query();
        let next = self.next.as_ref();
        html(&Html {
            page,
            t,
            a,
            frame,
            user: filled(user_field, &user.1, user_fault),
            kinds: EventKind::NAMES.iter().map(|name| (*name, *name == kind.1)).collect(),
            from: filled(from_field, &from.1, from_fault),
            to: filled(to_field, &to.1, to_fault),
            filter: self.filter().collect(),
            list: list(self.events, self.users, page, t, self.now).followed_by(
                next.map(|next| format!("{}/admin/audit?{query}&after={next}", page.base)),
                t,
            ),
        })
    }

    /// The names and values that were typed.
    fn filter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let typed = self.typed.iter().filter(|(_, value)| !value.is_empty());
        typed.map(|(name, value)| (*name, value.as_str()))
    }

    /// The filter as a query.
    fn query(&self) -> String {
        let pairs = self
            .filter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, KEPT)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// Events as a table.
pub(super) fn list<'a>(
    events: &[AuditEvent],
    users: &[User],
    page: &PageContext<'_>,
    t: &'static Texts,
    now: Timestamp,
) -> List<'a> {
    let a = &t.admin;
    let person = |id: &str| {
        let path = format!("{}/admin/users/{id}", page.base);
        match users.iter().find(|user| user.id.to_string() == id) {
            Some(user) => Cell::Link(path, user.name.as_str().into(), user.email.as_str().into()),
            None => Cell::Noted(a.deleted_user.into(), id.into()),
        }
    };
    let row = |event: &AuditEvent| {
        let record = &event.record;
        let actor = match &record.actor {
            RecordedActor::User { id } => person(id),
            RecordedActor::Key { id, .. } => Cell::Noted(a.key.into(), id.clone()),
            RecordedActor::Operator { name } => {
                Cell::Noted(a.by_operator.into(), name.clone().unwrap_or_default())
            }
            RecordedActor::Unknown => Cell::Text(a.nobody.into()),
            RecordedActor::Service => Cell::Text(a.service.into()),
        };
        vec![
            Cell::Noted(record.kind.replace('_', " "), details(record)),
            actor,
            record.subject.as_deref().map_or(Cell::Nothing, person),
            Cell::Noted(record.address.clone().unwrap_or_default(), device(record, t)),
            Cell::Time(Moment::past(t, event.id.time(), now)),
            Cell::Tags(match record.outcome {
                Outcome::Success => Vec::new(),
                Outcome::Failure => vec![Tag::bad(a.failed)],
            }),
            match event.number {
                Some(_) => {
                    let action = format!("{}/admin/audit/proof", page.base);
                    Cell::Button(action, "id", event.id.to_string(), a.proof)
                }
                None => Cell::Nothing,
            },
        ]
    };
    let columns = vec![a.event, a.actor, a.concerns, t.address_column, a.time, a.outcome, a.proof];
    List::new(columns, events.iter().map(row).collect(), a.no_events)
}

fn device(record: &Record, t: &Texts) -> String {
    let device = record.user_agent.as_deref().map(Device::of);
    device.map(|device| device.in_words(t.language)).unwrap_or_default()
}

/// What else is known, as names and values.
fn details(record: &Record) -> String {
    let detail = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    };
    record.details.iter().map(detail).collect::<Vec<_>>().join(", ")
}
