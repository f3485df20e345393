//! The guards: the two of the service document, and those that the operator declares.

pub(super) mod fast_path;
pub(super) mod forwarded_request;
pub(super) mod identity;

use std::{
    pin::pin,
    ptr,
    sync::{Arc, LazyLock, Weak},
};

use arc_swap::ArcSwapOption;
use axum::{
    body::Bytes,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::json;

use self::{
    forwarded_request::{Asked, guard_name},
    identity::{Identity, value},
};
use super::{
    Challenge, Error,
    answer::{JSON, NO_STORE, NOSNIFF},
    only::{Only, identify},
    request_log::{REQUEST_ID, attend_guard},
};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller},
        guard::{Grant, Guard, Mode},
        policy::{Authenticated, Designated},
        refusals::{By, Refused},
    },
    user::User,
};

/// All guards, and what they have in common.
pub(in crate::http) struct Doors {
    doorward: Doorward,
    designated_path: String,
    welcome: Welcome,
}

/// Which guard is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Door {
    /// `/api/auth/guard`: the action learns the caller's id and nothing else.
    Authenticated,
    /// `/api/auth/<segment>`: the action holds the whole user.
    Designated,
    /// `/api/auth/<guard>` for a declared guard, and `/api/auth/<guard>/<path>`, as proxies ask that put the guarded path
    /// behind the guard's.
    Declared,
}

impl Doors {
    const AUTHENTICATED_PATH: &str = "/api/auth/guard";

    pub(in crate::http) fn new(doorward: Doorward) -> Self {
        let designated_path = format!("/api/auth/{}", doorward.settings().designated_segment);
        let welcome = Welcome::new(&doorward);
        Self { doorward, designated_path, welcome }
    }

    /// What the designated guard is called in paths.
    pub(in crate::http) fn designated_segment(&self) -> &str {
        &self.doorward.settings().designated_segment
    }

    /// The door at exactly this path.
    pub(in crate::http) fn at(&self, path: &str) -> Option<Door> {
        if path == Self::AUTHENTICATED_PATH {
            Some(Door::Authenticated)
        } else if path == self.designated_path {
            Some(Door::Designated)
        } else {
            let name = path.strip_prefix("/api/auth/")?;
            self.doorward.guards().by_name(name).map(|_| Door::Declared)
        }
    }

    /// Answers whoever asks to be let through.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function has room for its arguments twice, which every guard pays for"
    )]
    pub(in crate::http) fn ask(
        self: Arc<Self>,
        door: Door,
        mut parts: Parts,
    ) -> impl Future<Output = Response> + Send {
        async move {
            let guard =
                if door == Door::Declared { self.declared_at(parts.uri.path()) } else { None };
            let route = match (door, &guard) {
                (Door::Authenticated, _) => Self::AUTHENTICATED_PATH,
                (Door::Designated, _) => &self.designated_path,
                (Door::Declared, Some(guard)) => &format!("/api/auth/{}", guard.name),
                (Door::Declared, None) => "/api/auth/{guard}",
            };
            let method = parts.method.clone();
            let answer = pin!(async {
                let answer = match (door, &guard) {
                    (Door::Authenticated, _) => self.authenticated(&mut parts).await,
                    (Door::Designated, _) => self.designated(&mut parts).await,
                    (Door::Declared, Some(guard)) => declared(&self.doorward, guard, &parts).await,
                    (Door::Declared, None) => Err(Error::NotFound),
                };
                answer.into_response()
            });
            attend_guard(&method, route, answer).await
        }
    }

    /// The declared guard whose path, or a path below it, this is.
    fn declared_at(&self, path: &str) -> Option<Arc<Guard>> {
        self.doorward.guards().by_name(guard_name(path)?).cloned()
    }

    async fn authenticated(&self, parts: &mut Parts) -> Result<Response, Error> {
        const WORDS: &[u8] = br#""You are authenticated.""#;
        static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| admission("guard"));
        let user_id = Only::<Authenticated>::from_request_parts(parts, &self.doorward).await?;
        let identity = Identity { user_id: Some(*user_id), user: None };
        Ok(admit(&self.doorward, Bytes::from_static(WORDS), HEADERS.clone(), identity))
    }

    async fn designated(&self, parts: &mut Parts) -> Result<Response, Error> {
        let user = Only::<Designated>::from_request_parts(parts, &self.doorward).await?;
        Ok(self.welcome.to(&user, &self.doorward))
    }
}

