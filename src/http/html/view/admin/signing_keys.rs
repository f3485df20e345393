//! The keys that tokens are signed with.

use askama::Template;

use super::{
    super::{super::text::Texts, PageContext},
    frame::Frame,
    parts::{Cell, Confirm, List, Tag},
};
use crate::token::signing_keys::{KeyInfo, KeyStatus};

/// The keys that tokens are signed with.
#[derive(Template)]
#[template(path = "admin/signing_keys.html", whitespace = "minimize")]
pub struct SigningKeysPage<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub keys: &'a [KeyInfo],
    pub may_write: bool,
}

impl SigningKeysPage<'_> {
    fn list(&self) -> List<'_> {
        let revoke = self.may_write.then(|| self.order("revoke"));
        list(self.keys, revoke.as_deref(), self.page.texts())
    }

    fn rotate(&self) -> Option<Confirm<'_>> {
        let a = &self.page.texts().admin;
        let rotate = || Confirm::new(self.order("rotate"), a.rotate, a.rotate_question);
        self.may_write.then(rotate)
    }

    /// Where an order is sent.
    fn order(&self, form: &str) -> String {
        format!("{}/admin/signing-keys/{form}", self.page.base)
    }
}

/// Signing keys as a table, with the address of the form that revokes one.
pub(super) fn list(keys: &[KeyInfo], revoke: Option<&str>, t: &'static Texts) -> List<'static> {
    let a = &t.admin;
    let row = |key: &KeyInfo| {
        let stage = a.key_stage(key.status);
        let stage = match key.status {
            KeyStatus::Signing => Tag::good(stage),
            _ => Tag::plain(stage),
        };
        let id = key.id.to_string();
        let mut cells = vec![
            Cell::Code(id.clone()),
            Cell::Text(key.algorithm.name().into()),
            Cell::Tags(vec![stage]),
            Cell::text_or_nothing(
                key.until.map(|at| t.language.moment(at.millis())).unwrap_or_default(),
            ),
        ];
        if let Some(action) = revoke {
            let confirm = Confirm::new(action.into(), t.revoke, a.revoke_signing_key);
            cells.push(Cell::Confirm(confirm.about(&*id).danger().with("kid", &*id)));
        }
        cells
    };
    let mut columns = vec![a.id, a.algorithm, a.state, a.until];
    columns.extend(revoke.map(|_| t.action_column));
    List::new(columns, keys.iter().map(row).collect(), "")
}
