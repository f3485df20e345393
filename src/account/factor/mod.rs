//! Second factors: what a user holds, adding and removing it, and proving who they are with it.

pub(crate) mod answer;
pub(super) mod budget;
pub(crate) mod passkey;
pub(crate) mod recovery_codes;
pub(crate) mod step_up;
pub(crate) mod totp;

use super::{Failure, OpenedSession, has_failure, proof::is_fresh};
use crate::{
    Caller, Doorward,
    credential::recovery_code::{COUNT, RecoveryCode},
    session::Session,
    store::{AddFactor, Holder, RemoveFactor},
    user::User,
};

/// A factor that was added.
pub(crate) struct Enrolled {
    /// The recovery codes, if it is the first factor. They are shown once.
    pub(crate) recovery_codes: Option<Vec<RecoveryCode>>,
    /// The session, which has proved the new factor as well. It has a new token.
    pub(crate) opened: OpenedSession,
}

/// Why a factor was not added or removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnrolError {
    #[error("the user has to sign in again")]
    SignInAgain,
    /// The service does not offer this kind.
    #[error("factors of this kind are not offered")]
    NotOffered,
    /// What was sent to set it up is not ours, has expired or belongs to another user.
    #[error("the setup has expired")]
    Expired,
    #[error("the code is wrong")]
    WrongCode,
    #[error("the authenticator's answer is not valid: {0}")]
    Invalid(crate::credential::passkey::Invalid),
    /// The passkey is registered, or the user has an authenticator app already.
    #[error("the factor exists already")]
    Taken,
    #[error("the user has the most passkeys that one can have")]
    TooMany,
    /// The user has no such factor.
    #[error("there is no such factor")]
    NoSuchFactor,
    /// The user could not sign in any more.
    #[error("it is the last way to sign in")]
    LastWayIn,
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(EnrolError);

fn require_fresh(doorward: &Doorward, caller: &Caller) -> Result<(), EnrolError> {
    match is_fresh(doorward, &caller.user, &caller.session) {
        true => Ok(()),
        false => Err(EnrolError::SignInAgain),
    }
}

/// New recovery codes for a user without a factor.
fn first_recovery_codes(user: &User) -> Option<Vec<RecoveryCode>> {
    user.factors.is_empty().then(new_recovery_codes)
}

pub(super) fn new_recovery_codes() -> Vec<RecoveryCode> {
    (0..COUNT).map(|_| RecoveryCode::random()).collect()
}

/// What a person gets who has added a factor in this session, as it is with the factor.
fn enrolled(
    caller: &Caller,
    added: AddFactor,
    session: Session,
    recovery_codes: Option<Vec<RecoveryCode>>,
) -> Result<Enrolled, EnrolError> {
    match added {
        AddFactor::Added => {
            let user = (*caller.user).clone();
            Ok(Enrolled { recovery_codes, opened: OpenedSession { user, session } })
        }
        AddFactor::Taken => Err(EnrolError::Taken),
        AddFactor::TooMany => Err(EnrolError::TooMany),
        AddFactor::SetupUsed => Err(EnrolError::Expired),
        AddFactor::UserChanged => Err(EnrolError::SignInAgain),
    }
}

/// The session of a person who has removed a factor.
fn removed(removed: RemoveFactor, otherwise: EnrolError) -> Result<Session, EnrolError> {
    match removed {
        RemoveFactor::Removed(session) => Ok(*session),
        RemoveFactor::Kept => Err(otherwise),
        RemoveFactor::Changed => Err(EnrolError::SignInAgain),
    }
}

/// Who changes what they hold.
fn holder(caller: &Caller) -> Holder<'_> {
    Holder { user: &caller.user, session: &caller.session }
}
