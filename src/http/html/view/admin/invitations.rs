//! All invitations that were not used yet.

use askama::Template;

use super::{
    super::{PageContext, field::Field},
    frame::Frame,
    parts::{Cell, Confirm, List, Moment, RefusedForm, Secret, Tag},
};
use crate::{
    clock::Timestamp,
    user::{Invitation, User},
};

/// All invitations that were not used yet.
#[derive(Template)]
#[template(path = "admin/invitations.html", whitespace = "minimize")]
pub struct AdminInvitations<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub now: Timestamp,
    pub invitations: &'a [Invitation],
    /// Those who have made them and still exist.
    pub users: &'a [User],
    /// The address of the next page.
    pub next: Option<String>,
    pub may_write: bool,
    pub sends_mail: bool,
    /// The invitation that was just made, to be handed over.
    pub secret: Option<&'a Secret>,
    pub refused: Option<&'a RefusedForm>,
}

impl AdminInvitations<'_> {
    fn email(&self) -> Field<'_> {
        self.fill(Field { autocomplete: "off", ..Field::email(self.page.texts(), "") })
    }

    fn roles(&self) -> Field<'_> {
        let a = &self.page.texts().admin;
        self.fill(Field {
            is_optional: true,
            hint: Some(a.invite_roles_hint.into()),
            ..Field::new("roles", "roles", a.roles, "text", "off")
        })
    }

    fn days(&self) -> Field<'_> {
        self.fill(Field {
            inputmode: Some("numeric"),
            value: "7",
            ..Field::new("days", "days", self.page.texts().admin.valid_days, "text", "off")
        })
    }

    fn fill<'a>(&'a self, field: Field<'a>) -> Field<'a> {
        RefusedForm::fill(self.refused, field)
    }

    fn list(&self) -> List<'_> {
        let t = self.page.texts();
        let a = &t.admin;
        let columns = vec![t.email, a.roles, a.invited_by, a.validity, t.action_column];
        let rows = self.invitations.iter().map(|invitation| self.row(invitation)).collect();
        List::new(columns, rows, a.no_invitations).followed_by(self.next.clone(), t)
    }

    fn row(&self, invitation: &Invitation) -> Vec<Cell<'_>> {
        let (base, t) = (self.page.base, self.page.texts());
        let a = &t.admin;
        let email = invitation.email.as_str();
        let revoke = || {
            let action = format!("{base}/admin/invitations/revoke");
            let confirm = Confirm::new(action, t.revoke, a.revoke_invitation);
            Cell::Confirm(confirm.about(email).danger().with("id", invitation.id.to_string()))
        };
        let inviter = match invitation.invited_by {
            Some(id) => Cell::user_of(&self.page, self.users, id),
            None => Cell::Text(a.by_operator.into()),
        };
        vec![
            Cell::Text(email.into()),
            Cell::tags_or_nothing(invitation.roles.iter().map(Tag::plain).collect()),
            inviter,
            Cell::Time(Moment::end(t, invitation.expires_at, self.now)),
            if self.may_write { revoke() } else { Cell::Nothing },
        ]
    }
}
