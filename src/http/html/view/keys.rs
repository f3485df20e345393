//! The page with the API keys of a person.

use askama::Template;

use super::{
    super::text::{FormProblem, Notice, Span},
    PageContext,
    field::{Field, Summary},
};
use crate::{
    access::guard::Guard,
    clock::Timestamp,
    user::{ApiKey, KeyState},
};

/// The most keys on the page, which has to stay small.
const MAX_KEY_ROWS: usize = 20;

/// The page with the API keys of a person.
#[derive(Clone, Template)]
#[template(path = "keys.html", whitespace = "minimize")]
pub struct Keys<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    /// Whether the person has just proved who they are, and may make a key.
    pub is_fresh: bool,
    /// The guards of the apps that take keys.
    pub apps: Vec<&'a Guard>,
    /// How many days a key can be valid.
    pub days: &'a [u64],
    pub chosen_days: u64,
    /// The keys of the person, each with the apps that it is for; `None` for every app.
    pub keys: Vec<(&'a ApiKey, Option<String>)>,
    /// The key that was just made.
    pub made: Option<&'a str>,
    /// The name as it was typed.
    pub name: &'a str,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
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
            keys: Vec::new(),
            made: None,
            name: "",
            notice: None,
            problem: FormProblem::default(),
        }
    }

    /// The summary and the name.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut name = Field {
            value: self.name,
            hint: Some(t.keys.name_hint.into()),
            ..Field::new("name", "name", t.name, "text", "off")
        };
        let summary = Summary::of(t, &self.problem, &mut [&mut name], None);
        (summary, name)
    }

    /// The keys that the page shows, each with the apps that it is for and whether it still counts.
    fn shown(&self) -> impl Iterator<Item = (&ApiKey, Option<&str>, KeyState)> {
        let shown = self.keys.iter().take(MAX_KEY_ROWS);
        shown.map(|(key, apps)| (*key, apps.as_deref(), key.state(self.now)))
    }

    fn has_more(&self) -> bool {
        self.keys.len() > MAX_KEY_ROWS
    }

    /// What a key is for, and when it was used.
    fn key_in_words(&self, key: &ApiKey, apps: Option<&str>) -> String {
        let t = self.page.texts();
        let apps = apps.unwrap_or(t.keys.every_app);
        let used = match key.last_used_at {
            Some(used) => t.factors.used(&t.ago(Span::between(used, self.now))),
            None => t.factors.never_used.into(),
        };
        format!("{apps}, {used}")
    }

    fn validity(&self, key: &ApiKey, state: KeyState) -> String {
        let t = self.page.texts();
        // With the year: a key may be valid for longer than one.
        let time = t.language.time(key.expires_at.millis());
        match state {
            KeyState::Valid => t.valid_until(&time),
            KeyState::Expired => t.keys.expired(&time),
            KeyState::Revoked => t.keys.revoked(&time),
        }
    }
}
