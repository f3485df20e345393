//! The page after an emergency, which nobody is signed in to any more: what was replaced and revoked.

use askama::Template;

use super::super::PageContext;
use crate::account::emergency::EmergencyReport;

/// What an emergency has replaced and revoked.
#[derive(Template)]
#[template(path = "admin/emergency.html", whitespace = "minimize")]
pub struct EmergencyDone<'a> {
    pub page: PageContext<'a>,
    pub report: &'a EmergencyReport,
}
