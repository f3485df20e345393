//! Trusted devices: browsers in which a password is enough, because their user has given a second factor there.

use std::time::Duration;

use crate::{
    Caller, Doorward,
    event::EventKind,
    network::Requester,
    store,
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

/// Whether the user trusts the browser with this cookie.
pub(super) async fn is_trusted(
    doorward: &Doorward,
    user: &User,
    cookie: &str,
) -> Result<bool, store::Error> {
    let Some(device) = doorward.cookies().read_device_cookie(cookie) else { return Ok(false) };
    let held = doorward.store().factors_of(user, doorward.now()).await?;
    Ok(held.trusted_devices.iter().any(|trusted| trusted.id == device))
}

/// Asks for a second factor in a browser again. False if the caller trusts no such browser.
pub(crate) async fn remove(
    doorward: &Doorward,
    caller: &Caller,
    device: FactorId,
    requester: &Requester,
) -> Result<bool, store::Error> {
    let user = caller.user.id;
    let effects = doorward.event_by_user(user, requester, EventKind::TrustedDeviceRemoved).into();
    doorward.store().remove_trusted_device(user, device, &effects).await
}
