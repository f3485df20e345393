//! The latest refusals, and why one was refused.

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
    steps::Steps,
};
use crate::{access::refusals::Refusal, clock::Timestamp, user::User};

/// The latest refusals of everybody.
pub struct Refusals<'a> {
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

#[derive(Template)]
#[template(path = "admin/refusals.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    guard: Field<'a>,
    is_only_reported: bool,
    is_live: bool,
    /// The address of the page that loads itself again, or of the one that does not.
    other: String,
    list: List<'a>,
}

impl Refusals<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let a = &t.admin;
        let guard = utf8_percent_encode(self.guard, KEPT);
        let reported = if self.is_only_reported { "&reported=1" } else { "" };
        let query = format!("guard={guard}{reported}");
        let list_path = format!("{}/admin/refusals", page.base);
        let live = if self.is_live { "" } else { "/live" };
        let next = self.next.filter(|_| !self.is_live);
        let next = next.map(|next| format!("{list_path}?{query}&after={next}"));
        html(&Html {
            page,
            t,
            a,
            frame,
            guard: Field {
                is_optional: true,
                value: self.guard,
                ..Field::new("guard", "guard", t.guard, "search", "off")
            },
            is_only_reported: self.is_only_reported,
            is_live: self.is_live,
            other: format!("{list_path}{live}?{query}"),
            list: list(self.refusals, page, t, self.now).followed_by(next, t),
        })
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
            Some(user) => Cell::Link(
                format!("{}/admin/users/{}", page.base, user.id),
                user.name.as_str().into(),
                user.email.as_str().into(),
            ),
            None => Cell::Noted(a.nobody.into(), refusal.token.clone()),
        };
        vec![
            Cell::Link(path, refusal.guard.clone(), String::new()),
            whom,
            Cell::Time(Moment::past(t, Timestamp::from_millis(refusal.time), now)),
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
pub struct RefusalPage<'a> {
    pub now: Timestamp,
    pub refusal: &'a Refusal,
    pub user: Option<&'a User>,
    /// Whether a declared guard has refused, which has a page.
    pub is_guard: bool,
}

#[derive(Template)]
#[template(path = "admin/refusal.html", whitespace = "minimize")]
struct RefusalHtml<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    refusal: &'a Refusal,
    tags: Vec<Tag>,
    guard_path: Option<String>,
    at: Moment,
    user: Option<(String, String)>,
    steps: Steps<'a>,
}

impl RefusalPage<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let refusal = self.refusal;
        let explanation = refusal.explanation.as_ref();
        html(&RefusalHtml {
            page,
            t,
            a: &t.admin,
            frame,
            refusal,
            tags: vec![outcome(refusal, &t.admin)],
            guard_path: self
                .is_guard
                .then(|| format!("{}/admin/guards/{}", page.base, refusal.guard)),
            at: Moment::past(t, Timestamp::from_millis(refusal.time), self.now),
            user: self.user.map(|user| {
                let words = format!("{} ({})", user.name.as_str(), user.email.as_str());
                (format!("{}/admin/users/{}", page.base, user.id), words)
            }),
            steps: Steps::new(
                t,
                refusal.condition.as_deref(),
                explanation,
                refusal.missing,
                &refusal.headers,
                false,
            ),
        })
    }
}
