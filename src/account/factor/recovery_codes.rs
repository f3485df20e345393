//! Recovery codes: each stands in for the second factor once.

use super::{EnrolError, new_recovery_codes, require_fresh};
use crate::{
    Caller, Doorward, account::effects::recovery_codes_replaced,
    credential::recovery_code::RecoveryCode, event::EventKind, network::Requester,
};

/// Replaces all recovery codes of the caller. They are shown once.
pub(crate) async fn replace(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<Vec<RecoveryCode>, EnrolError> {
    require_fresh(doorward, caller)?;
    let (user, codes) = (&*caller.user, new_recovery_codes());
    let digests: Vec<_> = codes.iter().map(RecoveryCode::digest).collect();
    let event = doorward.event_by_user(user.id, requester, EventKind::RecoveryCodesReplaced);
    let effects = recovery_codes_replaced(doorward, user, requester.language).with(event);
    let now = doorward.now();
    match doorward.store().replace_recovery_codes(user.id, &digests, now, &effects).await? {
        true => Ok(codes),
        false => Err(EnrolError::NoSuchFactor),
    }
}
