//! What a browser says about a ceremony (WebAuthn Level 3, section 5.8.1).

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, de::IgnoredAny};

use super::{Invalid, RelyingParty};

/// The ceremony that a browser ran. One cannot pass for the other.
pub enum Ceremony {
    Create,
    Get,
}

/// A field twice is an error. Fields that a later standard adds are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    cross_origin: Option<bool>,
    top_origin: Option<IgnoredAny>,
}

/// Whether the browser ran this ceremony for us, with this challenge, in a page of ours that is in no frame of another site.
pub fn check(
    json: &[u8],
    ceremony: &Ceremony,
    rp: &RelyingParty,
    challenge: &[u8],
) -> Result<(), Invalid> {
    // The standard allows a byte order mark.
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let json = str::from_utf8(json).map_err(|_| Invalid::ClientData)?;
    let data: ClientData = serde_json::from_str(json).map_err(|_| Invalid::ClientData)?;
    let kind = match ceremony {
        Ceremony::Create => "webauthn.create",
        Ceremony::Get => "webauthn.get",
    };
    if data.kind != kind {
        return Err(Invalid::Type);
    }
    if data.challenge != BASE64_URL_SAFE_NO_PAD.encode(challenge) {
        return Err(Invalid::Challenge);
    }
    if !rp.origins.contains(&data.origin) {
        return Err(Invalid::Origin);
    }
    if data.cross_origin == Some(true) || data.top_origin.is_some() {
        return Err(Invalid::CrossOrigin);
    }
    Ok(())
}
