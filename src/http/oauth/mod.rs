//! `/oauth/…`: other programs ask about tokens and end them. Each shows by HTTP Basic which client it is.

mod introspect;
pub(super) mod revocations;
mod revoke;
pub(super) mod well_known;

use std::time::Instant;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, request::Parts},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

pub(in crate::http) use self::{introspect::introspect, revoke::revoke};
use super::{Error, client_ip::requester, form, only::credentials};
use crate::Doorward;

/// The name of a client that has shown to know its secret. There is no other way to come by one.
pub(in crate::http) struct KnownClient(String);

impl FromRequestParts<Doorward> for KnownClient {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let (name, secret) = name_and_secret(&parts.headers).ok_or(Error::UnknownClient)?;
        if !doorward.settings().clients.authenticate(&name, &secret) {
            let (_, requester) = requester(parts, doorward);
            doorward.throttle().charge_wrong_client_secret(requester, Instant::now())?;
            tracing::info!(client = %requester.network, "wrong secret");
            return Err(Error::UnknownClient);
        }
        Ok(Self(name))
    }
}

fn name_and_secret(headers: &HeaderMap) -> Option<(String, Zeroizing<String>)> {
    let encoded = credentials("basic", headers).ok()?;
    let decoded = Zeroizing::new(BASE64_STANDARD.decode(encoded).ok()?);
    let (name, secret) = str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some((name.to_owned(), Zeroizing::new(secret.to_owned())))
}

/// The token that a request is about: the one field of its form that counts.
pub(in crate::http) struct AskedToken(String);

impl FromRequest<Doorward> for AskedToken {
    type Rejection = Error;

    async fn from_request(request: Request, doorward: &Doorward) -> Result<Self, Error> {
        let (head, body) = request.into_parts();
        let bytes = form::read(body, &head.headers, doorward.settings().body_limit).await?;
        let form = str::from_utf8(&bytes).ok();
        let form =
            form.filter(|_| form::is_type(&head.headers, "application/x-www-form-urlencoded"));
        form.and_then(token_in).map(Self).ok_or(Error::NoTokenAsked)
    }
}

/// None unless the field is there once and has a value.
fn token_in(form: &str) -> Option<String> {
    let fields = form.split('&').filter_map(|field| field.split_once('='));
    let mut tokens = fields.filter(|(name, _)| decoded(name).as_deref() == Some("token"));
    let (_, token) = tokens.next()?;
    decoded(token).filter(|token| tokens.next().is_none() && !token.is_empty())
}

fn decoded(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(String::from)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header::AUTHORIZATION};

    use super::*;

    #[test]
    fn a_form_names_one_token() {
        for (form, token) in [
            ("token=x.y.z", Some("x.y.z")),
            ("token_type_hint=access_token&token=x.y.z", Some("x.y.z")),
            ("token=x%2Ey+z", Some("x.y z")),
            ("%74oken=x", Some("x")),
            ("token=x&token=x", None),
            ("token=", None),
            ("token", None),
            ("Token=x", None),
            ("token=%ff", None),
            ("", None),
        ] {
            assert_eq!(token_in(form).as_deref(), token, "{form}");
        }
    }

    #[test]
    fn credentials_are_a_name_and_a_secret_in_base64() {
        let told = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            let found = name_and_secret(&HeaderMap::from_iter([(AUTHORIZATION, value)]));
            found.map(|(name, secret)| format!("{name} {}", *secret))
        };
        assert_eq!(told("Basic c2hvcDpzZWNyZXQ=").as_deref(), Some("shop secret"));
        assert_eq!(told("basic c2hvcDpzOmVjcmV0").as_deref(), Some("shop s:ecret"));
        for bad in
            ["Basic", "Basic c2hvcA==", "Basic c2hvcDpzZWNyZXQ", "Basic ?", "Bearer c2hvcDpz"]
        {
            assert_eq!(told(bad), None, "{bad}");
        }
    }
}
