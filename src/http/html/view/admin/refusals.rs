//! The latest refusals, and why one was refused.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::{
        super::text::{AdminTexts, Texts},
        KEPT, PageContext,
        field::Field,
    },
    frame::Frame,
    parts::{Cell, List, Moment, Tag},
    steps::Steps,
};
use crate::{access::refusals::Refusal, clock::Timestamp, user::User};

/// The latest refusals of everybody.
#[derive(Template)]
#[template(path = "admin/refusals.html", whitespace = "minimize")]
pub struct Refusals<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub now: Timestamp,
    /// Each refusal, and the user if they still exist.
    pub refusals: &'a [(Refusal, Option<User>)],
    /// The decision after which the next page starts.
    pub next: Option<&'a str>,
    pub guard: &'a str,
    pub is_only_reported: bool,
    /// Whether the page loads itself again. Then it has no form.
    pub is_live: bool,
}

impl Refusals<'_> {
    fn guard(&self) -> Field<'_> {
        Field {
            is_optional: true,
            value: self.guard,
            ..Field::new("guard", "guard", self.page.texts().guard, "search", "off")
        }
    }

    /// The address of the page that loads itself again, or of the one that does not.
    fn other(&self) -> String {
        let live = if self.is_live { "" } else { "/live" };
        format!("{}/admin/refusals{live}?{}", self.page.base, self.query())
    }

    fn list(&self) -> List<'_> {
        let t = self.page.texts();
        let next = self
            .next
            .filter(|_| !self.is_live)
            .map(|next| format!("{}/admin/refusals?{}&after={next}", self.page.base, self.query()));
        list(self.refusals, &self.page, t, self.now).followed_by(next, t)
    }

    /// The filter as a query.
    fn query(&self) -> String {
        let guard = utf8_percent_encode(self.guard, KEPT);
        let reported = if self.is_only_reported { "&reported=1" } else { "" };
        format!("guard={guard}{reported}")
    }
}

/// Refusals as a table.
pub(super) fn list<'a>(
    refusals: &[(Refusal, Option<User>)],
    page: &PageContext<'_>,
    t: &'static Texts,
    now: Timestamp,
) -> List<'a> {
    let a = &t.admin;
    let row = |(refusal, user): &(Refusal, Option<User>)| {
        let path = format!("{}/admin/refusals/{}", page.base, refusal.id);
        let whom = match user {
            Some(user) => Cell::user(page, user),
            None => Cell::Noted(a.nobody.into(), refusal.token.clone()),
        };
        vec![
            Cell::Link(path, refusal.guard.clone(), String::new()),
            whom,
            Cell::Time(Moment::past(t, refusal.refused_at, now)),
            Cell::Tags(vec![outcome(refusal, a)]),
        ]
    };
    let columns = vec![t.guard, a.user, a.time, a.outcome];
    List::new(columns, refusals.iter().map(row).collect(), a.no_refusals)
}

fn outcome(refusal: &Refusal, a: &AdminTexts) -> Tag {
    match refusal.only_reported {
        true => Tag::plain(a.only_reported_tag),
        false => Tag::bad(a.refused_tag),
    }
}

/// One refusal, and its reason.
#[derive(Template)]
#[template(path = "admin/refusal.html", whitespace = "minimize")]
pub struct RefusalPage<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub now: Timestamp,
    pub refusal: &'a Refusal,
    pub user: Option<&'a User>,
    /// Whether a declared guard has refused, which has a page.
    pub is_guard: bool,
}

impl RefusalPage<'_> {
    fn outcome(&self) -> Tag {
        outcome(self.refusal, &self.page.texts().admin)
    }

    fn guard_path(&self) -> Option<String> {
        let path = || format!("{}/admin/guards/{}", self.page.base, self.refusal.guard);
        self.is_guard.then(path)
    }

    fn at(&self) -> Moment {
        Moment::past(self.page.texts(), self.refusal.refused_at, self.now)
    }

    /// The address of the page of the user, and its words.
    fn user(&self) -> Option<(String, String)> {
        self.user.map(|user| {
            let words = format!("{} ({})", user.name.as_str(), user.email.as_str());
            (format!("{}/admin/users/{}", self.page.base, user.id), words)
        })
    }

    fn steps(&self) -> Steps<'_> {
        let Refusal { condition, explanation, missing, headers, .. } = self.refusal;
        let (t, condition) = (self.page.texts(), condition.as_deref());
        Steps::new(t, condition, explanation.as_ref(), *missing, headers, false)
    }
}
