//! The pages that use a one-time secret: of a mailed link, or as a code that a person types. The page that sets a new
//! password also takes the reset code of the operator.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Notice, Texts},
    PageContext,
    field::{Field, Summary},
    html,
};

/// A page that uses a one-time secret.
#[derive(Clone, Default)]
pub struct OneTimeForm<'a> {
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
    pub error: Option<FormError>,
    pub email_fault: Option<FieldFault>,
    pub code_fault: Option<FieldFault>,
    pub password_fault: Option<FieldFault>,
}

/// What a one-time secret is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OneTimeKind {
    /// Confirms an address.
    Verify,
    /// Undoes a change of the address, and sets a new password.
    Restore,
    /// Sets a new password.
    #[default]
    Reset,
    SignIn,
    /// Removes all second factors, with the operator's link.
    ResetFactors,
}

/// How a one-time secret gets to a page.
#[derive(Clone, Copy, Default)]
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
    #[default]
    Operator,
}

#[derive(Template)]
#[template(path = "one_time.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    view: &'a OneTimeForm<'a>,
    heading: String,
    explanation: Vec<String>,
    notice: Option<&'static str>,
    summary: Summary,
    path: &'static str,
    /// The secret and the address of a link.
    link: Option<(&'a str, &'a str)>,
    /// The address that the code was mailed to.
    mailed_to: Option<&'a str>,
    email: Option<Field<'a>>,
    code: Option<Field<'a>>,
    password: Option<Field<'a>>,
    button: &'static str,
    /// The page that sends the mail again.
    again: Option<String>,
    query: String,
}

impl OneTimeForm<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let (link, mailed_to) = match self.entry {
            CodeEntry::Link { secret, address } => (Some((secret, address)), None),
            CodeEntry::Mailed(address) => (None, Some(address)),
            CodeEntry::Typed { .. } | CodeEntry::Operator => (None, None),
        };
        let mut email = match self.entry {
            CodeEntry::Typed { email } => Some(Field::email(t, email)),
            _ => None,
        };
        let mut code = match self.entry {
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
        email = email.map(|field| field.with_fault(t, self.email_fault));
        code = code.map(|field| field.with_fault(t, self.code_fault));
        let mut password = password.map(|field| field.with_fault(t, self.password_fault));
        let mut fields: Vec<_> =
            [&mut email, &mut code, &mut password].into_iter().flatten().collect();
        let summary = Summary::of(t, self.error, &mut fields, mailed_to.map(|_| "code"));
        let query = PageContext::query(self.target);
        let again = match (self.kind, mailed_to) {
            (OneTimeKind::Reset, Some(_)) => Some(format!("/forgot{query}")),
            (OneTimeKind::SignIn, Some(_)) => Some(format!("/sign-in/code{query}")),
            _ => None,
        };
        html(&Html {
            page,
            t,
            view: self,
            heading: self.heading(t),
            explanation: self.explanation(page),
            notice: self.notice.map(t.notice),
            summary,
            path: match self.kind {
                OneTimeKind::Verify => "/verify",
                OneTimeKind::Restore => "/restore-email",
                OneTimeKind::Reset => "/reset",
                OneTimeKind::SignIn => "/sign-in/code/use",
                OneTimeKind::ResetFactors => "/factors/reset",
            },
            link,
            mailed_to,
            email,
            code,
            password,
            button: match self.kind {
                OneTimeKind::Verify => t.confirm_address,
                OneTimeKind::Restore => t.restore,
                OneTimeKind::Reset => t.set_password,
                OneTimeKind::SignIn => t.sign_in,
                OneTimeKind::ResetFactors => t.factors.reset,
            },
            again,
            query,
        })
    }

    fn signs_in(&self) -> bool {
        self.kind == OneTimeKind::SignIn
    }

    fn confirms(&self) -> bool {
        self.kind == OneTimeKind::Verify
    }

    fn heading(&self, t: &Texts) -> String {
        match (self.kind, self.app) {
            (OneTimeKind::Verify, _) => t.verify_heading.into(),
            (OneTimeKind::Restore, _) => t.restore_heading.into(),
            (OneTimeKind::Reset, _) => t.reset_heading.into(),
            (OneTimeKind::ResetFactors, _) => t.factors.reset_heading.into(),
            (OneTimeKind::SignIn, Some(app)) => (t.sign_in_to)(app),
            (OneTimeKind::SignIn, None) => t.sign_in_heading.into(),
        }
    }

    fn explanation(&self, page: &PageContext<'_>) -> Vec<String> {
        let t = page.texts();
        let what = match (self.entry, self.kind) {
            (CodeEntry::Link { address, .. }, OneTimeKind::Verify) => (t.verify_link)(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::Restore) => (t.restore_link)(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::Reset) => (t.reset_link)(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::SignIn) => (t.sign_in_link)(address),
            (CodeEntry::Link { address, .. }, OneTimeKind::ResetFactors) => {
                (t.factors.reset_link)(address)
            }
            (CodeEntry::Mailed(address), _) => (t.code_mailed)(address),
            (CodeEntry::Typed { .. }, _) => t.code_typed.into(),
            (CodeEntry::Operator, _) => {
                return vec![(t.reset_explanation)(&page.branding.name)];
            }
        };
        match self.kind {
            OneTimeKind::Restore => vec![what, t.restore_explanation.into()],
            OneTimeKind::Reset => vec![what, t.reset_ends_sessions.into()],
            OneTimeKind::Verify => vec![what],
            OneTimeKind::ResetFactors => vec![what, t.factors.reset_explanation.into()],
            OneTimeKind::SignIn => {
                let other = self.signed_in_as.map(t.sign_in_instead);
                [what].into_iter().chain(other).collect()
            }
        }
    }
}
