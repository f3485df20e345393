//! The audit trail.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::{
        super::text::{AdminTexts, Texts},
        KEPT, PageContext,
        field::Field,
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
#[derive(Template)]
#[template(path = "admin/audit.html", whitespace = "minimize")]
pub struct AuditTrail<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
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

impl AuditTrail<'_> {
    fn user(&self) -> Field<'_> {
        self.field(&self.typed[0], self.page.texts().admin.user, "search")
    }

    fn from(&self) -> Field<'_> {
        self.field(&self.typed[2], self.page.texts().admin.from, "date")
    }

    fn to(&self) -> Field<'_> {
        self.field(&self.typed[3], self.page.texts().admin.to, "date")
    }

    /// A field of the filter.
    fn field<'a>(
        &self,
        (name, value): &'a (&'static str, String),
        label: &'static str,
        kind: &'static str,
    ) -> Field<'a> {
        let fault = self.faults.iter().find(|(field, _)| field == name);
        Field {
            value,
            fault: fault.map(|(_, words)| words.clone()),
            is_optional: true,
            ..Field::new(name, name, label, kind, "off")
        }
    }

    /// The name of each kind, its words, and whether it is chosen. In the order of the words.
    fn kinds(&self) -> Vec<(&'static str, &'static str, bool)> {
        let (_, chosen) = &self.typed[1];
        let kinds = kinds_by_title(self.page.texts().language).into_iter();
        kinds.map(|(name, words)| (name.as_str(), words, name.as_str() == chosen)).collect()
    }

    fn list(&self) -> List<'_> {
        let (page, t) = (&self.page, self.page.texts());
        let query = self.query();
        let next = self.next.as_ref();
        let next = next.map(|next| format!("{}/admin/audit?{query}&after={next}", page.base));
        list(self.events, self.users, page, t, self.now).followed_by(next, t)
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
    let note = is_unknown.then(|| Person::without_page("", t.by_unknown));
    let part = if subject.is_some() { a.by } else { "" };
    let actor = actor.map(|actor| Person { part, ..actor });
    subject.into_iter().chain(actor).chain(note).collect()
}

fn device(record: &Record, t: &Texts) -> String {
    let device = record.user_agent.as_deref().map(Device::of);
    device.map(|device| device.in_words(t.language)).unwrap_or_default()
}
