//! The page with what happened to an account.

use askama::Template;

use super::{super::text::Span, PageContext};
use crate::{
    account::{activity::By, audit::AuditEvent},
    clock::Timestamp,
    session::device::Device,
    user::UserId,
};

/// The most events on the page, which has to stay small.
pub const MAX_ACTIVITY_ROWS: usize = 25;

/// The page with what happened to an account, the newest first.
#[derive(Clone, Template)]
#[template(path = "activity.html", whitespace = "minimize")]
pub struct Activity<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    pub person: UserId,
    pub events: &'a [AuditEvent],
    /// Whether newer events are on a page before.
    pub is_continued: bool,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// An event in words.
struct Row {
    what: String,
    /// Whether it was refused or did not work.
    is_failure: bool,
    /// Who, with what and from where.
    origin: String,
    minute: String,
    exact: String,
    ago: String,
}

impl Activity<'_> {
    fn rows(&self) -> impl Iterator<Item = Row> {
        self.events.iter().map(|event| self.row(event))
    }

    fn row(&self, event: &AuditEvent) -> Row {
        let (t, record, at) = (self.page.texts(), &event.record, event.id.time());
        let by = By::of(&record.actor, self.person);
        let who = match by {
            By::You => None,
            By::Unknown => Some(t.by_unknown),
            By::Administrator => Some(t.by_administrator),
            By::Service => Some(t.by_service),
        };
        let device = record.user_agent.as_deref().map(|text| Device::of(text).in_words(t.language));
        let client = [device, record.address.clone()].into_iter().flatten();
        let client = client.filter(|_| by.is_shown_with_client());
        let parts = who.map(str::to_owned).into_iter().chain(client);
        Row {
            what: record.words(t.language).0,
            is_failure: record.is_failure(),
            origin: parts.map(|part| format!("{part} · ")).collect(),
            minute: at.to_minute(),
            exact: t.language.moment(at.millis()),
            ago: t.ago(Span::between(at, self.now)),
        }
    }
}
