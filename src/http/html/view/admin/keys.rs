//! API keys of machines and people.

use askama::Template;

use super::{
    super::{
        super::text::{AdminTexts, Texts},
        PageContext,
        field::Field,
        html,
    },
    frame::Frame,
    parts::{Cell, Confirm, List, Moment, RefusedForm, Secret, Tag},
};
use crate::{
    clock::Timestamp,
    user::{ApiKey, User},
};

/// API keys of machines and people.
pub struct ApiKeys<'a> {
    pub now: Timestamp,
    pub keys: &'a [ApiKey],
    /// The people whose keys they are.
    pub users: &'a [User],
    /// The address of the next page.
    pub next: Option<String>,
    pub may_write: bool,
    /// The scopes that the administrator can give to a key, and whether each is chosen.
    pub scopes: Vec<(String, bool)>,
    /// The key that was just made.
    pub secret: Option<&'a Secret>,
    pub refused: Option<&'a RefusedForm>,
}

#[derive(Template)]
#[template(path = "admin/keys.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    may_write: bool,
    is_open: bool,
    secret: Option<&'a Secret>,
    name: Field<'a>,
    scopes: &'a [(String, bool)],
    scope_fault: Option<&'a str>,
    days: Field<'a>,
    condition: Field<'a>,
    list: List<'a>,
}

impl ApiKeys<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let a = &t.admin;
        let fill = |field| RefusedForm::fill(self.refused, "keys", field);
        let faults = self.refused.map_or(&[][..], |refused| &refused.faults);
        let columns =
            vec![a.key, a.owner, a.scopes, t.last_used_column, a.validity, t.action_column];
        let rows = self.keys.iter().map(|key| self.row(key, page, t)).collect();
        html(&Html {
            page,
            t,
            a,
            frame,
            may_write: self.may_write,
            is_open: self.refused.is_some(),
            secret: self.secret,
            name: fill(Field {
                hint: Some(a.key_name_hint.into()),
                ..Field::new("name", "name", t.name, "text", "off")
            }),
            scopes: &self.scopes,
            scope_fault: faults
                .iter()
                .find(|(name, _)| name == "scopes")
                .map(|(_, words)| &**words),
            days: fill(Field {
                inputmode: Some("numeric"),
                value: "90",
                ..Field::new("days", "days", a.valid_days, "text", "off")
            }),
            condition: fill(Field {
                is_optional: true,
                hint: Some(a.key_condition_hint.into()),
                ..Field::new("allow", "allow", t.condition, "text", "off")
            }),
            list: List::new(columns, rows, a.no_keys).followed_by(self.next.clone(), t),
        })
    }

    fn row<'a>(&self, key: &ApiKey, page: &PageContext<'_>, t: &'static Texts) -> Vec<Cell<'a>> {
        let a = &t.admin;
        let is_valid = key.revoked_at.is_none() && key.expires_at > self.now;
        let owner = match key.owner {
            None => Cell::Text(a.machine.into()),
            Some(id) => match self.users.iter().find(|user| user.id == id) {
                Some(user) => Cell::Link(
                    format!("{}/admin/users/{id}", page.base),
                    user.name.as_str().into(),
                    user.email.as_str().into(),
                ),
                None => Cell::Text(a.deleted_user.into()),
            },
        };
        let revoke = || {
            let action = format!("{}/admin/keys/revoke", page.base);
            let confirm = Confirm::new(action, t.revoke, a.revoke_key_question);
            Cell::Confirm(confirm.about(&*key.name).danger().with("id", key.id.to_string()))
        };
        let [name, scopes, last_used] = cells(key, t, self.now);
        vec![
            name,
            owner,
            scopes,
            last_used,
            match key.revoked_at {
                Some(_) => Cell::Tags(vec![Tag::bad(a.revoked)]),
                None if !is_valid => Cell::Tags(vec![Tag::plain(a.expired)]),
                None => Cell::Time(Moment::end(t, key.expires_at, self.now)),
            },
            if is_valid && self.may_write { revoke() } else { Cell::Nothing },
        ]
    }
}

/// What a key is called, what it may do, and when it was used last.
pub(super) fn cells<'a>(key: &ApiKey, t: &'static Texts, now: Timestamp) -> [Cell<'a>; 3] {
    [
        Cell::Noted(key.name.clone(), key.condition.clone().unwrap_or_default()),
        Cell::tags_or_nothing(key.scopes.iter().map(Tag::plain).collect()),
        match key.last_used_at {
            Some(at) => Cell::Time(Moment::past(t, at, now)),
            None => Cell::Text(t.admin.never.into()),
        },
    ]
}
