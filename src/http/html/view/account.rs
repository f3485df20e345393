//! The page of one's own account.

use askama::Template;

use super::{
    super::text::{FormProblem, Notice, Span},
    PageContext,
    field::{Field, SignInWith, Summary},
};
use crate::{
    clock::Timestamp,
    session::{Session, SessionId, device::Device},
};

/// The most sessions on the page, which has to stay small.
const MAX_SESSION_ROWS: usize = 6;

/// The page of one's own account.
#[derive(Clone, Template)]
#[template(path = "account.html", whitespace = "minimize")]
pub struct Account<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    /// The stored name.
    pub name: &'a str,
    /// The stored e-mail address.
    pub email: &'a str,
    /// Whether the address is verified.
    pub is_verified: bool,
    /// A new address that is still to be verified.
    pub pending_email: Option<&'a str>,
    /// Whether a mail was sent with a code that verifies the address and can still be typed.
    pub is_verification_mailed: bool,
    pub sends_mail: bool,
    pub has_password: bool,
    /// How the person confirms a new address, a new password and the end of the account.
    pub confirm: Confirm,
    /// The form that is shown open.
    pub open: Option<OpenForm>,
    /// The fewest characters of a password.
    pub min_password_length: usize,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
    /// The form that was refused.
    pub failed: Option<FailedForm<'a>>,
    /// All sessions of the person. Those that the page shows come first.
    pub sessions: &'a [Session],
    /// The session with which the page was asked for.
    pub current: SessionId,
    /// The apps that admit the person.
    pub apps: Vec<AppLink<'a>>,
    /// For how many days the audit trail keeps what happened to a deleted account; `None` is for ever.
    pub kept_days: Option<u32>,
    pub may_invite: bool,
    /// Whether the person administers the service.
    pub is_admin: bool,
}

/// How a person confirms that it is they.
#[derive(Clone)]
pub enum Confirm {
    /// By the password in the form.
    WithPassword,
    /// They have just done it.
    Confirmed,
    /// On another page, from which they return to the form. These are its paths.
    StepUp { email: String, password: String, delete: String },
    /// By nothing that they have.
    Impossible,
}

/// A form that is shown open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenForm {
    Email,
    Delete,
}

/// A form of the page that was refused. The page shows it open, with what was typed except passwords.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FailedForm<'a> {
    Name {
        typed: &'a str,
    },
    Email {
        typed: &'a str,
    },
    Password,
    /// The mail that verifies the address, which was not sent.
    Verification,
    Delete,
}

/// An app that admits the person.
#[derive(Clone, Copy)]
pub struct AppLink<'a> {
    pub title: &'a str,
    /// The address of its start page.
    pub url: &'a str,
}

impl AppLink<'_> {
    fn host(&self) -> &str {
        let after_scheme = self.url.split_once("://").map_or(self.url, |(_, rest)| rest);
        after_scheme.split('/').next().unwrap_or_default()
    }
}

/// An address that has to be verified, and what to do about it.
struct Unconfirmed<'a> {
    address: &'a str,
    words: String,
    /// Whether a mail with a code that can still be typed was sent.
    is_mailed: bool,
}

/// A session in words.
struct Row<'a> {
    session: &'a Session,
    is_current: bool,
    device: String,
    ago: String,
    exact: String,
}

impl Account<'_> {
    /// The summary and the fields: the name, the address and its password, the current and the new password, and the
    /// password for the end of the account.
    fn form(&self) -> (Summary, [Field<'_>; 6]) {
        let t = self.page.texts();
        let confirm =
            |id| Field::new(id, "password", t.confirm_password, "password", "current-password");
        let mut name = Field::name(t, self.name);
        let mut email = Field { autocomplete: "email", ..Field::email(t, self.email) };
        let mut email_password = confirm("email-password");
        let mut current =
            Field::new("current", "current", t.current_password, "password", "current-password");
        let mut new =
            Field { id: "new", name: "new", ..Field::new_password(t, self.min_password_length) };
        let mut delete_password = confirm("delete-password");
        // Several forms send a password by the same name. Only one of them was refused.
        let mut refused = match self.failed {
            None | Some(FailedForm::Verification) => vec![],
            Some(FailedForm::Name { typed }) => {
                name.value = typed;
                vec![&mut name]
            }
            Some(FailedForm::Email { typed }) => {
                email.value = typed;
                email.way_out = self.taken_email().map(|_| t.sign_in_with_it);
                vec![&mut email, &mut email_password]
            }
            Some(FailedForm::Password) => vec![&mut current, &mut new],
            Some(FailedForm::Delete) => vec![&mut delete_password],
        };
        let summary = Summary::of(t, &self.problem, &mut refused, None);
        (summary, [name, email, email_password, current, new, delete_password])
    }

    /// The address that was typed, if it already has an account.
    fn taken_email(&self) -> Option<&str> {
        match self.failed? {
            FailedForm::Email { typed } if self.problem.is_email_taken() => Some(typed),
            _ => None,
        }
    }

    fn sign_in_with(&self) -> Option<SignInWith<'_>> {
        let (base, target) = (self.page.base, None);
        self.taken_email().map(|email| SignInWith { base, email, target })
    }

    fn session_rows(&self) -> impl Iterator<Item = Row<'_>> {
        let t = self.page.texts();
        self.sessions.iter().take(MAX_SESSION_ROWS).map(move |session| Row {
            session,
            is_current: session.id == self.current,
            device: Device::of(&session.client.user_agent).in_words(t.language),
            ago: t.ago(Span::between(session.last_seen_at, self.now)),
            exact: t.language.moment(session.last_seen_at.millis()),
        })
    }

    /// How many sessions are not shown.
    fn more_sessions(&self) -> usize {
        self.sessions.len().saturating_sub(MAX_SESSION_ROWS)
    }

    /// The address that has to be verified, if a mail can be sent to it.
    fn unconfirmed(&self) -> Option<Unconfirmed<'_>> {
        let t = self.page.texts();
        let (address, words, is_mailed) = match self.pending_email {
            _ if !self.sends_mail => return None,
            Some(address) => (address, t.pending_email(address), true),
            None if self.is_verified => return None,
            None if self.is_verification_mailed => {
                (self.email, t.verification_mailed(self.email), true)
            }
            None => (self.email, t.verification_offered(self.email), false),
        };
        Some(Unconfirmed { address, words, is_mailed })
    }

    /// Whether the forms that change the address and delete the account can be sent.
    fn has_forms(&self) -> bool {
        matches!(self.confirm, Confirm::WithPassword | Confirm::Confirmed)
    }

    fn is_name_open(&self) -> bool {
        matches!(self.failed, Some(FailedForm::Name { .. }))
    }

    fn is_email_open(&self) -> bool {
        self.open == Some(OpenForm::Email) || matches!(self.failed, Some(FailedForm::Email { .. }))
    }

    fn is_delete_open(&self) -> bool {
        let is_open = self.open == Some(OpenForm::Delete);
        is_open || self.failed == Some(FailedForm::Delete)
    }
}
