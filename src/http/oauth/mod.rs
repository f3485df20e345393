//! `/oauth/…`: token introspection and revocation for OAuth clients, which authenticate by HTTP Basic.

pub(super) mod introspect;
pub(super) mod revocations;
pub(super) mod revoke;
pub(super) mod well_known;

use std::borrow::Cow;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{basic::name_and_secret, client_ip::requester, error::Error, form};
use crate::{Doorward, log::FloodLine};

/// The name of a client that has authenticated.
pub(crate) struct AuthenticatedClient(String);

impl FromRequestParts<Doorward> for AuthenticatedClient {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let (name, secret) = name_and_secret(&parts.headers).ok_or(Error::InvalidClient)?;
        if !doorward.settings().clients.authenticate(&name, &secret) {
            let requester = requester(parts, doorward);
            doorward.throttle().charge_wrong_client_secret(&requester, doorward.instant())?;
            if FloodLine::WrongClientSecret.is_written("") {
                tracing::info!(network = %requester.network(), "wrong client secret");
            }
            return Err(Error::InvalidClient);
        }
        Ok(Self(name))
    }
}

/// The token in the form of a request. Other fields are ignored.
pub(crate) struct TokenField(String);

impl FromRequest<Doorward> for TokenField {
    type Rejection = Error;

    async fn from_request(request: Request, doorward: &Doorward) -> Result<Self, Error> {
        let (head, body) = request.into_parts();
        let bytes = form::read(body, &head.headers, doorward.settings().body_limit).await?;
        let form = str::from_utf8(&bytes).ok();
        let form =
            form.filter(|_| form::is_type(&head.headers, "application/x-www-form-urlencoded"));
        form.and_then(token_in).map(Self).ok_or(Error::NoTokenField)
    }
}

impl JsonSchema for TokenField {
    fn schema_name() -> Cow<'static, str> {
        "TokenForm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "token": {
                    "type": "string",
                    "pattern": r"^[^\ufffd]+$",
                    "description": "The token to look at. Other fields are ignored",
                },
            },
            "required": ["token"],
        })
    }
}

/// The value of the field `token`, if there is exactly one and it is not empty.
fn token_in(form: &str) -> Option<String> {
    let mut tokens = form_urlencoded::parse(form.as_bytes())
        .filter_map(|(name, value)| (name == "token").then_some(value));
    let token = tokens.next().filter(|_| tokens.next().is_none())?;
    // Percent-encoded bytes that are not UTF-8 decode to this character.
    let is_text = !token.contains(char::REPLACEMENT_CHARACTER);
    (is_text && !token.is_empty()).then(|| token.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_one_token_field() {
        for (form, token) in [
            ("token=x.y.z", Some("x.y.z")),
            ("token_type_hint=access_token&token=x.y.z", Some("x.y.z")),
            ("token=x%2Ey+z", Some("x.y z")),
            ("%74oken=x", Some("x")),
            ("token=x&token=x", None),
            ("token&token=x", None),
            ("token=", None),
            ("token", None),
            ("Token=x", None),
            ("token=%ff", None),
            ("", None),
        ] {
            assert_eq!(token_in(form).as_deref(), token, "{form}");
        }
    }
}
