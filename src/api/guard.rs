//! The guards: the two of the service document, and those that the operator declares.

use std::{
    ptr,
    sync::{Arc, LazyLock, Weak},
};

use arc_swap::ArcSwapOption;
use axum::{
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
    routing::{MethodRouter, any},
};
use serde_json::json;

use super::{
    Challenge, Error,
    asked::{Asked, guard_name},
    attend::{Attended, REQUEST_ID},
    body::{AUTHORIZATION, JSON, NO_STORE},
    identity::{self, Identity, value},
    only::{Only, identify},
};
use crate::{
    Doorward,
    caller::Caller,
    guard::{Grant, Guard, Mode, Refusal},
    policy::{Authenticated, Designated},
    user::User,
};

/// `/api/auth/guard`: the action learns the caller's id and nothing else.
pub(super) async fn authenticated(
    State(doorward): State<Doorward>,
    Only(user_id): Only<Authenticated>,
) -> Response {
    const WORDS: &[u8] = br#""You are authenticated.""#;
    let policy = HeaderValue::from_static("guard");
    let identity = Identity { policy, user_id: Some(user_id), user: None };
    admit(&doorward, Bytes::from_static(WORDS), identity)
}

/// `/api/auth/<segment>`: the action holds the whole user.
pub(super) fn designated(doorward: &Doorward) -> MethodRouter<Doorward> {
    let welcome = Arc::new(Welcome::new(doorward));
    any(Attended(async move |State(doorward): State<Doorward>, Only(user): Only<Designated>| {
        welcome.to(&user, &doorward)
    }))
}

/// What is said to whoever has the designated name. That is nearly always the same user, so the headers that tell of
/// them are kept for the next time.
struct Welcome {
    words: Bytes,
    policy: HeaderValue,
    last: ArcSwapOption<(Weak<User>, HeaderMap)>,
}

impl Welcome {
    fn new(doorward: &Doorward) -> Self {
        let words = json!(format!("You are {}.", doorward.designated().name()));
        Self {
            words: Bytes::from_owner(words.to_string()),
            policy: value(&doorward.settings().designated_segment),
            last: ArcSwapOption::empty(),
        }
    }

    fn to(&self, user: &Arc<User>, doorward: &Doorward) -> Response {
        if let Some(last) = &*self.last.load()
            && ptr::eq(last.0.as_ptr(), Arc::as_ptr(user))
        {
            let mut response = Response::new(self.words.clone().into());
            *response.headers_mut() = last.1.clone();
            return response;
        }
        let policy = self.policy.clone();
        let identity = Identity { policy, user_id: Some(user.id), user: Some(user) };
        let response = admit(doorward, self.words.clone(), identity);
        // A user who is looked up anew is another one, and nothing takes the place of this one while it is known here.
        let told = (Arc::downgrade(user), response.headers().clone());
        self.last.store(Some(Arc::new(told)));
        response
    }
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
    const WORDS: &[u8] = br#""You may pass.""#;
    let identity = Identity {
        policy: value(&guard.name),
        user_id: user.map(|user| user.id),
        user: user.filter(|_| guard.grant == Grant::User),
    };
    admit(doorward, Bytes::from_static(WORDS), identity)
}

/// The headers of an admission, all of them: to replace a value in a copy costs less than to add one.
static ADMISSION: LazyLock<HeaderMap> = LazyLock::new(|| {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    headers.insert(header::VARY, AUTHORIZATION);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static(""));
    headers.insert(REQUEST_ID, HeaderValue::from_static(""));
    identity::write_nobody(&mut headers);
    headers
});

fn admit(doorward: &Doorward, words: Bytes, identity: Identity<'_>) -> Response {
    let length = HeaderValue::from(words.len());
    let mut response = Response::new(words.into());
    *response.headers_mut() = ADMISSION.clone();
    response.headers_mut().insert(header::CONTENT_LENGTH, length);
    identity.write(response.headers_mut(), &doorward.settings().identity_headers);
    response
}
