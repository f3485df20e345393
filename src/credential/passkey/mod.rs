//! Passkeys (WebAuthn Level 3): the two ceremonies, verified. Attestation statements are not: they are not asked for, and a key
//! is trusted because a signed-in person registers it.

mod authenticator_data;
mod authenticators;
mod cbor;
mod client_data;
mod cose;
mod posted;
#[cfg(test)]
mod tests;

use std::fmt;

use uuid::Uuid;

use self::{
    authenticator_data::AuthenticatorData,
    cbor::Value,
    client_data::{Ceremony, check},
};
pub use self::{
    authenticators::authenticator_name,
    cose::{ALGORITHMS, PublicKey},
    posted::{PostedAssertion, PostedRegistration},
};
use crate::sha256::sha256;

/// The service as browsers and authenticators know it.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    /// The domain that passkeys belong to.
    pub id: String,
    /// The origins of the pages that may use them, compared exactly.
    pub origins: Vec<String>,
}

/// The id that an authenticator has given to a passkey.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CredentialId(Vec<u8>);

impl CredentialId {
    pub const MAX_BYTES: usize = 1023;

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (1..=Self::MAX_BYTES).contains(&bytes.len()).then(|| Self(bytes.to_vec()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CredentialId({} bytes)", self.0.len())
    }
}

/// What a browser returns from `navigator.credentials.create()`.
#[derive(Clone, Debug)]
pub struct RegistrationResponse {
    pub raw_id: Vec<u8>,
    pub client_data_json: Vec<u8>,
    pub attestation_object: Vec<u8>,
}

/// What a browser returns from `navigator.credentials.get()`.
#[derive(Clone, Debug)]
pub struct AssertionResponse {
    pub raw_id: Vec<u8>,
    pub client_data_json: Vec<u8>,
    pub authenticator_data: Vec<u8>,
    pub signature: Vec<u8>,
    pub user_handle: Option<Vec<u8>>,
}

/// A passkey that an authenticator has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub credential_id: CredentialId,
    pub public_key: PublicKey,
    /// The model of the authenticator, as it says itself.
    pub aaguid: Uuid,
    pub sign_count: u32,
    /// Whether the authenticator has asked for a PIN, a finger or a face.
    pub user_verified: bool,
    pub backup_eligible: bool,
    pub backed_up: bool,
}

/// A proof that somebody has a passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    pub sign_count: u32,
    /// Whether the authenticator has asked for a PIN, a finger or a face.
    pub user_verified: bool,
    pub backup_eligible: bool,
    pub backed_up: bool,
}

/// Why a registration or an assertion is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("the client data are not JSON with type, challenge and origin")]
    ClientData,
    #[error("the client data are of another ceremony")]
    Type,
    #[error("the challenge is another one")]
    Challenge,
    #[error("the origin is not one of ours")]
    Origin,
    #[error("the page was in a frame of another site")]
    CrossOrigin,
    #[error("the attestation object is malformed")]
    AttestationObject,
    #[error("the authenticator data are malformed")]
    AuthenticatorData,
    #[error("the passkey belongs to another domain")]
    RelyingParty,
    #[error("the authenticator did not see a person")]
    UserPresence,
    #[error("the authenticator did not verify its user")]
    UserVerification,
    #[error("the passkey is backed up, but not eligible for it")]
    BackupFlags,
    #[error("the authenticator data have no new credential")]
    NoCredential,
    #[error("the id is not the id of the passkey")]
    CredentialId,
    #[error("the algorithm of the key is not ES256, EdDSA or RS256")]
    Algorithm,
    #[error("the key is malformed, not on its curve or too short")]
    PublicKey,
    #[error("the signature is wrong")]
    Signature,
}

/// Verifies what an authenticator has answered to a request for a new passkey with this challenge.
pub fn register(
    rp: &RelyingParty,
    challenge: &[u8],
    response: &RegistrationResponse,
) -> Result<Registration, Invalid> {
    check(&response.client_data_json, &Ceremony::Create, rp, challenge)?;
    let data = authenticator_data(&response.attestation_object)?;
    let data = checked(data, rp)?;
    let credential = data.credential.ok_or(Invalid::NoCredential)?;
    if credential.id != response.raw_id {
        return Err(Invalid::CredentialId);
    }
    Ok(Registration {
        credential_id: CredentialId::from_bytes(credential.id).ok_or(Invalid::CredentialId)?,
        public_key: PublicKey::parse(credential.public_key)?,
        aaguid: credential.aaguid,
        sign_count: data.sign_count,
        user_verified: data.flags.user_verified(),
        backup_eligible: data.flags.backup_eligible(),
        backed_up: data.flags.backed_up(),
    })
}

/// Verifies that an authenticator has signed this challenge with the passkey. The caller compares the user handle.
///
/// A counter that does not grow and flags of backups that have changed are no reason to refuse: synchronised passkeys do both,
/// and their owners would be locked out.
pub fn verify(
    rp: &RelyingParty,
    challenge: &[u8],
    key: &PublicKey,
    credential_id: &CredentialId,
    response: &AssertionResponse,
) -> Result<Assertion, Invalid> {
    if credential_id.as_bytes() != response.raw_id {
        return Err(Invalid::CredentialId);
    }
    check(&response.client_data_json, &Ceremony::Get, rp, challenge)?;
    let data = checked(&response.authenticator_data, rp)?;
    let client_data_hash = sha256(&response.client_data_json);
    let signed = [&response.authenticator_data[..], &client_data_hash].concat();
    key.verify(&signed, &response.signature)?;
    Ok(Assertion {
        sign_count: data.sign_count,
        user_verified: data.flags.user_verified(),
        backup_eligible: data.flags.backup_eligible(),
        backed_up: data.flags.backed_up(),
    })
}

/// The authenticator data in an attestation object, whose statement is read and ignored.
fn authenticator_data(attestation_object: &[u8]) -> Result<&[u8], Invalid> {
    let Some(Value::Map(object)) = cbor::parse(attestation_object) else {
        return Err(Invalid::AttestationObject);
    };
    let parts = (object.by_text("fmt"), object.by_text("attStmt"), object.by_text("authData"));
    match parts {
        (Some(Value::Text("none")), Some(Value::Map(statement)), _) if !statement.is_empty() => {
            Err(Invalid::AttestationObject)
        }
        (Some(Value::Text(_)), Some(Value::Map(_)), Some(Value::Bytes(data))) => Ok(data),
        _ => Err(Invalid::AttestationObject),
    }
}

/// What both ceremonies demand of the authenticator data.
fn checked<'a>(bytes: &'a [u8], rp: &RelyingParty) -> Result<AuthenticatorData<'a>, Invalid> {
    let data = AuthenticatorData::parse(bytes).ok_or(Invalid::AuthenticatorData)?;
    if *data.rp_id_hash != sha256(&rp.id) {
        return Err(Invalid::RelyingParty);
    }
    if !data.flags.user_present() {
        return Err(Invalid::UserPresence);
    }
    if data.flags.backed_up() && !data.flags.backup_eligible() {
        return Err(Invalid::BackupFlags);
    }
    Ok(data)
}
