//! Operations whose instructions `bench/count` counts: each runs once to warm up, and then a hundred times.

use std::{
    hint::black_box,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use axum::{
    body::{Body, to_bytes},
    http::{HeaderValue, Request, StatusCode},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use doorward::{
    Caller, Doorward, Settings,
    internals::{
        Internals,
        access::guard::CallerFacts,
        clock::{Clock, Timestamp},
        credential::password::Cost,
        http::{self, App, Service},
    },
};
use futures_util::FutureExt;
use tokio::runtime::Runtime;
use tower_service::Service as _;

use crate::{ceiling, condition};

/// Runs the operations under callgrind, and prints the name of each when it has run
#[derive(clap::Args)]
pub(crate) struct Count {
    /// The folder for the database
    folder: PathBuf,
    /// Also the slowest conditions
    #[arg(long)]
    conditions: bool,
}

/// As in `bench/count`.
const TIMES: u32 = 100;
/// Where the requests come from.
pub(crate) const PEER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9));
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const ADMITS: &str = r#"request.method in ["GET", "HEAD"] && user.domain == "example.com""#;
/// The last part decides, so that all of it is evaluated.
const REFUSES: &str = r#"request.method in ["GET", "HEAD"] && user.domain == "example.org""#;
/// The origin of a guard with origins.
const APP: &str = "https://app.example.com";
const REGISTRATION: &str =
    r#"{"name":"Miles Davis","email":"miles@example.com","password":"correct horse"}"#;

impl Count {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let _entered = runtime.enter();
        let instance = Instance::open(&runtime, &self.folder)?;
        let mut operations = instance.operations();
        if self.conditions {
            operations.extend(instance.conditions(&runtime)?);
        }
        for (name, mut operation) in operations {
            operation()?;
            counted(&mut operation).with_context(|| name.clone())?;
            println!("{}", name.replace('\n', " "));
        }
        Ok(())
    }
}

/// Callgrind counts inside this function, which `bench/count` selects by name.
#[inline(never)]
fn counted(operation: &mut Operation<'_>) -> anyhow::Result<()> {
    (0..TIMES).try_for_each(|_| operation())
}

type Operation<'a> = Box<dyn FnMut() -> anyhow::Result<()> + 'a>;
type Named<'a> = (String, Operation<'a>);

/// A Doorward with one user, who has the designated name.
struct Instance {
    doorward: Doorward,
    app: Service,
    token: String,
    caller: Caller,
}

impl Instance {
    fn open(runtime: &Runtime, folder: &Path) -> anyhow::Result<Self> {
        let settings = Settings::new()
            .with("database_url", format!("sqlite://{}/doorward.db", folder.display()))
            .with_cheap_passwords(Cost { memory_kib: 64, passes: 1 })
            .with_toml(&format!(
                "[guards.app]\nallow = 'true'\nproxy = 'caddy'\norigins = ['{APP}']\n\
                 [guards.reading]\nallow = '{ADMITS}'\n[guards.writing]\nallow = '{REFUSES}'"
            ));
        let opening = Doorward::open_with_clock(settings, Clock::new(|| NOW));
        let doorward = runtime.block_on(opening)?;
        let app = http::service(doorward.clone());
        let registered = runtime.block_on(app.answer(register(REGISTRATION.into())?, PEER));
        let body = runtime.block_on(to_bytes(registered.into_body(), usize::MAX))?;
        let body: serde_json::Value = serde_json::from_slice(&body)?;
        let Some(token) = body["token"].as_str().map(str::to_owned) else { bail!("{body}") };
        let caller = runtime.block_on(doorward.caller(&token))?;
        let instance = Self { doorward, app, token, caller };
        // The first request with a cookie looks the user up.
        runtime.block_on(instance.app.answer(visit_request(&instance.cookie())?, PEER));
        Ok(instance)
    }

