//! The page that asks whether to sign out.

use askama::Template;

use super::{super::text::Texts, PageContext, html};

/// The page that asks whether to sign out.
#[derive(Clone, Copy, Default)]
pub struct SignOut;

#[derive(Template)]
#[template(path = "sign_out.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
}

impl SignOut {
    pub fn render(self, page: &PageContext<'_>) -> String {
        html(&Html { page, t: page.texts() })
    }
}
