//! `/api/me/factors`: the second factors of the caller. Adding and removing one needs a sign-in within the last 10 minutes.

use std::net::IpAddr;

use axum::{extract::State, http::StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{
        factor::{Enrolled, passkey, recovery_codes, totp},
        trusted_devices,
    },
    clock::Timestamp,
    credential::{
        factor::FactorKind,
        recovery_code::{COUNT, RecoveryCode},
    },
    fault::Fault,
    http::{
        Error,
        answer::{NoContent, NoStore},
        bearer::Bearer,
        description::Created,
        factor_forms::PostedPasskey,
        form::{FieldType, Flattened, FormContext, JsonForm, form, text},
        path_id::PathId,
        webauthn::CreationOptions,
    },
    network::Requester,
    token::Token,
    user::{FactorId, HeldFactors, Name, Passkey, TrustedDevice},
};

/// What the caller holds.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Factors")]
pub(crate) struct ListedFactors {
    passkeys: Vec<ListedPasskey>,
    totp: Option<ListedTotp>,
    /// How many recovery codes are left.
    recovery_codes: usize,
    trusted_devices: Vec<ListedDevice>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct ListedPasskey {
    id: FactorId,
    #[schemars(with = "String", extend("enum" = ["passkey", "key"]))]
    kind: FactorKind,
    name: String,
    backed_up: bool,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct ListedTotp {
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct ListedDevice {
    id: FactorId,
    address: IpAddr,
    #[schemars(length(max = 256))]
    user_agent: String,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl From<Passkey> for ListedPasskey {
    fn from(passkey: Passkey) -> Self {
        Self {
            id: passkey.id,
            kind: passkey.kind(),
            name: passkey.name,
            backed_up: passkey.backed_up,
            created_at: passkey.created_at,
            last_used_at: passkey.last_used_at,
        }
    }
}

impl From<TrustedDevice> for ListedDevice {
    fn from(device: TrustedDevice) -> Self {
        Self {
            id: device.id,
            address: device.client.address,
            user_agent: device.client.user_agent,
            created_at: device.created_at,
            expires_at: device.expires_at,
        }
    }
}

impl From<HeldFactors> for ListedFactors {
    fn from(held: HeldFactors) -> Self {
        Self {
            passkeys: held.passkeys.into_iter().map(ListedPasskey::from).collect(),
            totp: held.totp.map(|totp| ListedTotp {
                created_at: totp.created_at,
                last_used_at: totp.last_used_at,
            }),
            recovery_codes: held.recovery_codes,
            trusted_devices: held.trusted_devices.into_iter().map(ListedDevice::from).collect(),
        }
    }
}

/// The token of the session, which has proved the new factor, and the recovery codes that come with the first factor.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddedFactor {
    /// Replaces the token of the session, which has proved the new factor.
    token: Token,
    /// Only with the first factor. They are shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<[RecoveryCode; COUNT]>")]
    recovery_codes: Option<Vec<String>>,
}

impl AddedFactor {
    async fn new(enrolled: Enrolled, doorward: &Doorward) -> Created<Self> {
        let Enrolled { recovery_codes, opened } = enrolled;
        let token = opened.with_token(doorward).await.token;
        Created(Self { token, recovery_codes: recovery_codes.map(texts) })
    }
}

fn texts(codes: Vec<RecoveryCode>) -> Vec<String> {
    codes.iter().map(ToString::to_string).collect()
}

/// New recovery codes, in the place of all others. They are shown once.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryCodes {
    #[schemars(with = "[RecoveryCode; COUNT]")]
    recovery_codes: Vec<String>,
}

/// A secret for an authenticator app, which counts when a code of it is confirmed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TotpToConfirm {
    #[schemars(regex(pattern = "^[A-Za-z0-9_.-]+$"))]
    setup: String,
    #[schemars(regex(pattern = "^[A-Z2-7]{32}$"))]
    secret: String,
    /// For a QR code.
    uri: String,
}

/// What a browser makes a passkey with.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyToMake {
    #[schemars(regex(pattern = "^[A-Za-z0-9_.-]+$"))]
    setup: String,
    public_key: CreationOptions,
}

