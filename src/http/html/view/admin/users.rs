//! The list of users.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::{super::text::Texts, KEPT, PageContext, field::Field},
    frame::Frame,
    parts::{Cell, List, Moment, Tag},
};
use crate::{clock::Timestamp, user::User};

/// The list of users.
#[derive(Template)]
#[template(path = "admin/users.html", whitespace = "minimize")]
pub struct Users<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
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

impl Users<'_> {
    fn text(&self) -> Field<'_> {
        filter("text", self.page.texts().admin.name_or_address, self.text)
    }

    fn role(&self) -> Field<'_> {
        filter("role", self.page.texts().admin.role, self.role)
    }

    fn list(&self) -> List<'_> {
        let t = self.page.texts();
        let a = &t.admin;
        let row = |user: &User| {
            let last = user.last_login_at.map(|at| Cell::Time(Moment::past(t, at, self.now)));
            vec![
                Cell::user(&self.page, user),
                Cell::tags_or_nothing(user.roles.iter().map(Tag::plain).collect()),
                last.unwrap_or_else(|| Cell::Text(a.never.into())),
                Cell::Tags(states(user, t)),
            ]
        };
        let nobody = if self.text.is_empty() { a.no_users } else { a.nobody_found };
        let columns = vec![a.user, a.roles, a.last_sign_in, a.state];
        let rows = self.users.iter().map(row).collect();
        List::new(columns, rows, nobody).followed_by(self.next_page(), t)
    }

    /// The address of the next page, if there is one.
    fn next_page(&self) -> Option<String> {
        let encode = |text| utf8_percent_encode(text, KEPT);
        Some(format!(
            "{}/admin/users?text={}&role={}{}&after={}",
            self.page.base,
            encode(self.text),
            encode(self.role),
            if self.is_only_disabled { "&disabled=1" } else { "" },
            encode(self.next?),
        ))
    }
}

fn filter<'a>(id: &'static str, label: &'static str, value: &'a str) -> Field<'a> {
    Field { value, is_optional: true, ..Field::new(id, id, label, "search", "off") }
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
