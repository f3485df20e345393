//! API keys of machines and people.

use askama::Template;

use super::{
    super::{super::text::Texts, PageContext, field::Field},
    frame::Frame,
    parts::{Cell, Confirm, List, Moment, RefusedForm, Secret, Tag},
};
use crate::{
    clock::Timestamp,
    user::{ApiKey, KeyState, User},
};

/// API keys of machines and people.
#[derive(Template)]
#[template(path = "admin/keys.html", whitespace = "minimize")]
pub struct ApiKeys<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
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

impl ApiKeys<'_> {
    fn name(&self) -> Field<'_> {
        let t = self.page.texts();
        self.fill(Field {
            hint: Some(t.admin.key_name_hint.into()),
            ..Field::new("name", "name", t.name, "text", "off")
        })
    }

    fn days(&self) -> Field<'_> {
        self.fill(Field {
            inputmode: Some("numeric"),
            value: "90",
            ..Field::new("days", "days", self.page.texts().admin.valid_days, "text", "off")
        })
    }

    fn condition(&self) -> Field<'_> {
        let t = self.page.texts();
        self.fill(Field {
            is_optional: true,
            hint: Some(t.admin.key_condition_hint.into()),
            ..Field::new("allow", "allow", t.condition, "text", "off")
        })
    }

    fn fill<'a>(&'a self, field: Field<'a>) -> Field<'a> {
        RefusedForm::fill(self.refused, field)
    }

    fn scope_fault(&self) -> Option<&str> {
        let (_, words) = self.refused?.faults.iter().find(|(name, _)| name == "scopes")?;
        Some(words)
    }

    fn list(&self) -> List<'_> {
        let t = self.page.texts();
        let a = &t.admin;
        let columns =
            vec![a.key, a.owner, a.scopes, t.last_used_column, a.validity, t.action_column];
        let rows = self.keys.iter().map(|key| self.row(key)).collect();
        List::new(columns, rows, a.no_keys).followed_by(self.next.clone(), t)
    }

    fn row(&self, key: &ApiKey) -> Vec<Cell<'_>> {
        let (base, t) = (self.page.base, self.page.texts());
        let a = &t.admin;
        let state = key.state(self.now);
        let owner = match key.owner {
            None => Cell::Text(a.machine.into()),
            Some(id) => Cell::user_of(&self.page, self.users, id),
        };
        let revoke = || {
            let action = format!("{base}/admin/keys/revoke");
            let confirm = Confirm::new(action, t.revoke, a.revoke_key_question);
            Cell::Confirm(confirm.about(&*key.name).danger().with("id", key.id.to_string()))
        };
        let [name, scopes, last_used] = cells(key, t, self.now);
        vec![
            name,
            owner,
            scopes,
            last_used,
            match state {
                KeyState::Revoked => Cell::Tags(vec![Tag::bad(a.revoked)]),
                KeyState::Expired => Cell::Tags(vec![Tag::plain(a.expired)]),
                KeyState::Valid => Cell::Time(Moment::end(t, key.expires_at, self.now)),
            },
            if state == KeyState::Valid && self.may_write { revoke() } else { Cell::Nothing },
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
