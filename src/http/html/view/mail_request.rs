//! The pages on which a person asks for a mail: to set a new password, or to sign in.

use askama::Template;

use super::{
    super::text::FormProblem,
    PageContext,
    field::{Field, Summary},
};

/// A page on which a person asks for a mail.
#[derive(Clone, Template)]
#[template(path = "mail_request.html", whitespace = "minimize")]
pub struct MailRequest<'a> {
    pub page: PageContext<'a>,
    pub kind: MailRequestKind,
    /// The title of the app that asks to sign in.
    pub app: Option<&'a str>,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// Whether the mail is only for accounts without a password.
    pub only_without_password: bool,
    /// The address as it was typed.
    pub email: &'a str,
    pub problem: FormProblem,
}

/// What the mail is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailRequestKind {
    /// Sets a new password.
    Forgot,
    SignIn,
}

impl MailRequest<'_> {
    fn heading(&self) -> String {
        let t = self.page.texts();
        match (self.kind, self.app) {
            (MailRequestKind::Forgot, _) => t.forgot_password.into(),
            (MailRequestKind::SignIn, Some(app)) => t.sign_in_to(app),
            (MailRequestKind::SignIn, None) => t.code_sign_in_heading.into(),
        }
    }

    fn explanation(&self) -> &'static str {
        let t = self.page.texts();
        match self.kind {
            MailRequestKind::Forgot => t.forgot_explanation,
            MailRequestKind::SignIn => t.code_sign_in_explanation,
        }
    }

    fn path(&self) -> &'static str {
        match self.kind {
            MailRequestKind::Forgot => "/forgot",
            MailRequestKind::SignIn => "/sign-in/code",
        }
    }

    fn has_reset_code(&self) -> bool {
        self.kind == MailRequestKind::Forgot
    }

    /// The summary and the address.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut email = Field::email(t, self.email);
        let summary = Summary::of(t, &self.problem, &mut [&mut email], Some("email"));
        (summary, email)
    }
}
