//! The list of users.

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
use crate::{clock::Timestamp, user::User};

/// The list of users.
pub struct Users<'a> {
    pub now: Timestamp,
    pub users: &'a [User],
    /// The starts of words in the name or the address.
    pub text: &'a str,
    pub role: &'a str,
    pub is_only_disabled: bool,
    /// The cursor of the next page.
    pub next: Option<&'a str>,
    pub may_add: bool,
}

#[derive(Template)]
#[template(path = "admin/users.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    text: Field<'a>,
    role: Field<'a>,
    is_only_disabled: bool,
    may_add: bool,
    list: List<'a>,
}

impl Users<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let a = &t.admin;
        let filter = |id, label, value| Field {
            value,
            is_optional: true,
            ..Field::new(id, id, label, "search", "off")
        };
        let row = |user: &User| {
            let path = format!("{}/admin/users/{}", page.base, user.id);
            let last = user.last_login_at.map(|at| Cell::Time(Moment::past(t, at, self.now)));
            vec![
                Cell::Link(path, user.name.as_str().into(), user.email.as_str().into()),
                Cell::tags_or_nothing(user.roles.iter().map(Tag::plain).collect()),
                last.unwrap_or_else(|| Cell::Text(a.never.into())),
                Cell::Tags(states(user, t)),
            ]
        };
        let nobody = if self.text.is_empty() { a.no_users } else { a.nobody_found };
        let columns = vec![a.user, a.roles, a.last_sign_in, a.state];
        let rows = self.users.iter().map(row).collect();
        let next = self.next.map(|next| {
            let encode = |text| utf8_percent_encode(text, KEPT);
            format!(
                "{}/admin/users?text={}&role={}{}&after={}",
                page.base,
                encode(self.text),
                encode(self.role),
                if self.is_only_disabled { "&disabled=1" } else { "" },
                encode(next),
            )
        });
        html(&Html {
            page,
            t,
            a,
            frame,
            text: filter("text", a.name_or_address, self.text),
            role: filter("role", a.role, self.role),
            is_only_disabled: self.is_only_disabled,
            may_add: self.may_add,
            list: List::new(columns, rows, nobody).followed_by(next, t),
        })
    }
}

/// What is unusual about a user.
pub(super) fn states(user: &User, t: &Texts) -> Vec<Tag> {
    let mut tags = vec![match user.email_verified {
        true => Tag::good(t.verified),
        false => Tag::plain(t.not_verified),
    }];
    if user.disabled {
        tags.push(Tag::bad(t.admin.disabled));
    }
    if !user.has_password() {
        tags.push(Tag::plain(t.admin.without_password));
    }
    if !user.factors.is_empty() {
        tags.push(Tag::good(t.admin.second_factor));
    }
    tags
}