/// What is said to whoever has the designated name. That is nearly always the same user, so the headers that tell of
/// them are kept for the next time.
struct Welcome {
    words: Bytes,
    headers: HeaderMap,
    last: ArcSwapOption<(Weak<User>, HeaderMap)>,
}

impl Welcome {
    fn new(doorward: &Doorward) -> Self {
        let words = json!(format!("You are {}.", doorward.designated().name()));
        let words = Bytes::from_owner(words.to_string());
        let headers = admission(&doorward.settings().designated_segment);
        Self { words, headers, last: ArcSwapOption::empty() }
    }

    fn to(&self, user: &Arc<User>, doorward: &Doorward) -> Response {
        if let Some(last) = &*self.last.load()
            && ptr::eq(last.0.as_ptr(), Arc::as_ptr(user))
        {
            let mut response = Response::new(self.words.clone().into());
            *response.headers_mut() = last.1.clone();
            return response;
        }
        let identity = Identity { user_id: Some(user.id), user: Some(user) };
        let response = admit(doorward, self.words.clone(), self.headers.clone(), identity);
        // A user who is looked up anew is another one, and nothing takes the place of this one while it is known here.
        let told = (Arc::downgrade(user), response.headers().clone());
        self.last.store(Some(Arc::new(told)));
        response
    }
}

async fn declared(
    doorward: &Doorward,
    guard: &Arc<Guard>,
    parts: &Parts,
) -> Result<Response, Error> {
    let asked = Asked { parts };
    let trusted = &doorward.settings().trusted_proxies;
    if guard.preflight && asked.is_preflight(guard.proxy, trusted, doorward.now()) {
        return Ok(pass(doorward, guard, None));
    }
    let (challenge, refused, caller) = match identify(doorward, &parts.headers).await {
        Ok(caller) => match judge(doorward, guard, &caller, &asked) {
            None => return Ok(pass(doorward, guard, Some(&caller))),
            Some(refused) => (Challenge::InsufficientScope, refused, Some(caller)),
        },
        Err(AuthError::Unauthenticated(reason)) => {
            let by = By::Guard(Arc::clone(guard));
            (reason.into(), Refused::unauthenticated(by, reason, doorward.now()), None)
        }
        Err(AuthError::Store(error)) => return Err(error.into()),
    };
    let decision = doorward.refuse(refused);
    match guard.mode {
        Mode::Enforce => Err(Error::Unauthorized(challenge, Some(decision))),
        Mode::Report => {
            tracing::info!(guard = guard.name, %decision, "would have been refused");
            Ok(pass(doorward, guard, caller.as_ref()))
        }
    }
}

/// The refusal of a caller whom the guard does not admit. Its reason is worked out when somebody asks for it.
fn judge(
    doorward: &Doorward,
    guard: &Arc<Guard>,
    caller: &Caller,
    asked: &Asked<'_>,
) -> Option<Refused> {
    if guard.is_known_to_admit(caller) {
        return None;
    }
    let (trusted, now) = (&doorward.settings().trusted_proxies, doorward.now());
    let request = asked.facts(guard.proxy, trusted, guard.condition.request_fields(), now);
    guard.decide(caller, &request).err()?;
    Some(Refused::by_condition(guard, caller, &request))
}

fn pass(doorward: &Doorward, guard: &Guard, caller: Option<&Caller>) -> Response {
    let user = caller.map(|caller| &*caller.user);
    const WORDS: &[u8] = br#""You may pass.""#;
    let identity = Identity {
        user_id: user.map(|user| user.id),
        user: user.filter(|_| guard.grant == Grant::User),
    };
    static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| admission(""));
    let mut headers = HEADERS.clone();
    headers.insert(identity::POLICY, value(&guard.name));
    admit(doorward, Bytes::from_static(WORDS), headers, identity)
}

/// The headers of an admission by this guard, all of them: to replace a value in a copy costs less than to add one. The
/// length of the body is hyper's to write, and `Vary` says nothing beside `no-store`: a tenth header would take a copy beyond
/// the sizes that the C library's allocator keeps at hand, which costs a guard an eighth more instructions.
fn admission(guard: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // The first, where it costs least to be set.
    headers.insert(REQUEST_ID, HeaderValue::from_static(""));
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    identity::write_nobody(&mut headers);
    headers.insert(identity::POLICY, value(guard));
    headers
}

fn admit(
    doorward: &Doorward,
    words: Bytes,
    mut headers: HeaderMap,
    identity: Identity<'_>,
) -> Response {
    identity.write(&mut headers, &doorward.settings().identity_headers);
    let mut response = Response::new(words.into());
    *response.headers_mut() = headers;
    response
}
