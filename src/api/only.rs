//! The guard as an argument: an action that takes `Only<P>` runs only when policy `P` is satisfied.

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, header, request::Parts},
};

use super::{Challenge, Error};
use crate::{Doorward, policy::Policy};

/// What policy `P` grants to a caller that it admits. There is no other way to come by one, so an action that
/// holds it has been guarded.
///
/// The app's state must give a [`Doorward`] and the policy itself (`FromRef`).
pub struct Only<P: Policy>(pub P::Grant);

impl<P, S> FromRequestParts<S> for Only<P>
where
    P: Policy + FromRef<S> + Send,
    P::Grant: Send,
    Doorward: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let token = bearer(&parts.headers).map_err(Error::Unauthorized)?;
        let caller = Doorward::from_ref(state).caller(token).await?;
        let caller = caller.ok_or(Error::Unauthorized(Challenge::InvalidToken))?;
        let grant = P::from_ref(state).admit(&caller);
        grant.map(Self).ok_or(Error::Unauthorized(Challenge::InsufficientScope))
    }
}

/// The token of the one `Authorization` header.
fn bearer(headers: &HeaderMap) -> Result<&str, Challenge> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Challenge::NoCredentials)?;
    if values.next().is_some() {
        return Err(Challenge::InvalidToken);
    }
    let value = value.to_str().map_err(|_| Challenge::InvalidToken)?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Challenge::NoCredentials);
    }
    Ok(token.trim_start_matches(' '))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn bearer_of(values: &[&[u8]]) -> Result<String, Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn the_scheme_is_bearer_in_any_letter_case() {
        for value in [b"Bearer x.y.z", b"bearer x.y.z", b"BEARER x.y.z"] {
            assert_eq!(bearer_of(&[value]), Ok("x.y.z".into()));
        }
        assert_eq!(bearer_of(&[b"Bearer   x.y.z"]), Ok("x.y.z".into()));
        for value in [&b"Basic eA=="[..], b"x.y.z", b"Bearerx.y.z", b"Bearer\tx.y.z", b""] {
            assert_eq!(bearer_of(&[value]), Err(Challenge::NoCredentials));
        }
    }

    #[test]
    fn two_headers_are_refused_even_when_they_are_the_same() {
        assert_eq!(bearer_of(&[]), Err(Challenge::NoCredentials));
        assert_eq!(bearer_of(&[b"Bearer x", b"Bearer x"]), Err(Challenge::InvalidToken));
        assert_eq!(bearer_of(&[b"Bearer \xff"]), Err(Challenge::InvalidToken));
    }
}
