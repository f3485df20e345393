//! The guards: the two of the service document, and those that the operator declares.

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{
    Challenge, Error,
    asked::{Asked, guard_name},
    body::{AUTHORIZATION, Private},
    identity::Identity,
    only::{Only, identify},
};
use crate::{
    Doorward,
    caller::Caller,
    guard::{Grant, Guard, Mode, Refusal},
    policy::{Authenticated, Designated},
};

/// `/api/auth/guard`: the action learns the caller's id and nothing else.
pub(super) async fn authenticated(
    State(doorward): State<Doorward>,
    Only(user_id): Only<Authenticated>,
) -> Response {
    let identity = Identity { policy: "guard", user_id: Some(user_id), user: None };
    admit(&doorward, "You are authenticated.", &identity)
}

/// `/api/auth/<segment>`: the action holds the whole user.
pub(super) async fn designated(
    State(doorward): State<Doorward>,
    Only(user): Only<Designated>,
) -> Response {
    let policy = &doorward.settings().designated_segment;
    let identity = Identity { policy, user_id: Some(user.id), user: Some(&user) };
    admit(&doorward, &format!("You are {}.", doorward.designated().name()), &identity)
}

/// `/api/auth/<guard>` for a declared guard, and `/api/auth/<guard>/<path>`, as proxies ask that put the guarded path
/// behind the guard's.
pub(super) async fn declared(
    State(doorward): State<Doorward>,
    request: Request,
) -> Result<Response, Error> {
    let (parts, _) = request.into_parts();
    let guards = doorward.guards();
    let guard = guard_name(parts.uri.path()).and_then(|name| guards.by_name(name));
    let guard = guard.ok_or(Error::NotFound)?;
    let asked = Asked { parts: &parts };
    let trusted = &doorward.settings().trusted_proxies;
    if guard.preflight && asked.is_preflight(guard.proxy, trusted, doorward.now()) {
        return Ok(pass(&doorward, guard, None));
    }
    let (challenge, refusal, caller) = match identify(&doorward, &parts.headers).await? {
        Ok(caller) => match judge(&doorward, guard, &caller, &asked) {
            None => return Ok(pass(&doorward, guard, Some(&caller))),
            Some(refusal) => (Challenge::InsufficientScope, refusal, Some(caller)),
        },
        Err(unknown) => (unknown.challenge, unknown.refusal(&guard.name, &doorward), None),
    };
    let decision = doorward.refuse(refusal.by(guard));
    match guard.mode {
        Mode::Enforce => Err(Error::Unauthorized(challenge, Some(decision))),
        Mode::Report => {
            tracing::info!(guard = guard.name, %decision, "would have been refused");
            Ok(pass(&doorward, guard, caller.as_ref()))
        }
    }
}

/// The refusal of a caller whom the guard does not admit.
fn judge(
    doorward: &Doorward,
    guard: &Guard,
    caller: &Caller,
    asked: &Asked<'_>,
) -> Option<Refusal> {
    if guard.is_known_to_admit(caller) {
        return None;
    }
    let (trusted, now) = (&doorward.settings().trusted_proxies, doorward.now());
    let request = asked.facts(guard.proxy, trusted, guard.condition.request_fields(), now);
    guard.decide(caller, &request).err()?;
    let refusal = Refusal::of_caller(&guard.name, caller, now);
    let explanation = guard.condition.explain(caller.facts(), &request);
    Some(refusal.explained(guard.condition.text(), explanation))
}

fn pass(doorward: &Doorward, guard: &Guard, caller: Option<&Caller>) -> Response {
    let user = caller.map(|caller| &*caller.user);
    let identity = Identity {
        policy: &guard.name,
        user_id: user.map(|user| user.id),
        user: user.filter(|_| guard.grant == Grant::User),
    };
    admit(doorward, "You may pass.", &identity)
}

fn admit(doorward: &Doorward, words: &str, identity: &Identity<'_>) -> Response {
    let mut response = Private(StatusCode::OK, words).into_response();
    response.headers_mut().insert(header::VARY, AUTHORIZATION);
    identity.write(response.headers_mut(), &doorward.settings().identity_headers);
    response
}
