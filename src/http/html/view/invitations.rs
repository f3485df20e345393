//! The page on which a person invites others.

use askama::Template;

use super::{
    super::text::{FormProblem, Notice, Span},
    PageContext,
    field::{Field, Summary},
};
use crate::{clock::Timestamp, user::Invitation};

/// The most invitations on the page, which has to stay small.
const MAX_INVITATION_ROWS: usize = 20;

/// The page on which a person invites others.
#[derive(Clone, Template)]
#[template(path = "invitations.html", whitespace = "minimize")]
pub struct Invitations<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    /// The invitations of the person that were not used yet, by address.
    pub invitations: &'a [Invitation],
    /// The invitation that was just made, to be handed over.
    pub ticket: Option<Ticket<'a>>,
    /// The address as it was typed.
    pub email: &'a str,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
}

/// What an invited person gets from whoever invites them, if the service sends no mail.
#[derive(Clone, Copy)]
pub struct Ticket<'a> {
    /// Who is invited.
    pub email: &'a str,
    /// The link to the page on which they create an account.
    pub link: Option<&'a str>,
    /// The code that they can type there.
    pub code: &'a str,
}

impl<'a> Invitations<'a> {
    /// A page that shows no invitation, and no form that was sent.
    pub fn new(page: PageContext<'a>) -> Self {
        Self {
            page,
            now: Timestamp::from_seconds(0),
            invitations: &[],
            ticket: None,
            email: "",
            notice: None,
            problem: FormProblem::default(),
        }
    }

    /// The summary and the address.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut email = Field { autocomplete: "off", ..Field::email(t, self.email) };
        let summary = Summary::of(t, &self.problem, &mut [&mut email], None);
        (summary, email)
    }

    /// The invitations that the page shows.
    fn shown(&self) -> impl Iterator<Item = &Invitation> {
        self.invitations.iter().take(MAX_INVITATION_ROWS)
    }

    fn has_more(&self) -> bool {
        self.invitations.len() > MAX_INVITATION_ROWS
    }

    /// Until when an invitation is valid, and for how long if that is less than a day.
    fn validity(&self, invitation: &Invitation) -> String {
        let t = self.page.texts();
        let exact = t.language.moment(invitation.expires_at.millis());
        match Span::between(self.now, invitation.expires_at) {
            span @ (Span::Seconds(_) | Span::Minutes(_) | Span::Hours(_)) => {
                format!("{} ({exact})", t.still_valid(span))
            }
            _ => t.valid_until(&exact),
        }
    }
}
