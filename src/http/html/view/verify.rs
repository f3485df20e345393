//! The page on which a person on the way to an app confirms their address.

use askama::Template;

use super::{
    super::text::{FormProblem, Notice},
    PageContext,
    field::{Field, Summary},
};

/// The page on which a person on the way to an app confirms their address.
#[derive(Clone, Template)]
#[template(path = "verify.html", whitespace = "minimize")]
pub struct VerifyForApp<'a> {
    pub page: PageContext<'a>,
    /// The title of the app.
    pub app: &'a str,
    /// The return target, passed on in the field `for`.
    pub target: &'a str,
    /// The address that the code was mailed to.
    pub address: &'a str,
    /// Whether it is a new address of the person. The account sends its mail.
    pub is_new_address: bool,
    /// The code as it was typed.
    pub code: &'a str,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
}

impl VerifyForApp<'_> {
    /// The summary and the code.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut code = Field::mail_code(t, self.code);
        let summary = Summary::of(t, &self.problem, &mut [&mut code], Some("code"));
        (summary, code)
    }

    fn query(&self) -> String {
        PageContext::query(Some(self.target))
    }
}
