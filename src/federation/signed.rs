//! What signed tokens of a provider must say to count: ID tokens, and tokens that end a session.

use std::time::Duration;

use aws_lc_rs::digest;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use serde_json::Value;

use super::{Claims, ProviderError, discovery::Issuer, key_set::SignedToken};
use crate::clock::Timestamp;

/// How far clocks may be apart, in seconds.
pub(super) const LEEWAY: i64 = 60;
/// How old the token may be that ends a session, in seconds.
const LOGOUT_AGE: i64 = 5 * 60;
/// How long a token that ends a session is remembered.
const LOGOUT_LIFETIME: Duration = Duration::from_secs(6 * 60);
/// The event in the token that ends a session.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Who has to have signed a token, and for whom.
pub(super) struct Terms<'a> {
    pub(super) issuer: &'a Issuer,
    pub(super) client_id: &'a str,
    pub(super) now: Timestamp,
}

/// What has been checked in a token.
pub(super) struct Checked {
    /// As it is stored.
    pub(super) issuer: String,
    pub(super) subject: Option<String>,
    pub(super) issued_at: Timestamp,
    pub(super) claims: Claims,
}

/// What a provider says has ended there.
pub(super) struct Ended {
    /// Of the message.
    pub(super) id: String,
    pub(super) issuer: String,
    pub(super) subject: Option<String>,
    pub(super) session_id: Option<String>,
    /// When the message is too old.
    pub(super) expires_at: Timestamp,
    /// Whether the account itself was closed.
    pub(super) is_closed: bool,
}

