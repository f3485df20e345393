//! Trusted devices: browsers in which a password is enough, because their user has given a second factor there.

use std::time::Duration;

use crate::{
    Caller, Doorward,
    event::EventKind,
    network::Requester,
    session::Session,
    store::{self, Holder, RemoveFactor},
    user::{FactorId, TrustedDevice, User},
};

/// How long a browser is trusted.
pub(crate) const TRUSTED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The browser that a user trusts from now on.
pub(super) fn new(doorward: &Doorward, user: &User, requester: &Requester) -> TrustedDevice {
    let created_at = doorward.now();
    TrustedDevice {
        id: FactorId::random(),
        user_id: user.id,
        password_version: user.password_version,
        client: requester.client.clone(),
        created_at,
        expires_at: created_at + TRUSTED_FOR,
    }
}

/// The browser with this cookie, if the user trusts it. The sign-in that counts on it requires that they still do.
pub(super) async fn trusted(
    doorward: &Doorward,
    user: &User,
    cookie: &str,
) -> Result<Option<FactorId>, store::Error> {
    let Some(device) = doorward.cookies().read_device_cookie(cookie) else { return Ok(None) };
    let held = doorward.store().factors_of(user, doorward.now()).await?;
    Ok(held.trusted_devices.iter().map(|trusted| trusted.id).find(|trusted| *trusted == device))
}

/// Asks for a second factor in a browser again, and ends the other sessions that needed none. Returns the session of
/// the caller, or `None` if they trust no such browser.
pub(crate) async fn remove(
    doorward: &Doorward,
    caller: &Caller,
    device: FactorId,
    requester: &Requester,
) -> Result<Option<Session>, store::Error> {
    let kind = EventKind::TrustedDeviceRemoved;
    let effects = doorward.event_by_user(caller.user.id, requester, kind).into();
    let (who, now) = (Holder { user: &caller.user, session: &caller.session }, doorward.now());
    match doorward.store().remove_trusted_device(who, device, now, &effects).await? {
        RemoveFactor::Removed(session) => Ok(Some(*session)),
        RemoveFactor::Kept | RemoveFactor::Changed => Ok(None),
    }
}
