//! The page that asks whether to sign out.

use askama::Template;

use super::{super::text::Texts, PageContext, html};

/// The page that asks whether to sign out.
#[derive(Clone, Copy, Default)]
pub struct SignOut<'a> {
    /// The return target, passed on in the URL of the form.
    pub target: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "sign_out.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    query: String,
}

impl SignOut<'_> {
    pub fn render(self, page: &PageContext<'_>) -> String {
        html(&Html { page, t: page.texts(), query: PageContext::query(self.target) })
    }
}
