//! The guard as an argument: an action that takes `Only<P>` runs only when policy `P` is satisfied.

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, header, request::Parts},
};

use super::{Challenge, Error};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        policy::{Designated, Policy},
        refusals::{By, Refused},
    },
};

/// What policy `P` grants to a caller that it admits. There is no other way to come by one, so an action that
/// holds it has been guarded.
///
/// The app's state must give a [`Doorward`] (`FromRef`), and the policy must be `Default` or made from the state
/// ([`FromState`]).
pub struct Only<P: Policy>(pub P::Grant);

/// How a policy is made for a request to an app whose state is `S`. Every policy that is `Default` is made so, whatever
/// the state; a policy with data of its own takes them from the state:
///
/// ```
/// # use doorward::{Caller, FromState, Policy, UserId};
/// struct App {
///     reviewers: Vec<UserId>,
/// }
///
/// /// Admits whom the app has named as reviewers.
/// struct Reviewer(Vec<UserId>);
///
/// impl FromState<App> for Reviewer {
///     fn from_state(app: &App) -> Self {
///         Self(app.reviewers.clone())
///     }
/// }
///
/// impl Policy for Reviewer {
///     type Grant = UserId;
///
///     fn admit(&self, caller: &Caller) -> Option<UserId> {
///         self.0.contains(&caller.user.id).then_some(caller.user.id)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the policy `{Self}` cannot be made from the state `{S}`",
    note = "a policy without data of its own needs `#[derive(Default)]`",
    note = "a policy with data of its own needs `impl FromState<{S}> for {Self}`"
)]
pub trait FromState<S>: Sized {
    /// The policy, for one request.
    fn from_state(state: &S) -> Self;
}

impl<S, P: Policy + Default> FromState<S> for P {
    fn from_state(_: &S) -> Self {
        Self::default()
    }
}

impl<S> FromState<S> for Designated
where
    Doorward: FromRef<S>,
{
    fn from_state(state: &S) -> Self {
        Doorward::from_ref(state).designated().clone()
    }
}

impl<P, S> FromRequestParts<S> for Only<P>
where
    P: Policy + FromState<S> + Send,
    P::Grant: Send,
    Doorward: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let doorward = Doorward::from_ref(state);
        let caller = match identify(&doorward, &parts.headers).await {
            Ok(caller) => caller,
            Err(AuthError::Unauthenticated(reason)) => {
                return Err(refuse_unauthenticated(reason, policy_name::<P>(), &doorward));
            }
            Err(AuthError::Store(error)) => return Err(error.into()),
        };
        P::from_state(state).admit(&caller).map(Self).ok_or_else(|| {
            let by = By::Policy(policy_name::<P>());
            let refused = Refused::caller(by, &caller, doorward.now());
            Error::Unauthorized(Challenge::InsufficientScope, Some(doorward.refuse(refused)))
        })
    }
}

/// What a policy is called among the refusals.
fn policy_name<P>() -> &'static str {
    std::any::type_name::<P>().rsplit("::").next().unwrap_or_default()
}

/// Records that a policy refused an unauthenticated request, and returns its error.
pub(super) fn refuse_unauthenticated(
    reason: Unauthenticated,
    policy: &'static str,
    doorward: &Doorward,
) -> Error {
    let refused = Refused::unauthenticated(By::Policy(policy), reason, doorward.now());
    Error::Unauthorized(reason.into(), Some(doorward.refuse(refused)))
}

impl From<Unauthenticated> for Challenge {
    fn from(reason: Unauthenticated) -> Self {
        match reason {
            Unauthenticated::NoToken => Self::NoCredentials,
            _ => Self::InvalidToken,
        }
    }
}

/// The caller who sent a request.
pub(super) async fn identify(
    doorward: &Doorward,
    headers: &HeaderMap,
) -> Result<Caller, AuthError> {
    let token = match credentials("bearer", headers) {
        Ok(token) => token,
        Err(Challenge::NoCredentials) => return Err(Unauthenticated::NoToken.into()),
        Err(_) => return Err(Unauthenticated::NotOurs.into()),
    };
    doorward.caller(token).await
}

/// What the one `Authorization` header says in this scheme.
pub(super) fn credentials<'h>(
    expected: &str,
    headers: &'h HeaderMap,
) -> Result<&'h str, Challenge> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Challenge::NoCredentials)?;
    if values.next().is_some() {
        return Err(Challenge::InvalidToken);
    }
    let value = value.as_bytes();
    let (scheme, said) =
        value.split_at(value.iter().position(|b| *b == b' ').unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(expected.as_bytes()) {
        return Err(Challenge::NoCredentials);
    }
    let said = str::from_utf8(said).map_err(|_| Challenge::InvalidToken)?;
    Ok(said.trim_start_matches(' '))
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
        credentials("bearer", &headers).map(str::to_owned)
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
