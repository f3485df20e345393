//! The page that asks whether to sign out.

use askama::Template;

use super::PageContext;

/// The page that asks whether to sign out.
#[derive(Clone, Copy, Template)]
#[template(path = "sign_out.html", whitespace = "minimize")]
pub struct SignOut<'a> {
    pub page: PageContext<'a>,
    /// The return target, passed on in the URL of the form.
    pub target: Option<&'a str>,
}
