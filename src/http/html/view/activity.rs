//! The page with what happened to an account.

use askama::Template;

use super::{
    super::text::{Span, Texts},
    PageContext,
};
use crate::{audit::Record, clock::Timestamp, session::device::Device};

/// The most events on the page, which has to stay small.
pub const MAX_ACTIVITY_ROWS: usize = 25;

/// The page with what happened to an account, the newest first.
#[derive(Clone, Template)]
#[template(path = "activity.html", whitespace = "minimize")]
pub struct Activity<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    pub rows: Vec<ActivityRow<'a>>,
    /// Whether newer events are on a page before.
    pub is_continued: bool,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// An event.
#[derive(Clone)]
pub struct ActivityRow<'a> {
    pub at: Timestamp,
    pub record: &'a Record,
    pub by: ActivityBy,
    /// Where the request came from, if the person may know it.
    pub user_agent: Option<&'a str>,
    pub address: Option<&'a str>,
}

/// Who has caused an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ActivityBy {
    Person,
    Unknown,
    Administrator,
    Service,
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
        self.rows.iter().map(|row| Row::new(row, self.page.texts(), self.now))
    }
}

impl Row {
    fn new(row: &ActivityRow<'_>, t: &Texts, now: Timestamp) -> Self {
        let ActivityRow { at, record, by, user_agent, address } = row;
        let by = match by {
            ActivityBy::Person => None,
            ActivityBy::Unknown => Some(t.by_unknown),
            ActivityBy::Administrator => Some(t.by_administrator),
            ActivityBy::Service => Some(t.by_service),
        };
        let device = user_agent.map(|text| Device::of(text).in_words(t.language));
        let parts = [by.map(str::to_owned), device, address.map(str::to_owned)];
        Self {
            what: record.words(t.language).0,
            is_failure: record.is_failure(),
            origin: parts.into_iter().flatten().map(|part| format!("{part} · ")).collect(),
            minute: at.to_minute(),
            exact: t.language.moment(at.millis()),
            ago: t.ago(Span::between(*at, now)),
        }
    }
}
