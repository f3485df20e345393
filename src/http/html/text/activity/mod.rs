//! The words of the page with the recent activity of an account.

pub(super) mod de;
pub(super) mod en;

/// The texts about recent activity in one language.
pub struct ActivityTexts {
    pub heading: &'static str,
    pub explanation: &'static str,
    pub show: &'static str,
    pub none: &'static str,
    pub older: &'static str,
    pub newest: &'static str,
    /// Who has caused it, unless it is the person.
    pub by_administrator: &'static str,
    pub by_unknown: &'static str,
    pub by_service: &'static str,
}
