//! Whether everybody needs a second factor.

use crate::session::Session;

/// Whether everybody needs a second factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FactorPolicy {
    /// Users choose, and guards ask for what they need.
    #[default]
    Optional,
    /// A session of one factor opens only the own account, where the user sets up a second one.
    Required,
}

impl FactorPolicy {
    /// Whether a session opens more than the own account.
    pub fn admits(self, session: &Session) -> bool {
        self == Self::Optional || session.methods.strength() >= 2
    }
}