impl Terms<'_> {
    /// Checks an ID token. `access_token` is what has come with it.
    pub(super) fn id_token(
        &self,
        token: SignedToken,
        nonce: &str,
        access_token: Option<&str>,
    ) -> Result<Checked, ProviderError> {
        let refuse = |cause| Err(ProviderError::BadToken(cause));
        if !matches!(token.kind.as_deref(), None | Some("jwt"))
            || token.claims.contains_key("events")
        {
            return refuse("it is no ID token");
        }
        let algorithm = token.algorithm;
        let checked = self.all(token)?;
        let claims = &checked.claims;
        let expires_at = seconds(claims, "exp");
        let Some(expires_at) = expires_at else { return refuse("it has no end") };
        if expires_at <= self.now.seconds().saturating_sub(LEEWAY) {
            return refuse(EXPIRED);
        }
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("nonce") != Some(nonce) {
            return Err(ProviderError::Nonce);
        }
        let several =
            claims.get("aud").and_then(Value::as_array).is_some_and(|list| list.len() > 1);
        if (several || claims.contains_key("azp")) && text("azp") != Some(self.client_id) {
            return refuse(
                "it is for another client, too, and does not say that it was made for this one",
            );
        }
        if let (Some(hash), Some(access_token)) = (claims.get("at_hash"), access_token)
            && *hash != half_hash(algorithm, access_token)
        {
            return refuse("it is not for the access token that has come with it");
        }
        if checked.subject.is_none() {
            return refuse("it names no person");
        }
        Ok(checked)
    }

    /// Checks a token that ends a session.
    pub(super) fn logout_token(&self, token: SignedToken) -> Result<Ended, ProviderError> {
        let refuse = |cause| Err(ProviderError::BadToken(cause));
        let event = token.claims.get("events").and_then(|events| events.get(LOGOUT_EVENT));
        let is_kind = matches!(token.kind.as_deref(), None | Some("jwt" | "logout+jwt"));
        if !is_kind || !event.is_some_and(Value::is_object) || token.claims.contains_key("nonce") {
            return refuse("it is no logout token");
        }
        let checked = self.all(token)?;
        let now = self.now.seconds();
        let has_ended = |end: i64| end <= now.saturating_sub(LEEWAY);
        if seconds(&checked.claims, "exp").is_some_and(has_ended)
            || checked.issued_at.seconds() < now.saturating_sub(LOGOUT_AGE)
        {
            return refuse(EXPIRED);
        }
        if checked.subject.is_none() && session_id(&checked.claims).is_none() {
            return refuse("it names neither a person nor a session");
        }
        Ok(Ended {
            id: id(&checked.claims)?,
            session_id: session_id(&checked.claims),
            // It is too old then, also by a clock that is behind.
            expires_at: checked.issued_at + LOGOUT_LIFETIME,
            is_closed: false,
            subject: checked.subject,
            issuer: checked.issuer,
        })
    }

    /// Checks what Apple says of an account. `None` if that ends nothing.
    pub(super) fn notification(&self, token: SignedToken) -> Result<Option<Ended>, ProviderError> {
        let Checked { issuer, claims, .. } = self.all(token)?;
        // A JSON text in the JSON.
        let event = claims.get("events").and_then(Value::as_str);
        let event = event.and_then(|event| serde_json::from_str::<Value>(event).ok());
        let event = event.ok_or(ProviderError::BadToken("it is no notification"))?;
        let expires_at = seconds(&claims, "exp");
        let expires_at = expires_at.ok_or(ProviderError::BadToken("it has no end"))?;
        if expires_at <= self.now.seconds().saturating_sub(LEEWAY) {
            return Err(ProviderError::BadToken(EXPIRED));
        }
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        let is_closed = match text("type") {
            Some("consent-revoked") => false,
            Some("account-delete" | "account-deleted") => true,
            // Whether mail to a private address is forwarded.
            _ => return Ok(None),
        };
        Ok(Some(Ended {
            id: id(&claims)?,
            issuer,
            subject: text("sub").map(str::to_owned),
            session_id: None,
            expires_at: Timestamp::from_seconds(expires_at.saturating_add(LEEWAY)),
            is_closed,
        }))
    }

    /// Checks what all tokens have.
    fn all(&self, token: SignedToken) -> Result<Checked, ProviderError> {
        let claims = token.claims;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let named = text("iss").unwrap_or_default();
        let stored = self.issuer.stored(named);
        let issuer = stored.ok_or_else(|| ProviderError::issuer(self.issuer.name(), named))?;
        if let Some(tenant) = self.issuer.tenant_of(named) {
            // A key of one tenant must not sign for another one.
            let of_key = token.key_issuer.map(|issuer| issuer.replace("{tenantid}", tenant));
            if text("tid") != Some(tenant) || of_key.is_some_and(|issuer| issuer != named) {
                return Err(ProviderError::BadToken("its tenant is not that of its issuer or key"));
            }
        }
        let is_for_us = match claims.get("aud") {
            Some(Value::String(one)) => one == self.client_id,
            Some(Value::Array(several)) => several.iter().any(|one| one == self.client_id),
            _ => false,
        };
        if !is_for_us {
            return Err(ProviderError::BadToken("it is for another client"));
        }
        let now = self.now.seconds();
        let issued_at = seconds(&claims, "iat");
        let issued_at =
            issued_at.ok_or(ProviderError::BadToken("it does not say when it was made"))?;
        let begins_at = seconds(&claims, "nbf").unwrap_or(issued_at).max(issued_at);
        if begins_at > now.saturating_add(LEEWAY) {
            return Err(ProviderError::Clock { seconds: begins_at.saturating_sub(now) });
        }
        let subject = match claims.get("sub") {
            None => None,
            Some(Value::String(subject)) if (1..=255).contains(&subject.len()) => {
                Some(subject.clone())
            }
            Some(_) => {
                return Err(ProviderError::BadToken("its subject is not 1 to 255 bytes long"));
            }
        };
        let issued_at = Timestamp::from_seconds(issued_at);
        Ok(Checked { issuer: issuer.to_owned(), subject, issued_at, claims })
    }
}

/// Why a token is refused that may only seem to have expired.
pub(super) const EXPIRED: &str = "it has expired";

/// What tells a message from all others.
fn id(claims: &Claims) -> Result<String, ProviderError> {
    let id = claims.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty());
    id.map(str::to_owned).ok_or(ProviderError::BadToken("it has no id"))
}

/// The session that a token names.
pub(super) fn session_id(claims: &Claims) -> Option<String> {
    let id = claims.get("sid")?.as_str()?;
    (1..=255).contains(&id.len()).then(|| id.to_owned())
}

/// A time in a token. Some providers write fractions.
pub(super) fn seconds(claims: &Claims, name: &str) -> Option<i64> {
    let number = claims.get(name)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number out of range becomes the largest"
    )]
    let whole = |fraction: f64| fraction as i64;
    number.as_i64().or_else(|| number.as_f64().map(whole))
}

/// The left half of the hash of an access token.
fn half_hash(algorithm: Algorithm, access_token: &str) -> String {
    let algorithm = match algorithm {
        Algorithm::EdDSA => &digest::SHA512,
        _ => &digest::SHA256,
    };
    let hash = digest::digest(algorithm, access_token.as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(&hash.as_ref()[..hash.as_ref().len() / 2])
}
