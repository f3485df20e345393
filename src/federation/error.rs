//! Why a provider says nothing that counts.

use crate::event::ExternalFailure;

/// Why a provider says nothing that counts. The text is for the log of the operator: it has no secrets, and of the texts of
/// strangers only what [`printable`] leaves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    #[error("{url}: {cause}")]
    Unreachable { url: String, cause: String },
    #[error("its discovery document cannot be used: {0}")]
    BadDiscovery(String),
    #[error("its issuer is {found:?} and should be {expected:?}")]
    Issuer { expected: String, found: String },
    #[error("the person has cancelled")]
    Cancelled,
    /// It was asked not to, and so says nothing.
    #[error("it must ask the person first")]
    MustAsk,
    #[error("it refuses: {0}")]
    Refused(String),
    #[error("the browser has come back {0}")]
    BadAnswer(&'static str),
    #[error("the secret or the key for it cannot be used: {0}")]
    Credential(String),
    #[error("it does not accept the client id or the secret: {0}")]
    ClientRefused(String),
    #[error("it does not accept the code: {0}")]
    CodeRefused(String),
    #[error("its token does not count: {0}")]
    BadToken(&'static str),
    #[error("its token is for another sign-in: the nonce differs")]
    Nonce,
    /// How much later its clock is than the one here.
    #[error("its clock is {} s {}", .seconds.unsigned_abs(), if *.seconds > 0 { "ahead of the one here" } else { "behind the one here" })]
    Clock { seconds: i64 },
    #[error("what it says of the person cannot be used: {0}")]
    BadUserinfo(String),
}

impl ProviderError {
    /// The kind of it, for metrics and events.
    pub fn fault(&self) -> ExternalFailure {
        match self {
            Self::Unreachable { .. } => ExternalFailure::Unreachable,
            Self::BadDiscovery(_) => ExternalFailure::BadDiscovery,
            Self::Issuer { .. } => ExternalFailure::Issuer,
            Self::Cancelled => ExternalFailure::Cancelled,
            Self::MustAsk => ExternalFailure::MustAsk,
            Self::Refused(_) => ExternalFailure::Refused,
            Self::BadAnswer(_) => ExternalFailure::BadAnswer,
            Self::Credential(_) => ExternalFailure::Credential,
            Self::ClientRefused(_) => ExternalFailure::ClientRefused,
            Self::CodeRefused(_) => ExternalFailure::CodeRefused,
            Self::BadToken(_) => ExternalFailure::BadToken,
            Self::Nonce => ExternalFailure::Nonce,
            Self::Clock { .. } => ExternalFailure::Clock,
            Self::BadUserinfo(_) => ExternalFailure::BadUserinfo,
        }
    }

    pub(super) fn issuer(expected: &str, found: &str) -> Self {
        Self::Issuer { expected: printable(expected), found: printable(found) }
    }
}

/// The text of a stranger in a log: at most 200 characters, none of which changes how the others are shown.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|character| !crate::user::is_control(*character)).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_says_by_how_much() {
        let text = |seconds| ProviderError::Clock { seconds }.to_string();
        assert_eq!(text(300), "its clock is 300 s ahead of the one here");
        assert_eq!(text(-90), "its clock is 90 s behind the one here");
    }

    #[test]
    fn the_text_of_a_stranger_is_short_and_printable() {
        assert_eq!(printable("a\n\u{202e}b"), "ab");
        assert_eq!(printable(&"ü".repeat(300)), "ü".repeat(200));
    }
}
