//! What is stored about the second factors of a user.

use uuid::Uuid;

use super::{PasswordVersion, UserId};
use crate::{clock::Timestamp, credential::factor::FactorKind, id::id, network::ClientInfo};

id!(
    /// The id of a passkey, of a recovery code or of a trusted device.
    FactorId
);

/// A passkey, or a security key that does not verify its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    pub id: FactorId,
    pub user_id: UserId,
    /// The id that the authenticator has given it.
    pub credential_id: Vec<u8>,
    /// The domain that it was made for.
    pub rp_id: String,
    /// What the authenticator knows the user by: random bytes, the same for all passkeys of a user.
    pub user_handle: Vec<u8>,
    /// A COSE key.
    pub public_key: Vec<u8>,
    /// Whether it verifies its user, by a PIN or a biometric.
    pub verifies_user: bool,
    /// The model of the authenticator.
    pub aaguid: Uuid,
    /// What the user calls it.
    pub name: String,
    /// How a browser reaches the authenticator, separated by spaces.
    pub transports: String,
    pub sign_count: i64,
    pub backup_eligible: bool,
    pub backed_up: bool,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

impl Passkey {
    pub fn kind(&self) -> FactorKind {
        if self.verifies_user { FactorKind::Passkey } else { FactorKind::SecurityKey }
    }
}

/// The secret of an authenticator app.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredTotp {
    pub user_id: UserId,
    /// Encrypted.
    pub secret: Vec<u8>,
    /// A code of this time step, or of an earlier one, is void.
    pub last_step: i64,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// A browser that a user trusts: a password is enough there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedDevice {
    pub id: FactorId,
    pub user_id: UserId,
    /// Void when the user has another.
    pub password_version: PasswordVersion,
    pub client: ClientInfo,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The SHA-256 digest of a recovery code.
pub type RecoveryDigest = [u8; 32];

/// Everything that a user holds.
#[derive(Clone, Default)]
pub struct HeldFactors {
    /// The oldest first.
    pub passkeys: Vec<Passkey>,
    pub totp: Option<StoredTotp>,
    /// The number of recovery codes that have not been used.
    pub recovery_codes: usize,
    /// The oldest first.
    pub trusted_devices: Vec<TrustedDevice>,
}
