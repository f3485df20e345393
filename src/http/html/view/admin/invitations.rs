//! All invitations that were not used yet.

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
    user::{Invitation, User},
};

/// All invitations that were not used yet.
pub struct AdminInvitations<'a> {
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

#[derive(Template)]
#[template(path = "admin/invitations.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    may_invite: bool,
    sends_mail: bool,
    secret: Option<&'a Secret>,
    email: Field<'a>,
    roles: Field<'a>,
    days: Field<'a>,
    list: List<'a>,
}

impl AdminInvitations<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let a = &t.admin;
        let fill = |field| RefusedForm::fill(self.refused, "invitations", field);
        let row = |invitation: &Invitation| {
            let email = invitation.email.as_str();
            let revoke = || {
                let action = format!("{}/admin/invitations/revoke", page.base);
                let confirm = Confirm::new(action, t.revoke, a.revoke_invitation);
                Cell::Confirm(confirm.about(email).danger().with("id", invitation.id.to_string()))
            };
            let inviter = match invitation.invited_by {
                Some(id) => match self.users.iter().find(|user| user.id == id) {
                    Some(user) => Cell::Link(
                        format!("{}/admin/users/{id}", page.base),
                        user.name.as_str().into(),
                        user.email.as_str().into(),
                    ),
                    None => Cell::Text(a.deleted_user.into()),
                },
                None => Cell::Text(a.by_operator.into()),
            };
            vec![
                Cell::Text(email.into()),
                Cell::tags_or_nothing(invitation.roles.iter().map(Tag::plain).collect()),
                inviter,
                Cell::Time(Moment::end(t, invitation.expires_at, self.now)),
                if self.may_write { revoke() } else { Cell::Nothing },
            ]
        };
        let columns = vec![t.email, a.roles, a.invited_by, a.validity, t.action_column];
        let rows = self.invitations.iter().map(row).collect();
        html(&Html {
            page,
            t,
            a,
            frame,
            may_invite: self.may_write,
            sends_mail: self.sends_mail,
            secret: self.secret,
            email: fill(Field { autocomplete: "off", ..Field::email(t, "") }),
            roles: fill(Field {
                is_optional: true,
                hint: Some(a.invite_roles_hint.into()),
                ..Field::new("roles", "roles", a.roles, "text", "off")
            }),
            days: fill(Field {
                inputmode: Some("numeric"),
                value: "7",
                ..Field::new("days", "days", a.valid_days, "text", "off")
            }),
            list: List::new(columns, rows, a.no_invitations).followed_by(self.next.clone(), t),
        })
    }
}
