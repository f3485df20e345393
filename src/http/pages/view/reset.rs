//! The page to set a new password with a reset code.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Texts},
    PageContext,
    field::{Field, Summary},
    html,
};

/// The page to set a new password with a reset code.
#[derive(Clone, Default)]
pub struct Reset<'a> {
    /// The code as it was typed.
    pub code: &'a str,
    /// The fewest characters of a password.
    pub min_password_length: usize,
    /// Why the form was refused.
    pub error: Option<FormError>,
    /// What is wrong with the code.
    pub code_fault: Option<FieldFault>,
    /// What is wrong with the password.
    pub password_fault: Option<FieldFault>,
}

#[derive(Template)]
#[template(path = "reset.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    summary: Option<Summary>,
    code: Field<'a>,
    password: Field<'a>,
}

impl Reset<'_> {
    /// The HTML of the page.
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let code = Field {
            value: self.code,
            hint: Some(t.code_hint.into()),
            ..Field::new("code", "code", t.code, "text", "one-time-code")
        };
        let code = code.with_fault(t, self.code_fault);
        let password = Field::new_password(t, self.min_password_length);
        let password = password.with_fault(t, self.password_fault);
        let summary = Summary::of(t, self.error, &[&code, &password]);
        html(&Html { page, t, summary, code, password })
    }
}