form! {
    pub(crate) struct TotpConfirmation {
        setup: String,
        /// The current code of the app.
        code: String,
    }
}

form! {
    pub(crate) struct PasskeyKind {
        /// `key`: one that only counts after a password, and need not ask for a PIN.
        kind: Option<FactorKind>,
    }
}

/// What a browser can make.
impl FieldType for FactorKind {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        match text(sent)?.as_str() {
            "passkey" => Ok(Self::Passkey),
            "key" => Ok(Self::SecurityKey),
            _ => Err(Fault::malformed("Must be passkey or key")),
        }
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["passkey", "key"] })
    }
}

form! {
    pub(crate) struct NewPasskeyForm as "NewPasskey" {
        setup: String,
        made: Flattened<PostedPasskey>,
    }
}

form! {
    pub(crate) struct PasskeyName {
        name: Name,
    }
}

pub(crate) async fn list(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
) -> Result<NoStore<ListedFactors>, Error> {
    let held = doorward.store().factors_of(&caller.user, doorward.now()).await?;
    Ok(NoStore(StatusCode::OK, held.into()))
}

pub(crate) async fn begin_totp(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
) -> Result<NoStore<TotpToConfirm>, Error> {
    let new = totp::begin(&doorward, &caller)?;
    let (secret, uri) = (new.secret.base32().to_string(), new.uri.to_string());
    Ok(NoStore(StatusCode::OK, TotpToConfirm { setup: new.setup, secret, uri }))
}

pub(crate) async fn confirm_totp(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<TotpConfirmation>,
) -> Result<Created<AddedFactor>, Error> {
    let TotpConfirmation { setup, code } = form.read(&doorward)?;
    let enrolled = totp::confirm(&doorward, &caller, &setup, &code, &requester).await?;
    Ok(AddedFactor::new(enrolled, &doorward).await)
}

pub(crate) async fn remove_totp(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
) -> Result<NoContent, Error> {
    totp::remove(&doorward, &caller, &requester).await?;
    Ok(NoContent)
}

pub(crate) async fn begin_passkey(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    form: JsonForm<PasskeyKind>,
) -> Result<NoStore<PasskeyToMake>, Error> {
    let PasskeyKind { kind } = form.read(&doorward)?;
    let kind = kind.unwrap_or(FactorKind::Passkey);
    let new = passkey::begin(&doorward, &caller, kind).await?;
    let public_key = CreationOptions::new(&new, &caller.user, doorward.settings().service_name());
    Ok(NoStore(StatusCode::OK, PasskeyToMake { setup: new.setup, public_key }))
}

pub(crate) async fn add_passkey(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<NewPasskeyForm>,
) -> Result<Created<AddedFactor>, Error> {
    let NewPasskeyForm { setup, made } = form.read(&doorward)?;
    let enrolled = passkey::enrol(&doorward, &caller, &setup, made.into(), &requester).await?;
    Ok(AddedFactor::new(enrolled, &doorward).await)
}

pub(crate) async fn rename_passkey(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    id: PathId<FactorId>,
    form: JsonForm<PasskeyName>,
) -> Result<NoContent, Error> {
    let PasskeyName { name } = form.read(&doorward)?;
    passkey::rename(&doorward, &caller, id.valid()?, &name, &requester).await?;
    Ok(NoContent)
}

pub(crate) async fn remove_passkey(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    id: PathId<FactorId>,
) -> Result<NoContent, Error> {
    passkey::remove(&doorward, &caller, id.valid()?, &requester).await?;
    Ok(NoContent)
}

pub(crate) async fn replace_recovery_codes(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
) -> Result<NoStore<RecoveryCodes>, Error> {
    let codes = recovery_codes::replace(&doorward, &caller, &requester).await?;
    Ok(NoStore(StatusCode::OK, RecoveryCodes { recovery_codes: texts(codes) }))
}

pub(crate) async fn remove_device(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    id: PathId<FactorId>,
) -> Result<NoContent, Error> {
    let removed = trusted_devices::remove(&doorward, &caller, id.valid()?, &requester).await?;
    removed.map(|_| NoContent).ok_or(Error::NotFound)
}
