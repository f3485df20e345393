//! Why a sign-in at another provider has come to nothing, and how that is published.

use super::Error;
use crate::{
    Doorward,
    count::Label,
    event::{EventKind, ExternalFailure},
    federation::ProviderError,
    network::Requester,
    store,
    user::UserId,
};

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExternalError {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Why, and who was not.
    #[error("{}", .0.label())]
    Refused(ExternalFailure, Option<UserId>),
    #[error(transparent)]
    Account(#[from] Error),
}

impl ExternalError {
    /// Whether the browser has brought back what is not right: a code that was made up, or an attempt that was used.
    pub(super) fn is_of_browser(&self) -> bool {
        use ProviderError::{CodeRefused, Nonce};
        matches!(
            self,
            Self::Provider(CodeRefused(_) | Nonce) | Self::Refused(ExternalFailure::Attempt, _)
        )
    }

    /// Why the login has signed nobody in.
    ///
    /// # Errors
    /// The error that is not about the login.
    pub(crate) fn into_failure(self) -> Result<ExternalFailure, Error> {
        match self {
            Self::Account(error) => Err(error),
            Self::Provider(error) => Ok(error.fault()),
            Self::Refused(refusal, _) => Ok(refusal),
        }
    }
}

impl From<ExternalFailure> for ExternalError {
    fn from(refusal: ExternalFailure) -> Self {
        Self::Refused(refusal, None)
    }
}

impl From<store::Error> for ExternalError {
    fn from(error: store::Error) -> Self {
        Self::Account(error.into())
    }
}

/// The outcome of a sign-in by a login. Why it has signed nobody in is published. What a person is asked for next, and what is no refusal,
/// is not.
pub(crate) async fn published<T>(
    doorward: &Doorward,
    login: &str,
    requester: &Requester,
    outcome: impl Future<Output = Result<T, ExternalError>>,
) -> Result<T, ExternalError> {
    outcome.await.inspect_err(|error| publish(doorward, login, requester, error))
}

/// Publishes why a login has signed nobody in.
pub(crate) fn publish(
    doorward: &Doorward,
    login: &str,
    requester: &Requester,
    error: &ExternalError,
) {
    let (reason, user) = match error {
        ExternalError::Account(_) => return,
        ExternalError::Refused(refusal, user) => (*refusal, *user),
        ExternalError::Provider(error) => {
            let fault = error.fault();
            if !matches!(fault, ExternalFailure::Cancelled | ExternalFailure::MustAsk) {
                tracing::warn!(login, %error, "the provider of a login has given no valid answer");
            }
            (fault, None)
        }
    };
    let kind = EventKind::ExternalSignInFailed { login: login.to_owned(), reason };
    doorward.events().publish(&doorward.event_by_unknown(user, requester, kind));
}
