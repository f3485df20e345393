//! Recovery codes: each stands in for the second factor once.

use super::{holder, new_recovery_codes, require_fresh};
use crate::{
    Caller, Doorward,
    account::{Error, effects::recovery_codes_replaced},
    credential::recovery_code::RecoveryCode,
    event::EventKind,
    network::Requester,
    throttle::OwnChange,
};

/// Replaces all recovery codes of the caller. They are shown once.
pub(crate) async fn replace(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<Vec<RecoveryCode>, Error> {
    require_fresh(doorward, caller)?;
    if caller.user.factors.is_empty() {
        return Err(Error::NoSuchFactor);
    }
    doorward.charge_change(caller.user.id, OwnChange::Account)?;
    let (user, codes) = (&*caller.user, new_recovery_codes());
    let digests: Vec<_> = codes.iter().map(RecoveryCode::digest).collect();
    let event = doorward.event_by_user(user.id, requester, EventKind::RecoveryCodesReplaced);
    let effects = recovery_codes_replaced(doorward, user, requester.language).with(event);
    let now = doorward.now();
    let who = holder(caller);
    match doorward.store().replace_recovery_codes(who, &digests, now, &effects).await? {
        true => Ok(codes),
        false => Err(Error::SignInAgain),
    }
}
