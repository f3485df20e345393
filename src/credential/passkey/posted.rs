//! What a client posts: a `PublicKeyCredential` as JSON, with base64url without padding. Fields that are not needed are ignored,
//! because browsers and password managers send different ones.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{AssertionResponse, RegistrationResponse};

/// The transports that the standard names. A browser gets back what it has sent, so nothing else is kept.
const TRANSPORTS: [&str; 6] = ["ble", "hybrid", "internal", "nfc", "smart-card", "usb"];

/// What `navigator.credentials.create()` returned, as `toJSON()` writes it
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PasskeyRegistration")]
pub struct PostedRegistration {
    raw_id: Base64Url,
    #[serde(rename = "type")]
    _kind: Kind,
    response: Attestation,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Attestation {
    #[serde(rename = "clientDataJSON")]
    client_data_json: Base64Url,
    attestation_object: Base64Url,
    #[serde(default)]
    transports: Vec<String>,
}

impl PostedRegistration {
    /// How browsers can reach the authenticator, each once, in the order of the alphabet.
    pub fn transports(&self) -> Vec<&'static str> {
        let sent = |name: &&str| self.response.transports.iter().any(|sent| sent == name);
        TRANSPORTS.into_iter().filter(sent).collect()
    }
}

impl From<PostedRegistration> for RegistrationResponse {
    fn from(posted: PostedRegistration) -> Self {
        Self {
            raw_id: posted.raw_id.0,
            client_data_json: posted.response.client_data_json.0,
            attestation_object: posted.response.attestation_object.0,
        }
    }
}

/// What `navigator.credentials.get()` returned, as `toJSON()` writes it
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PasskeyAssertion")]
pub struct PostedAssertion {
    raw_id: Base64Url,
    #[serde(rename = "type")]
    _kind: Kind,
    response: Signed,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Signed {
    #[serde(rename = "clientDataJSON")]
    client_data_json: Base64Url,
    authenticator_data: Base64Url,
    signature: Base64Url,
    user_handle: Option<Base64Url>,
}

impl From<PostedAssertion> for AssertionResponse {
    fn from(posted: PostedAssertion) -> Self {
        Self {
            raw_id: posted.raw_id.0,
            client_data_json: posted.response.client_data_json.0,
            authenticator_data: posted.response.authenticator_data.0,
            signature: posted.response.signature.0,
            user_handle: posted.response.user_handle.map(|handle| handle.0),
        }
    }
}

/// The one type of credential that there is.
#[derive(Deserialize)]
enum Kind {
    #[serde(rename = "public-key")]
    PublicKey,
}

impl JsonSchema for Kind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "const": "public-key" })
    }
}

struct Base64Url(Vec<u8>);

impl JsonSchema for Base64Url {
    fn schema_name() -> Cow<'static, str> {
        "Base64Url".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // The bits of the last character that no byte has are zero.
        json_schema!({
            "type": "string",
            "pattern": "^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$",
            "description": "base64url without padding",
        })
    }
}

impl<'de> Deserialize<'de> for Base64Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text);
        bytes.map(Self).map_err(|_| D::Error::custom("not base64url without padding"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_as_browsers_post_it_is_read() {
        let posted: PostedRegistration = serde_json::from_str(
            r#"{"id": "AQI", "rawId": "AQI", "type": "public-key", "authenticatorAttachment": "platform",
                "clientExtensionResults": {"credProps": {"rk": true}},
                "response": {"clientDataJSON": "e30", "attestationObject": "_w", "publicKeyAlgorithm": -7,
                             "transports": ["usb", "internal", "usb", "x"]}}"#,
        )
        .unwrap();
        assert_eq!(posted.transports(), ["internal", "usb"]);
        let response = RegistrationResponse::from(posted);
        assert_eq!(response.raw_id, [1, 2]);
        assert_eq!(response.client_data_json, b"{}");
        assert_eq!(response.attestation_object, [0xff]);
    }

    #[test]
    fn an_assertion_as_browsers_post_it_is_read() {
        let with_handle = |handle: &str| {
            let json = format!(
                r#"{{"id": "AQI", "rawId": "AQI", "type": "public-key", "response": {{
                    "clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AAA"{handle}}}}}"#
            );
            let posted: PostedAssertion = serde_json::from_str(&json).unwrap();
            AssertionResponse::from(posted)
        };
        let response = with_handle(r#", "userHandle": "Aw""#);
        assert_eq!((response.authenticator_data, response.signature), (vec![0], vec![0, 0]));
        assert_eq!(response.user_handle, Some(vec![3]));
        assert_eq!(with_handle(r#", "userHandle": null"#).user_handle, None);
        assert_eq!(with_handle("").user_handle, None);
    }

    #[test]
    fn another_type_or_encoding_is_refused() {
        let json = r#"{"rawId": "-_8", "type": "public-key", "response": {"clientDataJSON": "e30", "attestationObject": "AA"}}"#;
        assert!(serde_json::from_str::<PostedRegistration>(json).is_ok());
        for (from, to) in
            [("public-key", "password"), ("-_8", "+/8"), ("-_8", "-_8="), ("-_8", "-_9")]
        {
            let changed = json.replace(from, to);
            assert!(serde_json::from_str::<PostedRegistration>(&changed).is_err(), "{changed}");
        }
    }
}
