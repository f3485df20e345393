//! Who has signed in at a provider, by what it says.

use std::fmt;

use serde_json::Value;

use super::{Preset, signed};
use crate::{
    clock::Timestamp,
    user::{Email, Name},
};

/// What a provider says of a person, bounded.
pub type Claims = serde_json::Map<String, Value>;

/// Who has signed in at a provider.
#[derive(Clone, PartialEq)]
pub struct ExternalPerson {
    pub issuer: String,
    pub subject: String,
    pub email: Option<ExternalEmail>,
    pub name: Option<String>,
    /// What they recognise their account by: the address, the user name or the subject.
    pub display: String,
    /// When they have proved there who they are, if the provider says so.
    pub authenticated_at: Option<Timestamp>,
    /// Their session there.
    pub session_id: Option<String>,
    /// As the provider says them, but `email` and `email_verified` are what has been decided about the address.
    pub claims: Claims,
}

/// Does not show who it is: personal data must not reach a log.
impl fmt::Debug for ExternalPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExternalPerson(…)")
    }
}

/// The address of a person at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalEmail {
    pub address: Email,
    /// Whether the provider has verified that it is theirs.
    pub is_verified: bool,
}

impl ExternalPerson {
    /// Makes a person of claims that have been verified.
    pub(super) fn new(
        issuer: String,
        subject: String,
        email: Option<ExternalEmail>,
        mut claims: Claims,
    ) -> Self {
        let session_id = signed::session_id(&claims);
        for of_the_protocol in ["nonce", "at_hash", "c_hash", "s_hash", "jti", "email_verified"] {
            claims.shift_remove(of_the_protocol);
        }
        claims.shift_remove("email");
        let mut decided = Claims::new();
        if let Some(email) = &email {
            decided.insert("email".to_owned(), email.address.as_str().into());
        }
        let is_verified = email.as_ref().is_some_and(|email| email.is_verified);
        decided.insert("email_verified".to_owned(), is_verified.into());
        // First, so that no other claim takes their place.
        decided.extend(claims);
        let claims = bounded(decided);
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let address = email.as_ref().map(|email| email.address.as_str());
        let user_name = || text("preferred_username").or_else(|| text("login"));
        let display = address.or_else(user_name).unwrap_or(&subject);
        Self {
            display: super::error::printable(display),
            name: text("name").and_then(display_name),
            authenticated_at: None,
            session_id,
            issuer,
            subject,
            email,
            claims,
        }
    }
}

/// The name that people are shown by, if it can be one.
pub(super) fn display_name(text: &str) -> Option<String> {
    Name::parse(text.to_owned()).ok().map(|name| name.as_str().to_owned())
}

/// The address in claims, and whether the provider has verified it.
pub(super) fn email_of(preset: Preset, claims: &Claims) -> Option<ExternalEmail> {
    let sent = claims.get("email")?.as_str()?;
    let address = Email::parse(sent.to_owned()).ok()?;
    let is_verified = match preset {
        // An administrator of any tenant writes what they like into `email`, and nothing says in `email_verified` that
        // somebody has verified it.
        Preset::Microsoft => {
            let verified = claims.get("verified_primary_email").and_then(Value::as_array);
            let is_it =
                |item: &Value| item.as_str().is_some_and(|item| item.eq_ignore_ascii_case(sent));
            let owned = claims.get("xms_edov");
            // It is said to be a boolean, and comes as a number, too.
            owned.is_some_and(|owned| is_true(owned) || *owned == 1 || *owned == "1")
                || verified.is_some_and(|list| list.iter().any(is_it))
        }
        _ => claims.get("email_verified").is_some_and(is_true),
    };
    Some(ExternalEmail { address, is_verified })
}

/// Apple and others write it as text.
fn is_true(value: &Value) -> bool {
    *value == true || *value == "true"
}

const MAX_ENTRIES: usize = 64;
const MAX_ITEMS: usize = 64;
const MAX_BYTES: usize = 16 << 10;

/// The first claims that fit. One that is too long is left out; those after it may still fit.
fn bounded(claims: Claims) -> Claims {
    let mut left = MAX_BYTES;
    let mut fits = |name: &str, value: &Value| {
        let bytes = name.len() + value.to_string().len();
        let rest = left.checked_sub(bytes);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let short = claims.into_iter().filter_map(|(name, value)| Some((name, short(value)?)));
    short.filter(|(name, value)| fits(name, value)).take(MAX_ENTRIES).collect()
}

/// A claim, unless it is a list or an object that is too long or has such a list. A part of a list would satisfy rules such as
/// `!("banned" in claims.groups)`.
fn short(value: Value) -> Option<Value> {
    match value {
        Value::Array(items) if items.len() > MAX_ITEMS => None,
        Value::Object(entries) if entries.len() > MAX_ENTRIES => None,
        Value::Array(items) => items.into_iter().map(short).collect(),
        Value::Object(entries) => {
            let entries = entries.into_iter();
            Some(entries.filter_map(|(name, value)| Some((name, short(value)?))).collect())
        }
        other => Some(other),
    }
}
