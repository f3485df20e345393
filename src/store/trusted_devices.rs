//! Browsers that stand in for a second factor: the table `trusted_devices`.

use super::{
    Error,
    row::Row,
    statements::statements,
    value::sql_limit,
    write::{RowCount, StatementBatch},
};
use crate::{
    network::ClientInfo,
    user::{FactorId, PasswordVersion, TrustedDevice, UserId},
};

statements! {
    TRUSTED_DEVICES_BY_USER =
        "SELECT id, user_id, password_version, address, user_agent, created_at, expires_at FROM trusted_devices \
         WHERE user_id = $1 AND password_version = $2 AND expires_at > $3 ORDER BY created_at, id";
    ADD_TRUSTED_DEVICE =
        "INSERT INTO trusted_devices (id, user_id, password_version, address, user_agent, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";
    /// Changes nothing, and counts a device that is still trusted.
    REQUIRE_TRUSTED_DEVICE =
        "UPDATE trusted_devices SET expires_at = expires_at WHERE user_id = $1 AND id = $2";
    DELETE_TRUSTED_DEVICE = "DELETE FROM trusted_devices WHERE user_id = $1 AND id = $2";
    /// All of a user but the newest $2.
    DELETE_OLDEST_TRUSTED_DEVICES =
        "DELETE FROM trusted_devices WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM trusted_devices WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";
    DELETE_EXPIRED_TRUSTED_DEVICES =
        "DELETE FROM trusted_devices WHERE id IN (SELECT id FROM trusted_devices WHERE expires_at <= $1 LIMIT $2)";
    DELETE_TRUSTED_DEVICES_OF_USER = "DELETE FROM trusted_devices WHERE user_id = $1";
}

/// The number of browsers that one user can trust.
const MAX_TRUSTED_DEVICES: usize = 20;

/// Reads a row of the table `trusted_devices`.
pub(super) fn trusted_device_from_row(row: &Row) -> Result<TrustedDevice, Error> {
    Ok(TrustedDevice {
        id: row.get(0)?,
        user_id: row.get(1)?,
        password_version: PasswordVersion::from_store(row.get(2)?),
        client: ClientInfo { address: row.parsed(3)?, user_agent: row.get(4)? },
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
    })
}

/// The browser of a sign-in must still be trusted. Returns the count of devices: 0 if it is not.
pub(super) fn require_trusted_device(
    batch: &mut StatementBatch,
    user: UserId,
    device: FactorId,
) -> RowCount {
    batch.add(REQUIRE_TRUSTED_DEVICE, [user.into(), device.into()])
}

/// The user trusts one more browser.
pub(super) fn add_trusted_device(batch: &mut StatementBatch, device: &TrustedDevice) {
    let TrustedDevice { id, user_id, password_version, client, created_at, expires_at } = device;
    let values = [
        (*id).into(),
        (*user_id).into(),
        password_version.number().into(),
        client.address.to_string().into(),
        client.user_agent.as_str().into(),
        (*created_at).into(),
        (*expires_at).into(),
    ];
    batch.add(ADD_TRUSTED_DEVICE, values);
    batch.add(DELETE_OLDEST_TRUSTED_DEVICES, [(*user_id).into(), sql_limit(MAX_TRUSTED_DEVICES)]);
}
