//! Why a sign-in at another provider has come to nothing, and how that is published.

use super::Error;
use crate::{
    Doorward,
    event::{EventKind, ExternalFailure, ExternalRefusal, ProviderFault},
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
    #[error("{}", ExternalFailure::Refused(*.0))]
    Refused(ExternalRefusal),
    #[error(transparent)]
    Account(#[from] Error),
}

impl ExternalError {
    /// Why the login has signed nobody in; `None` if that is not about the login.
    fn failure(&self) -> Option<ExternalFailure> {
        match self {
            Self::Provider(error) => Some(ExternalFailure::Provider(error.fault())),
            Self::Refused(refusal) => Some(ExternalFailure::Refused(*refusal)),
            Self::Account(_) => None,
        }
    }

    /// Why the login has signed nobody in.
    ///
    /// # Errors
    /// The error that is not about the login.
    pub(crate) fn into_failure(self) -> Result<ExternalFailure, Error> {
        match self {
            Self::Account(error) => Err(error),
            Self::Provider(error) => Ok(ExternalFailure::Provider(error.fault())),
            Self::Refused(refusal) => Ok(ExternalFailure::Refused(refusal)),
        }
    }
}

impl From<store::Error> for ExternalError {
    fn from(error: store::Error) -> Self {
        Self::Account(error.into())
    }
}

/// Publishes why a login has signed nobody in. What a person is asked for next, and what is no refusal, is not published.
pub(crate) fn refuse(
    doorward: &Doorward,
    login: &str,
    error: ExternalError,
    user: Option<UserId>,
    requester: &Requester,
) -> ExternalError {
    let Some(reason) = error.failure() else { return error };
    if let ExternalError::Provider(cause) = &error
        && cause.fault() != ProviderFault::Cancelled
    {
        tracing::warn!(login, error = %cause, "the provider of a login has given no valid answer");
    }
    let kind = EventKind::ExternalSignInFailed { login: login.to_owned(), reason };
    doorward.events().publish(&doorward.event_by_unknown(user, requester, kind));
    error
}
