//! The pages that use a one-time secret: of a mailed link, or as a code that a person types. The page that sets a new
//! password also takes the reset code of the operator.

use askama::Template;

use super::{
    super::text::{FormProblem, Notice},
    PageContext,
    field::{Field, Summary},
};

/// A page that uses a one-time secret.
#[derive(Clone, Template)]
#[template(path = "one_time.html", whitespace = "minimize")]
pub struct OneTimeForm<'a> {
    pub page: PageContext<'a>,
    pub kind: OneTimeKind,
    /// How it gets here.
    pub entry: CodeEntry<'a>,
    /// The address of another account that the browser is signed in to.
    pub signed_in_as: Option<&'a str>,
    /// The title of the app that asks to sign in.
    pub app: Option<&'a str>,
    /// The code as it was typed.
    pub code: &'a str,
    /// Whether "stay signed in" is chosen.
    pub stay: bool,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// Whether the user of the link has a password.
    pub has_password: bool,
    /// The fewest characters of a password.
    pub min_password_length: usize,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
}

/// What a one-time secret is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneTimeKind {
    /// Confirms an address.
    Verify,
    /// Undoes a change of the address, and sets a new password.
    Restore,
    /// Sets a new password.
    Reset,
    SignIn,
    /// Removes all second factors, with the operator's link.
    ResetFactors,
}

/// How a one-time secret gets to a page.
#[derive(Clone, Copy)]
pub enum CodeEntry<'a> {
    /// By a mailed link. The form passes the secret on.
    Link {
        secret: &'a str,
        /// The address that the mail was sent to.
        address: &'a str,
    },
    /// The person types the code that was mailed to this address.
    Mailed(&'a str),
    /// The person types the code and the address that it was mailed to.
    Typed {
        /// The address as it was typed.
        email: &'a str,
    },
    /// The person types the reset code that the operator gave them.
    Operator,
}

impl<'a> OneTimeForm<'a> {
    /// A form that takes the code of the operator and sets a new password, and that was not sent yet.
    pub fn new(page: PageContext<'a>) -> Self {
        Self {
            page,
            kind: OneTimeKind::Reset,
            entry: CodeEntry::Operator,
            signed_in_as: None,
            app: None,
            code: "",
            stay: false,
            target: None,
            has_password: false,
            min_password_length: 0,
            notice: None,
            problem: FormProblem::default(),
        }
    }

    /// The secret and the address of a link.
    fn link(&self) -> Option<(&str, &str)> {
        match self.entry {
            CodeEntry::Link { secret, address } => Some((secret, address)),
            CodeEntry::Mailed(_) | CodeEntry::Typed { .. } | CodeEntry::Operator => None,
        }
    }

    /// The address that the code was mailed to.
    fn mailed_to(&self) -> Option<&str> {
        match self.entry {
            CodeEntry::Mailed(address) => Some(address),
            CodeEntry::Link { .. } | CodeEntry::Typed { .. } | CodeEntry::Operator => None,
        }
    }

    /// The summary and the fields, as far as they are there: the address, the code and the password.
    fn form(&self) -> (Summary, [Option<Field<'_>>; 3]) {
        let t = self.page.texts();
        let email = match self.entry {
            CodeEntry::Typed { email } => Some(Field::email(t, email)),
            CodeEntry::Link { .. } | CodeEntry::Mailed(_) | CodeEntry::Operator => None,
        };
        let code = match self.entry {
            CodeEntry::Link { .. } => None,
            CodeEntry::Mailed(_) | CodeEntry::Typed { .. } => Some(Field::mail_code(t, self.code)),
            CodeEntry::Operator => Some(Field {
                value: self.code,
                hint: Some(t.code_hint.into()),
                ..Field::new("code", "code", t.code, "text", "one-time-code")
            }),
        };
        let password = match self.kind {
            OneTimeKind::Reset | OneTimeKind::Restore => {
                Some(Field::new_password(t, self.min_password_length))
            }
            OneTimeKind::ResetFactors => self.has_password.then(|| Field::password(t)),
            OneTimeKind::Verify | OneTimeKind::SignIn => None,
        };
        let mut fields = [email, code, password];
        let first = self.mailed_to().map(|_| "code");
        let mut shown: Vec<_> = fields.iter_mut().flatten().collect();
        let summary = Summary::of(t, &self.problem, &mut shown, first);
        (summary, fields)
    }

    fn path(&self) -> &'static str {
        match self.kind {
            OneTimeKind::Verify => "/verify",
            OneTimeKind::Restore => "/restore-email",
            OneTimeKind::Reset => "/reset",
            OneTimeKind::SignIn => "/sign-in/code/use",
            OneTimeKind::ResetFactors => "/factors/reset",
        }
    }

    fn button(&self) -> &'static str {
        let t = self.page.texts();
        match self.kind {
            OneTimeKind::Verify => t.confirm_address,
            OneTimeKind::Restore => t.restore,
            OneTimeKind::Reset => t.set_password,
            OneTimeKind::SignIn => t.sign_in,
            OneTimeKind::ResetFactors => t.factors.reset,
        }
    }

    /// The page that sends the mail again.
    fn again(&self) -> Option<String> {
        let query = PageContext::query(self.target);
        self.mailed_to()?;
        match self.kind {
            OneTimeKind::Reset => Some(format!("/forgot{query}")),
            OneTimeKind::SignIn => Some(format!("/sign-in/code{query}")),
            OneTimeKind::Verify | OneTimeKind::Restore | OneTimeKind::ResetFactors => None,
        }
    }

    fn signs_in(&self) -> bool {
        self.kind == OneTimeKind::SignIn
    }

    fn confirms(&self) -> bool {
        self.kind == OneTimeKind::Verify
    }

    fn heading(&self) -> String {
        let t = self.page.texts();
        match (self.kind, self.app) {
            (OneTimeKind::Verify, _) => t.verify_heading.into(),
            (OneTimeKind::Restore, _) => t.restore_heading.into(),
            (OneTimeKind::Reset, _) => t.reset_heading.into(),
            (OneTimeKind::ResetFactors, _) => t.factors.reset_heading.into(),
            (OneTimeKind::SignIn, Some(app)) => t.sign_in_to(app),
            (OneTimeKind::SignIn, None) => t.sign_in_heading.into(),
        }
    }

    fn explanation(&self) -> Vec<String> {
        let t = self.page.texts();
        let what = match (self.entry, self.kind) {
            (CodeEntry::Link { address, .. }, OneTimeKind::Verify) => t.verify_link(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::Restore) => t.restore_link(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::Reset) => t.reset_link(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::SignIn) => t.sign_in_link(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::ResetFactors) => {
                t.factors.reset_link(address)
            }
            (CodeEntry::Mailed(address), _) => t.code_mailed(address),
            (CodeEntry::Typed { .. }, _) => t.code_typed.into(),
            (CodeEntry::Operator, _) => {
                return vec![t.reset_explanation(&self.page.branding.name)];
            }
        };
        match self.kind {
            OneTimeKind::Restore => vec![what, t.restore_explanation.into()],
            OneTimeKind::Reset => vec![what, t.reset_ends_sessions.into()],
            OneTimeKind::Verify => vec![what],
            OneTimeKind::ResetFactors => vec![what, t.factors.reset_explanation.into()],
            OneTimeKind::SignIn => {
                let other = self.signed_in_as.map(|email| t.sign_in_instead(email));
                [what].into_iter().chain(other).collect()
            }
        }
    }
}