    /// The first is the bare route, with which the others are compared.
    fn operations(&self) -> Vec<Named<'_>> {
        let bearer = ("authorization", format!("Bearer {}", self.token));
        let operations = [
            ("bare route", self.bare()),
            ("guard", self.guarded("guard", StatusCode::OK)),
            ("guard, name", self.guarded("miles", StatusCode::OK)),
            ("guard, condition", self.guarded("reading", StatusCode::OK)),
            ("guard, condition refused", self.guarded("writing", StatusCode::UNAUTHORIZED)),
            ("guard, bearer token behind a proxy", self.visit(bearer)),
            ("guard, cookie behind a proxy", self.visit(self.cookie())),
            (
                "guard, no token",
                self.request(StatusCode::UNAUTHORIZED, |_| guard_request("guard", None)),
            ),
            (
                "guard, forged token",
                self.request(StatusCode::UNAUTHORIZED, |time| {
                    guard_request("guard", Some(&self.forged(time)?))
                }),
            ),
        ];
        operations.into_iter().map(|(name, operation)| (name.to_owned(), operation)).collect()
    }

    /// Evaluates the slowest conditions with the largest possible facts, and ignores the results.
    fn conditions(&self, runtime: &Runtime) -> anyhow::Result<Vec<Named<'static>>> {
        let caller = condition::largest_caller(runtime, &self.doorward, &self.app)?;
        let named = condition::SLOWEST.iter().map(|text| {
            let guard = condition::guard(text)?;
            let (facts, request) =
                (CallerFacts::new(&caller.user, &caller.session), condition::largest_request());
            let operation: Operation<'static> = Box::new(move || {
                black_box(guard.condition.holds(&facts, &request).is_ok());
                Ok(())
            });
            Ok((format!("condition: {text}"), operation))
        });
        named.collect()
    }

    /// The route that does nothing, with the same request as the guard.
    fn bare(&self) -> Operation<'_> {
        let app = ceiling::bare_guard();
        let mut requests = Vec::new();
        Box::new(move || {
            let request = next(&mut requests, |_| guard_request("guard", Some(&self.token)))?;
            let Ok(response) = ready(app.clone().call(request))?;
            ensure!(response.status() == StatusCode::OK, "it answered {}", response.status());
            Ok(())
        })
    }

    fn guarded(&self, guard: &'static str, expected: StatusCode) -> Operation<'_> {
        self.request(expected, move |_| guard_request(guard, Some(&self.token)))
    }

    /// The cookie of the user at the guard with origins.
    fn cookie(&self) -> Identity {
        let cookie = self.doorward.cookies().app_cookie(&self.caller.session, APP);
        ("cookie", format!("__Host-doorward-app={cookie}"))
    }

    fn visit(&self, identity: Identity) -> Operation<'_> {
        self.request(StatusCode::OK, move |_| visit_request(&identity))
    }

    /// A well-formed token with another id, so that only a key can detect the forgery.
    fn forged(&self, number: u32) -> anyhow::Result<String> {
        let parts: Vec<_> = self.token.split('.').collect();
        let [head, claims, signature] = parts[..] else { bail!("a token has three parts") };
        let claims = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(claims)?)?;
        let (before, after) = claims.split_once("\"jti\":\"").context("a token has an id")?;
        let claims = format!("{before}\"jti\":\"{number:08x}{}", &after[8..]);
        Ok(format!("{head}.{}.{signature}", BASE64_URL_SAFE_NO_PAD.encode(claims)))
    }

    /// A whole request through the router.
    fn request<'a>(
        &'a self,
        expected: StatusCode,
        make: impl Fn(u32) -> anyhow::Result<Request<Body>> + 'a,
    ) -> Operation<'a> {
        let mut requests = Vec::new();
        Box::new(move || {
            let request = next(&mut requests, &make)?;
            let response = ready(self.app.answer(request, PEER))?;
            ensure!(response.status() == expected, "it answered {}", response.status());
            Ok(())
        })
    }
}

/// The next of the requests, all of which the warm-up builds, before counting starts.
fn next(
    requests: &mut Vec<Request<Body>>,
    make: impl Fn(u32) -> anyhow::Result<Request<Body>>,
) -> anyhow::Result<Request<Body>> {
    if requests.is_empty() {
        *requests = (0..=TIMES).map(make).collect::<anyhow::Result<_>>()?;
    }
    requests.pop().context("there is a request for every run")
}

/// The header that identifies a person.
type Identity = (&'static str, String);

/// A request of a browser, as a proxy describes it.
fn visit_request((name, value): &Identity) -> anyhow::Result<Request<Body>> {
    let mut request = guard_request("app", None)?;
    let sent = [
        ("x-forwarded-for", "192.0.2.7"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "app.example.com"),
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/reports?year=2026"),
        ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("accept-language", "en-GB,en;q=0.5"),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
        (name, value),
    ];
    for (name, value) in sent {
        request.headers_mut().append(name, HeaderValue::from_str(value)?);
    }
    Ok(request)
}

fn guard_request(guard: &str, token: Option<&str>) -> anyhow::Result<Request<Body>> {
    let mut request = Request::get(format!("/api/auth/{guard}")).header("host", "localhost:3000");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    Ok(request.body(Body::empty())?)
}

pub(crate) fn register(body: String) -> anyhow::Result<Request<Body>> {
    let request = Request::post("/api/user").header("content-type", "application/json");
    Ok(request.body(body.into())?)
}

/// Fails if the future has to wait for another thread, whose instructions would not be counted.
fn ready<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    match future.now_or_never() {
        Some(value) => Ok(value),
        None => bail!("it had to wait"),
    }
}
