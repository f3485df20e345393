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
    parts::{Cell, List, Moment, Person, Tag},
};
use crate::{
    account::audit::AuditEvent,
    audit::{Record, RecordedActor},
    clock::Timestamp,
    event::kinds_by_title,
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
    /// The name of each kind, its words, and whether it is chosen. In the order of the words.
    kinds: Vec<(&'static str, &'static str, bool)>,
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
            kinds: kinds(&kind.1, t),
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

fn kinds(chosen: &str, t: &Texts) -> Vec<(&'static str, &'static str, bool)> {
    let kinds = kinds_by_title(t.language).into_iter();
    kinds.map(|(name, words)| (name.as_str(), words, name.as_str() == chosen)).collect()
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
    let row = |event: &AuditEvent| {
        let record = &event.record;
        let (words, details) = record.words(t.language);
        vec![
            Cell::Marked(words, marks(record, a), details.unwrap_or_default()),
            Cell::People(people(record, users, page, t)),
            match &record.address {
                Some(address) => Cell::Noted(address.clone(), device(record, t)),
                None => Cell::Nothing,
            },
            Cell::Time(Moment::past(t, event.id.time(), now)),
            match event.number {
                Some(_) => {
                    let action = format!("{}/admin/audit/proof", page.base);
                    Cell::Button(action, "id", event.id.to_string(), a.proof)
                }
                None => Cell::Nothing,
            },
        ]
    };
    let columns = vec![a.event, a.concerns, a.origin, a.time, a.proof];
    List::new(columns, events.iter().map(row).collect(), a.no_events)
}

fn marks(record: &Record, a: &AdminTexts) -> Vec<Tag> {
    if record.is_failure() {
        vec![Tag::bad(a.failed)]
    } else if record.is_only_reported() {
        vec![Tag::plain(a.only_reported_tag)]
    } else {
        Vec::new()
    }
}

/// Whom an event concerns, and who has caused it if that is somebody else.
fn people(
    record: &Record,
    users: &[User],
    page: &PageContext<'_>,
    t: &'static Texts,
) -> Vec<Person> {
    let a = &t.admin;
    let user = |id: &str| match users.iter().find(|user| user.id.to_string() == id) {
        Some(user) => Person {
            part: "",
            path: Some(format!("{}/admin/users/{id}", page.base)),
            words: user.name.as_str().into(),
            note: user.email.as_str().into(),
        },
        None => Person::without_page(a.deleted_user, id),
    };
    let actor = match &record.actor {
        RecordedActor::User { id } if record.subject.as_ref() == Some(id) => None,
        RecordedActor::User { id } => Some(user(id)),
        RecordedActor::Key { id, .. } => Some(Person::without_page(a.key, id)),
        RecordedActor::Operator { name } => {
            Some(Person::without_page(a.by_operator, name.clone().unwrap_or_default()))
        }
        RecordedActor::Unknown if record.subject.is_some() => None,
        RecordedActor::Unknown => Some(Person::without_page(a.unknown, "")),
        RecordedActor::Service => Some(Person::without_page(a.service, "")),
    };
    let subject = record.subject.as_deref().map(user);
    let is_unknown = record.actor == RecordedActor::Unknown && subject.is_some();
    let note = is_unknown.then(|| Person::without_page("", t.activity.by_unknown));
    let part = if subject.is_some() { a.by } else { "" };
    let actor = actor.map(|actor| Person { part, ..actor });
    subject.into_iter().chain(actor).chain(note).collect()
}

fn device(record: &Record, t: &Texts) -> String {
    let device = record.user_agent.as_deref().map(Device::of);
    device.map(|device| device.in_words(t.language)).unwrap_or_default()
}
