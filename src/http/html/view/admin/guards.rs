//! Guards, what they have decided, and what one says to a chosen user and request.

use askama::Template;

use super::{
    super::{
        super::text::{AdminTexts, Texts, grouped},
        PageContext,
        field::Field,
    },
    frame::Frame,
    parts::{Cell, List, Tag},
    refusals::list as refusal_list,
    steps::Steps,
};
use crate::{
    access::{
        guard::{Guard, Mode},
        refusals::Refusal,
    },
    account::guard_check::GuardDecision,
    clock::Timestamp,
    user::User,
};

/// A guard, and what it has decided since the server started.
pub struct GuardRow<'a> {
    pub guard: &'a Guard,
    pub admitted: u64,
    pub refused: u64,
    /// Admitted because the guard only reports.
    pub only_reported: u64,
}

/// All guards.
#[derive(Template)]
#[template(path = "admin/guards.html", whitespace = "minimize")]
pub struct Guards<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub rows: Vec<GuardRow<'a>>,
}

impl Guards<'_> {
    fn list(&self) -> List<'static> {
        list(&self.rows, &self.page, self.page.texts())
    }
}

/// Guards as a table.
pub(super) fn list(
    rows: &[GuardRow<'_>],
    page: &PageContext<'_>,
    t: &'static Texts,
) -> List<'static> {
    let a = &t.admin;
    let row = |row: &GuardRow<'_>| {
        let GuardRow { guard, admitted, refused, only_reported } = row;
        let path = format!("{}/admin/guards/{}", page.base, guard.name);
        let title = if guard.title == guard.name { String::new() } else { guard.title.clone() };
        vec![
            Cell::Link(path, guard.name.clone(), title),
            Cell::Tags(vec![mode(guard, a)]),
            Cell::Text(grouped(*admitted)),
            Cell::Text(grouped(*refused)),
            Cell::Text(grouped(*only_reported)),
        ]
    };
    let columns = vec![t.guard, a.mode, a.admitted, a.refused_tag, a.would_be_refused];
    List::new(columns, rows.iter().map(row).collect(), a.no_guards)
}

fn mode(guard: &Guard, a: &AdminTexts) -> Tag {
    match guard.mode {
        Mode::Enforce => Tag::good(a.enforced),
        Mode::Report => Tag::plain(a.reports),
    }
}

/// A finding that begins with a capital letter and ends with a full stop. Names of settings stay as they are.
fn sentence(finding: &str) -> String {
    let word = finding.split(' ').next().unwrap_or_default();
    let mut letters = finding.chars();
    let first = letters.next().unwrap_or_default();
    let text = match word.contains(['_', '=', '.', ':', '/'])
        || ["allow", "mode", "origins"].contains(&word)
    {
        true => finding.to_owned(),
        false => first.to_uppercase().chain(letters).collect(),
    };
    format!("{text}.")
}

/// One guard.
#[derive(Template)]
#[template(path = "admin/guard.html", whitespace = "minimize")]
pub struct GuardPage<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub now: Timestamp,
    pub guard: &'a Guard,
    /// What is probably wrong with it.
    pub findings: Vec<String>,
    /// The names and values of the fields of the request to try.
    pub tried: [(&'static str, String); 5],
    /// What is wrong with one of them.
    pub fault: Option<(&'static str, &'static str)>,
    pub decision: Option<&'a GuardDecision>,
    /// Whom it has refused, or would have refused, lately.
    pub refusals: &'a [(Refusal, Option<User>)],
}

impl GuardPage<'_> {
    fn findings(&self) -> impl Iterator<Item = String> {
        self.findings.iter().map(|finding| sentence(finding))
    }

    fn mode(&self) -> Tag {
        mode(self.guard, &self.page.texts().admin)
    }

    /// The request to try.
    fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.tried.iter().map(|(name, value)| self.field(self.page.texts(), name, value))
    }

    fn decision(&self) -> Option<(Tag, Steps<'_>)> {
        let t = self.page.texts();
        let decision = self.decision?;
        let tag = match decision.admitted {
            true => Tag::good(t.admin.admitted),
            false => Tag::bad(t.admin.refused_tag),
        };
        let steps = Steps::new(
            t,
            None,
            Some(&decision.explanation),
            decision.missing,
            if decision.admitted { &decision.headers } else { &[] },
            decision.admitted,
        );
        Some((tag, steps))
    }

    fn refusals_heading(&self) -> &'static str {
        let a = &self.page.texts().admin;
        match self.guard.mode {
            Mode::Enforce => a.refused_by_guard,
            Mode::Report => a.would_be_refused_by_guard,
        }
    }

    fn refusals(&self) -> List<'_> {
        refusal_list(self.refusals, &self.page, self.page.texts(), self.now)
    }

    fn field<'a>(&self, t: &Texts, name: &'static str, value: &'a str) -> Field<'a> {
        let a = &t.admin;
        let (label, hint) = match name {
            "user" => (a.user, Some(a.user_hint)),
            "method" => (a.method, None),
            "host" => (a.host, None),
            "path" => (a.path, None),
            _ => (t.address_column, Some(a.address_hint)),
        };
        let fault = self.fault.filter(|(field, _)| *field == name);
        Field {
            value,
            is_optional: name != "user",
            hint: hint.map(Into::into),
            fault: fault.map(|(_, words)| words.into()),
            ..Field::new(name, name, label, "text", "off")
        }
    }
}
