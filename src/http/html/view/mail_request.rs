//! The pages on which a person asks for a mail: to set a new password, or to sign in.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Texts},
    PageContext,
    field::{Field, Summary},
    html,
};

/// A page on which a person asks for a mail.
#[derive(Clone)]
pub struct MailRequest<'a> {
    pub kind: MailRequestKind,
    /// The title of the app that asks to sign in.
    pub app: Option<&'a str>,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// Whether the mail is only for accounts without a password.
    pub only_without_password: bool,
    /// The address as it was typed.
    pub email: &'a str,
    pub error: Option<FormError>,
    pub email_fault: Option<FieldFault>,
}

/// What the mail is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailRequestKind {
    /// Sets a new password.
    Forgot,
    SignIn,
}

#[derive(Template)]
#[template(path = "mail_request.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    view: &'a MailRequest<'a>,
    heading: String,
    explanation: &'static str,
    path: &'static str,
    has_reset_code: bool,
    query: String,
    summary: Summary,
    email: Field<'a>,
}

impl MailRequest<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let (heading, explanation, path) = match (self.kind, self.app) {
            (MailRequestKind::Forgot, _) => {
                (t.forgot_password.into(), t.forgot_explanation, "/forgot")
            }
            (MailRequestKind::SignIn, Some(app)) => {
                ((t.sign_in_to)(app), t.code_sign_in_explanation, "/sign-in/code")
            }
            (MailRequestKind::SignIn, None) => {
                (t.code_sign_in_heading.into(), t.code_sign_in_explanation, "/sign-in/code")
            }
        };
        let mut email = Field::email(t, self.email).with_fault(t, self.email_fault);
        let summary = Summary::of(t, self.error, &mut [&mut email], Some("email"));
        html(&Html {
            page,
            t,
            view: self,
            heading,
            explanation,
            path,
            has_reset_code: self.kind == MailRequestKind::Forgot,
            query: PageContext::query(self.target),
            summary,
            email,
        })
    }
}
