//! Second factors: what a user holds, adding and removing it, and proving who they are with it.

pub(crate) mod answer;
pub(super) mod budget;
pub(crate) mod passkey;
pub(crate) mod recovery_codes;
pub(crate) mod step_up;
pub(crate) mod totp;

use super::{Error, OpenedSession, proof::is_fresh};
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

pub(super) fn require_fresh(doorward: &Doorward, caller: &Caller) -> Result<(), Error> {
    match is_fresh(doorward, &caller.user, &caller.session) {
        true => Ok(()),
        false => Err(Error::SignInAgain),
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
) -> Result<Enrolled, Error> {
    match added {
        AddFactor::Added => {
            let user = (*caller.user).clone();
            Ok(Enrolled { recovery_codes, opened: OpenedSession { user, session } })
        }
        AddFactor::Taken => Err(Error::FactorTaken),
        AddFactor::TooMany => Err(Error::TooManyPasskeys),
        AddFactor::SetupUsed => Err(Error::SetupExpired),
        AddFactor::UserChanged => Err(Error::SignInAgain),
    }
}

/// The session of a person who has removed a factor.
fn removed(removed: RemoveFactor, otherwise: Error) -> Result<Session, Error> {
    match removed {
        RemoveFactor::Removed(session) => Ok(*session),
        RemoveFactor::Kept => Err(otherwise),
        RemoveFactor::Changed => Err(Error::SignInAgain),
    }
}

/// Who changes what they hold.
pub(super) fn holder(caller: &Caller) -> Holder<'_> {
    Holder { user: &caller.user, session: &caller.session }
}
