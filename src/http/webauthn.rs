//! The options that a browser gets for a WebAuthn ceremony, in the form of `PublicKeyCredentialRequestOptionsJSON` and
//! `PublicKeyCredentialCreationOptionsJSON`.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    account::{MissingFactor, factor::passkey::NewPasskey},
    credential::passkey::ALGORITHMS,
    token::challenge::signed_challenge,
    user::{Passkey, User},
};

/// How long a person may take, in milliseconds. The challenge itself lasts longer.
const TIMEOUT: u32 = 5 * 60 * 1000;

/// What `PublicKeyCredential.parseRequestOptionsFromJSON()` reads for `navigator.credentials.get()`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PasskeyRequest")]
pub(super) struct RequestOptions {
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"))]
    challenge: String,
    timeout: u32,
    rp_id: String,
    allow_credentials: Vec<Descriptor>,
    #[schemars(extend("enum" = ["required", "preferred"]))]
    user_verification: &'static str,
}

impl RequestOptions {
    /// A sign-in with any passkey of this domain, which has to verify its user.
    pub(super) fn of_anybody(sealed: &str, rp_id: String) -> Self {
        let user_verification = "required";
        Self { user_verification, ..Self::with(sealed, rp_id, Vec::new()) }
    }

    /// An answer with a passkey or a security key of the user. `None` if they have none.
    pub(super) fn of(missing: &MissingFactor) -> Option<Self> {
        let rp_id = missing.rp_id.clone().filter(|_| !missing.passkeys.is_empty())?;
        let allowed = missing.passkeys.iter().map(Descriptor::from).collect();
        Some(Self::with(&missing.challenge, rp_id, allowed))
    }

    fn with(sealed: &str, rp_id: String, allow_credentials: Vec<Descriptor>) -> Self {
        let challenge = encode(&signed_challenge(sealed));
        let user_verification = "preferred";
        Self { challenge, timeout: TIMEOUT, rp_id, allow_credentials, user_verification }
    }
}

/// A passkey that the browser may use, or may not make again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PasskeyDescriptor")]
struct Descriptor {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "public-key"))]
    kind: &'static str,
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"))]
    id: String,
    transports: Vec<String>,
}

impl From<&Passkey> for Descriptor {
    fn from(passkey: &Passkey) -> Self {
        let transports = passkey.transports.split_whitespace().map(str::to_owned).collect();
        Self { kind: "public-key", id: encode(&passkey.credential_id), transports }
    }
}

/// What `PublicKeyCredential.parseCreationOptionsFromJSON()` reads for `navigator.credentials.create()`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PasskeyCreation")]
pub(super) struct CreationOptions {
    rp: RelyingParty,
    user: PasskeyUser,
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"))]
    challenge: String,
    pub_key_cred_params: Vec<Algorithm>,
    timeout: u32,
    exclude_credentials: Vec<Descriptor>,
    authenticator_selection: Selection,
    #[schemars(extend("const" = "none"))]
    attestation: &'static str,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct RelyingParty {
    id: String,
    name: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct PasskeyUser {
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"))]
    id: String,
    name: String,
    display_name: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Algorithm {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "public-key"))]
    kind: &'static str,
    alg: i32,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Selection {
    #[schemars(extend("enum" = ["required", "discouraged"]))]
    resident_key: &'static str,
    require_resident_key: bool,
    #[schemars(extend("enum" = ["required", "discouraged"]))]
    user_verification: &'static str,
}

impl CreationOptions {
    pub(super) fn new(new: &NewPasskey, user: &User, service: &str) -> Self {
        // A security key has few places for passkeys that it finds by itself, and asks for its PIN then.
        let (resident_key, user_verification) = match new.verifies_user {
            true => ("required", "required"),
            false => ("discouraged", "discouraged"),
        };
        let algorithm = |alg| Algorithm { kind: "public-key", alg };
        Self {
            rp: RelyingParty { id: new.relying_party.id.clone(), name: service.to_owned() },
            user: PasskeyUser {
                id: encode(&new.user_handle),
                name: user.email.as_str().to_owned(),
                display_name: user.name.as_str().to_owned(),
            },
            challenge: encode(&new.challenge),
            pub_key_cred_params: ALGORITHMS.into_iter().map(algorithm).collect(),
            timeout: TIMEOUT,
            exclude_credentials: new.existing.iter().map(Descriptor::from).collect(),
            authenticator_selection: Selection {
                resident_key,
                require_resident_key: new.verifies_user,
                user_verification,
            },
            attestation: "none",
        }
    }
}

/// What `PublicKeyCredential.signalAllAcceptedCredentials()` is called with: the passkeys that a user has. Password managers
/// stop offering others.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcceptedCredentials {
    rp_id: String,
    user_id: String,
    all_accepted_credential_ids: Vec<String>,
}

impl AcceptedCredentials {
    /// `None` if the user has no passkey of this domain.
    pub(super) fn of(passkeys: &[Passkey], rp_id: &str) -> Option<Self> {
        let held = || passkeys.iter().filter(|passkey| passkey.rp_id == rp_id);
        Some(Self {
            rp_id: rp_id.to_owned(),
            user_id: encode(&held().next()?.user_handle),
            all_accepted_credential_ids: held().map(|held| encode(&held.credential_id)).collect(),
        })
    }
}

/// What `PublicKeyCredential.signalUnknownCredential()` is called with: a passkey that does not exist.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnknownCredential {
    rp_id: String,
    credential_id: String,
}

impl UnknownCredential {
    pub(super) fn new(rp_id: &str, credential_id: &[u8]) -> Self {
        Self { rp_id: rp_id.to_owned(), credential_id: encode(credential_id) }
    }
}

/// The JSON of a value, which a page has in an attribute.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers serialise to JSON")
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
