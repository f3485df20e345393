//! A layer that passes a request on only if Doorward admits it, and a minimal axum app behind it.
//! Start in the folder of this file: cargo add axum reqwest && cargo add tokio --features full && cp axum.rs src/main.rs && cargo run
//!
//! The app sees the same headers as behind a proxy: the `IDENTITY` headers come from Doorward, never from the client.
//! An axum app can also embed Doorward, without a second process.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};

const GUARD: &str = "http://{{ setup.doorward }}/api/auth/{{ setup.apps[0].guard }}";
const IDENTITY: &[&str] = &[
{%- for name in setup.headers.copied() %}
    "{{ name }}",
{%- endfor %}
];
const FORWARDED_HEADERS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::ORIGIN, header::ACCESS_CONTROL_REQUEST_METHOD];
const REFUSAL_HEADERS: [HeaderName; 5] = [
    header::CONTENT_TYPE,
    header::WWW_AUTHENTICATE,
    header::CACHE_CONTROL,
    header::VARY,
    HeaderName::from_static("x-decision-id"),
];

async fn doorward(
    State(client): State<reqwest::Client>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    remove_identity(request.headers_mut());
    let headers = guard_headers(&request, peer);
    // Refuses every request while Doorward is unreachable or does not respond within 2 s.
    let Ok(answer) = client.get(GUARD).headers(headers).send().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    match answer.status() {
        StatusCode::OK => {
            for &name in IDENTITY {
                if let Some(value) = answer.headers().get(name) {
                    request.headers_mut().insert(name, value.clone());
                }
            }
            next.run(request).await
        }
        StatusCode::UNAUTHORIZED => refusal(answer).await,
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

fn remove_identity(headers: &mut HeaderMap) {
    // Some libraries read X_Auth_User_Id and X!Auth!User!Id as X-Auth-User-Id.
    let is_odd = |name: &str| !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_identity = |name: &str| {
        let prefixes = ["x-auth", "remote-", "x-remote-", "x-webauth-"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
            || IDENTITY.contains(&name)
            || is_odd(name)
    };
    let found: Vec<_> = headers.keys().filter(|name| is_identity(name.as_str())).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

fn guard_headers(request: &Request, peer: SocketAddr) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in FORWARDED_HEADERS {
        // All values: Doorward refuses a request with two tokens.
        for value in request.headers().get_all(&name) {
            headers.append(&name, value.clone());
        }
    }
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    for (name, value) in [
        ("x-forwarded-for", peer.ip().to_string()),
        ("x-forwarded-proto", "http".into()),
        ("x-forwarded-host", host.unwrap_or_default().into()),
        ("x-forwarded-method", request.method().to_string()),
        ("x-forwarded-uri", request.uri().to_string()),
    ] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    headers
}

async fn refusal(answer: reqwest::Response) -> Response {
    let mut refusal = StatusCode::UNAUTHORIZED.into_response();
    for name in REFUSAL_HEADERS {
        if let Some(value) = answer.headers().get(&name) {
            refusal.headers_mut().insert(name, value.clone());
        }
    }
    *refusal.body_mut() = Body::from(answer.bytes().await.unwrap_or_default());
    refusal
}

async fn hello(headers: HeaderMap) -> String {
    let id = headers.get("x-auth-user-id").and_then(|id| id.to_str().ok());
    format!("Hello, user {}.\n", id.unwrap_or("unknown"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Tokens must not pass through a proxy named in the environment.
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
    let app = Router::new()
        .route("/", get(hello))
        .layer(middleware::from_fn_with_state(client, doorward))
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("{{ setup.apps[0].address }}").await?;
    axum::serve(listener, app).await?;
    Ok(())
}
