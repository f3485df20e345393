//! The page after an emergency, which nobody is signed in to any more: what was replaced and revoked.

use askama::Template;

use super::super::{
    super::text::{AdminTexts, Texts},
    PageContext, html,
};
use crate::account::emergency::EmergencyReport;

/// What an emergency has replaced and revoked.
pub struct EmergencyDone<'a> {
    pub report: &'a EmergencyReport,
}

#[derive(Template)]
#[template(path = "admin/emergency.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    lines: Vec<String>,
}

impl EmergencyDone<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        html(&Html { page, t, a: &t.admin, lines: t.admin.emergency_summary.lines(self.report) })
    }
}
