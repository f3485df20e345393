//! Callers with a bearer token: what the service's own endpoints and guards know. A cookie never counts there.

use std::ops::Deref;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, header, request::Parts},
};

use super::error::{Challenge, Error};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        guard::Missing,
        key_fault::KeyFault,
        policy::{Designated, Policy, SignedIn},
        refusals::{Refused, RefusedBy},
    },
    credential::api_key::KEY_PREFIX,
};

/// The guard of the service's own endpoints: what policy `P` grants to the caller whose token a request carries. They are about the
/// caller's own account, so one factor is always enough.
pub(super) struct Bearer<P: Policy>(P::Grant);

impl<P: Policy> Deref for Bearer<P> {
    type Target = P::Grant;

    fn deref(&self) -> &P::Grant {
        &self.0
    }
}

impl<P> FromRequestParts<Doorward> for Bearer<P>
where
    P: Policy + FromState<Doorward> + Send,
    P::Grant: Send,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let caller = authenticate::<P>(doorward, &parts.headers).await?;
        let granted = P::from_state(doorward).admit(&caller);
        granted.map(Self).ok_or_else(|| refuse_caller(doorward, P::NAME, &caller, None))
    }
}

/// The caller of an endpoint that opens the service to others, so more than their own account is at stake.
pub(super) struct Inviter(Caller);

impl Deref for Inviter {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.0
    }
}

impl FromRequestParts<Doorward> for Inviter {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let caller = authenticate::<SignedIn>(doorward, &parts.headers).await?;
        admit(doorward, &SignedIn, &caller).map(Self)
    }
}

/// Constructs a policy from the state `S` of an app, once per request. A policy that implements `Default` is
/// constructed by it for every state. A policy with data takes it from the state:
///
/// ```
/// # use doorward::{Caller, FromState, Policy, UserId};
/// struct App {
///     reviewers: Vec<UserId>,
/// }
///
/// /// Admits the app's reviewers.
/// struct Reviewer(Vec<UserId>);
///
/// impl FromState<App> for Reviewer {
///     fn from_state(app: &App) -> Self {
///         Self(app.reviewers.clone())
///     }
/// }
///
/// impl Policy for Reviewer {
///     const NAME: &str = "reviewer";
///
///     type Grant = UserId;
///
///     fn admit(&self, caller: &Caller) -> Option<UserId> {
///         self.0.contains(&caller.user.id).then_some(caller.user.id)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the policy `{Self}` cannot be constructed from the state `{S}`",
    note = "a policy without data needs `#[derive(Default)]`",
    note = "a policy with data needs `impl FromState<{S}> for {Self}`"
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

/// The caller of a request that policy `P` guards.
pub(super) async fn authenticate<P: Policy>(
    doorward: &Doorward,
    headers: &HeaderMap,
) -> Result<Caller, Error> {
    identify(doorward, headers).await.map_err(|error| refuse(doorward, P::NAME, error))
}

/// What a policy grants to a caller. A refusal is recorded.
pub(super) fn admit<P: Policy>(
    doorward: &Doorward,
    policy: &P,
    caller: &Caller,
) -> Result<P::Grant, Error> {
    doorward
        .granted_by(policy, caller)
        .map_err(|missing| refuse_caller(doorward, P::NAME, caller, missing))
}

/// Records that a policy refused a caller, and returns the error.
fn refuse_caller(
    doorward: &Doorward,
    policy: &'static str,
    caller: &Caller,
    missing: Option<Missing>,
) -> Error {
    let refused = Refused::caller(RefusedBy::Policy(policy), caller, missing, doorward.now());
    let challenge = missing.map_or(Challenge::InsufficientScope, Challenge::Missing);
    Error::Unauthorized(challenge, Some(doorward.record_refusal(refused)))
}

/// Records that a policy refused an unauthenticated request, and returns its error.
pub(super) fn refuse(doorward: &Doorward, policy: &'static str, error: AuthError) -> Error {
    match error {
        AuthError::Unauthenticated(reason) => {
            let refused =
                Refused::unauthenticated(RefusedBy::Policy(policy), reason, doorward.now());
            Error::Unauthorized(reason.into(), Some(doorward.record_refusal(refused)))
        }
        AuthError::Store(error) => error.into(),
    }
}

/// The caller whose bearer token a request carries.
pub(super) async fn identify(
    doorward: &Doorward,
    headers: &HeaderMap,
) -> Result<Caller, AuthError> {
    let token = credentials("bearer", headers).map_err(Unauthenticated::from)?;
    if token.starts_with(KEY_PREFIX) {
        return Err(Unauthenticated::Key(KeyFault::NotTaken).into());
    }
    doorward.caller_by_token(token).await
}

/// Why a request has no credentials in the expected scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCredentials {
    /// There is no `Authorization` header, or it has another scheme.
    Missing,
    /// The header is repeated.
    Repeated,
}

impl From<NoCredentials> for Unauthenticated {
    fn from(fault: NoCredentials) -> Self {
        match fault {
            NoCredentials::Missing => Self::NoToken,
            NoCredentials::Repeated => Self::NotOurs,
        }
    }
}

/// The credentials in the `Authorization` header, if its scheme is `scheme`. They are not checked to be UTF-8: a token
/// that is known need not be.
pub(super) fn credentials<'h>(
    scheme: &str,
    headers: &'h HeaderMap,
) -> Result<&'h [u8], NoCredentials> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(NoCredentials::Missing)?;
    if values.next().is_some() {
        return Err(NoCredentials::Repeated);
    }
    let (sent_scheme, rest) =
        value.as_bytes().split_at_checked(scheme.len()).ok_or(NoCredentials::Missing)?;
    let ends = rest.first().is_none_or(|b| *b == b' ');
    if !ends || !sent_scheme.eq_ignore_ascii_case(scheme.as_bytes()) {
        return Err(NoCredentials::Missing);
    }
    let spaces = rest.iter().take_while(|b| **b == b' ').count();
    Ok(&rest[spaces..])
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn bearer_of(values: &[&[u8]]) -> Result<Vec<u8>, NoCredentials> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        credentials("bearer", &headers).map(<[u8]>::to_vec)
    }

    #[test]
    fn the_scheme_is_bearer_in_any_letter_case() {
        for value in [b"Bearer x.y.z", b"bearer x.y.z", b"BEARER x.y.z"] {
            assert_eq!(bearer_of(&[value]), Ok("x.y.z".into()));
        }
        assert_eq!(bearer_of(&[b"Bearer   x.y.z"]), Ok("x.y.z".into()));
        assert_eq!(bearer_of(&[b"Bearer \xff"]), Ok(b"\xff".into()));
        for value in [&b"Bearer"[..], b"Bearer "] {
            assert_eq!(bearer_of(&[value]), Ok("".into()));
        }
        for value in [&b"Basic eA=="[..], b"x.y.z", b"Bearerx.y.z", b"Bearer\tx.y.z", b""] {
            assert_eq!(bearer_of(&[value]), Err(NoCredentials::Missing));
        }
    }

    #[test]
    fn a_repeated_header_is_refused_even_when_both_values_are_the_same() {
        assert_eq!(bearer_of(&[]), Err(NoCredentials::Missing));
        assert_eq!(bearer_of(&[b"Bearer x", b"Bearer x"]), Err(NoCredentials::Repeated));
    }
}
