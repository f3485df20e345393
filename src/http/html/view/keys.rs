//! The page with the API keys of a person.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Notice, Span, Texts},
    PageContext,
    field::{Field, Summary},
};
use crate::clock::Timestamp;

/// The most keys on the page, which has to stay small.
pub const MAX_KEY_ROWS: usize = 20;

/// The page with the API keys of a person.
#[derive(Clone, Template)]
#[template(path = "keys.html", whitespace = "minimize")]
pub struct Keys<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    /// Whether the person has just proved who they are, and may make a key.
    pub is_fresh: bool,
    /// The apps that take keys.
    pub apps: Vec<KeyApp<'a>>,
    /// How many days a key can be valid.
    pub days: &'a [u64],
    pub chosen_days: u64,
    pub rows: Vec<KeyRow<'a>>,
    /// Whether there are more than the page shows.
    pub has_more: bool,
    /// The key that was just made.
    pub made: Option<&'a str>,
    /// The name as it was typed.
    pub name: &'a str,
    pub notice: Option<Notice>,
    pub error: Option<FormError>,
    pub name_fault: Option<FieldFault>,
}

impl<'a> Keys<'a> {
    /// A page that shows no key, and no form that was sent.
    pub fn new(page: PageContext<'a>) -> Self {
        Self {
            page,
            now: Timestamp::from_seconds(0),
            is_fresh: false,
            apps: Vec::new(),
            days: &[],
            chosen_days: 0,
            rows: Vec::new(),
            has_more: false,
            made: None,
            name: "",
            notice: None,
            error: None,
            name_fault: None,
        }
    }

    /// The summary and the name.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let field = Field {
            value: self.name,
            hint: Some(t.keys.name_hint.into()),
            ..Field::new("name", "name", t.name, "text", "off")
        };
        let mut name = field.with_fault(t, self.name_fault);
        let summary = Summary::of(t, self.error, &mut [&mut name], None);
        (summary, name)
    }
}

/// An app that takes keys.
#[derive(Clone, Copy)]
pub struct KeyApp<'a> {
    /// The name of its guard.
    pub guard: &'a str,
    pub title: &'a str,
}

#[derive(Clone)]
pub struct KeyRow<'a> {
    /// The id, as the form to revoke it sends it.
    pub id: String,
    pub name: &'a str,
    /// What it is for; `None` for every app.
    pub app: Option<String>,
    pub state: KeyState,
    pub last_used: Option<Timestamp>,
    pub expires: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Valid,
    Expired,
    Revoked,
}

impl KeyRow<'_> {
    fn is_valid(&self) -> bool {
        self.state == KeyState::Valid
    }

    /// What it is for, and when it was used.
    fn in_words(&self, t: &Texts, now: Timestamp) -> String {
        let app = self.app.as_deref().unwrap_or(t.keys.every_app);
        let used = match self.last_used {
            Some(used) => t.factors.used(&t.ago(Span::between(used, now))),
            None => t.factors.never_used.into(),
        };
        format!("{app}, {used}")
    }

    fn validity(&self, t: &Texts) -> String {
        // With the year: a key may be valid for longer than one.
        let time = t.language.time(self.expires.millis());
        match self.state {
            KeyState::Valid => t.valid_until(&time),
            KeyState::Expired => t.keys.expired(&time),
            KeyState::Revoked => t.keys.revoked(&time),
        }
    }
}
