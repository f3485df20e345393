//! Where everybody needs a second factor, a session of one factor opens only the own account.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    routing::get,
};
use serde_json::Value;
use tower::ServiceExt;

use super::{App, only::Only, service};
use crate::{
    Authenticated, Caller, Designated, Doorward, Settings,
    access::{
        factor_policy::FactorPolicy,
        guard::{Ask, Missing},
    },
    account::NewUser,
    credential::password::Cost,
    network::ClientInfo,
    session::{Method, Methods, Session, TokenId},
    store::{Effects, SessionStart, SignIn},
    user::StoredTotp,
};

const ORIGIN: &str = "https://app.example.com";
const GUARDS: &str = "
[guards.app]
allow = 'true'
proxy = 'caddy'
origins = ['https://app.example.com']
[guards.boss]
allow = '\"boss\" in user.roles'
[guards.watched]
allow = 'true'
mode = 'report'
";

/// A service with one user, who has the designated name, and their token.
struct Instance {
    doorward: Doorward,
    token: String,
    caller: Caller,
    _folder: tempfile::TempDir,
}

impl Instance {
    async fn open(factors: FactorPolicy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::new()
            .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
            .with("public_url", "https://auth.example.com")
            .with("invitations.allow", "true")
            .with_toml(GUARDS);
        let password_cost = Cost { memory_kib: 64, passes: 1 };
        let settings = Settings { password_cost, factors, ..settings };
        let doorward = Doorward::open(settings).await.unwrap();
        let user = NewUser::new("Miles Davis", "miles@example.com").password("correct horse");
        let client = ClientInfo::new([127, 0, 0, 1].into(), "");
        let opened = doorward.register(user, client).await.unwrap();
        let caller = doorward.caller(opened.token.as_str()).await.unwrap();
        Self { token: opened.token.as_str().to_owned(), caller, doorward, _folder: folder }
    }

    async fn answer(&self, request: Request) -> (StatusCode, HeaderMap, Value) {
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        let (head, body) = service(self.doorward.clone()).answer(request, peer).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (head.status, head.headers, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn call(&self, method: &str, path: &str, body: &'static str) -> (StatusCode, HeaderMap) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json");
        let (status, headers, _) = self.answer(request.body(body.into()).unwrap()).await;
        (status, headers)
    }

    /// What the refusal of a guard says that is missing.
    fn missing(&self, headers: &HeaderMap) -> Option<Missing> {
        let id = headers["x-decision-id"].to_str().unwrap();
        self.doorward.refusal(id).unwrap().missing
    }

    async fn add_totp(&self) {
        let totp = StoredTotp {
            user_id: self.caller.user.id,
            secret: vec![1; 48],
            last_step: 0,
            created_at: self.doorward.now(),
            last_used_at: None,
        };
        let user = &self.caller.user;
        self.doorward.store().add_totp(user, &totp, &[], None, &Effects::NONE).await.unwrap();
    }

    /// The session after a second factor.
    async fn step_up(&self) -> Session {
        let now = self.doorward.now();
        let session = Session {
            token_id: TokenId::random(),
            methods: Methods::at(now, [Method::Password, Method::Totp]),
            ..(*self.caller.session).clone()
        };
        let replaces = self.caller.session.token_id;
        let start = SessionStart::StepUp { session: session.clone(), replaces };
        let sign_in = SignIn { start, ..SignIn::new(&self.caller.user, session.clone()) };
        self.doorward.store().sign_in(sign_in, &Effects::NONE).await.unwrap();
        session
    }

    /// What a guard answers to a person who opens the app.
    async fn visit(&self, session: &Session) -> (StatusCode, HeaderMap) {
        let cookie = self.doorward.cookies().app_cookie(session, ORIGIN);
        let request = Request::get("/api/auth/app")
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-host", "app.example.com")
            .header("x-forwarded-uri", "/reports?x=1")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document")
            .header(header::COOKIE, format!("__Host-doorward-app={cookie}"));
        let (status, headers, _) = self.answer(request.body(Body::empty()).unwrap()).await;
        (status, headers)
    }
}

#[tokio::test]
async fn a_session_of_one_factor_opens_only_the_own_account() {
    let instance = Instance::open(FactorPolicy::Required).await;
    let enrol = Some(Missing::SecondFactor);
    // Every guard refuses, each time.
    for guard in ["guard", "miles", "app", "app", "guard"] {
        let (status, headers) = instance.call("GET", &format!("/api/auth/{guard}"), "").await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{guard}");
        assert_eq!(instance.missing(&headers), enrol, "{guard}");
        let challenge = headers[header::WWW_AUTHENTICATE].to_str().unwrap();
        assert!(challenge.contains("insufficient_user_authentication"), "{challenge}");
    }
    let (status, headers) = instance.call("GET", "/api/auth/boss", "").await;
    assert_eq!((status, instance.missing(&headers)), (StatusCode::UNAUTHORIZED, None));
    assert_eq!(instance.call("GET", "/api/auth/watched", "").await.0, StatusCode::OK);
    let invite = instance.call("POST", "/api/invitations", r#"{"email":"eve@example.com"}"#).await;
    assert_eq!((invite.0, instance.missing(&invite.1)), (StatusCode::UNAUTHORIZED, enrol));
    // The own account is open.
    for path in ["/api/me", "/api/sessions", "/api/invitations", "/api/me/export"] {
        assert_eq!(instance.call("GET", path, "").await.0, StatusCode::OK, "{path}");
    }
    // A person is sent to set up a factor.
    let (status, headers) = instance.visit(&instance.caller.session).await;
    let location = headers[header::LOCATION].to_str().unwrap();
    assert_eq!(status, StatusCode::SEE_OTHER);
    let start = "https://auth.example.com/account/security?for=";
    assert!(location.starts_with(start), "{location}");

    // Whoever holds a factor gives it, and is admitted then.
    instance.add_totp().await;
    let step_up = Some(Missing::StepUp(Ask::TwoFactors));
    for guard in ["guard", "miles", "app"] {
        let (status, headers) = instance.call("GET", &format!("/api/auth/{guard}"), "").await;
        assert_eq!((status, instance.missing(&headers)), (StatusCode::UNAUTHORIZED, step_up));
    }
    let (_, headers) = instance.visit(&instance.caller.session).await;
    let location = headers[header::LOCATION].to_str().unwrap();
    let start = "https://auth.example.com/step-up?for=";
    assert!(location.starts_with(start) && location.ends_with("&ask=two"), "{location}");
    let session = instance.step_up().await;
    assert_eq!(instance.visit(&session).await.0, StatusCode::OK);
    assert_eq!(instance.visit(&session).await.0, StatusCode::OK);
}

#[tokio::test]
async fn where_it_is_optional_one_factor_is_enough() {
    let instance = Instance::open(FactorPolicy::Optional).await;
    for guard in ["guard", "miles", "app"] {
        let (status, _) = instance.call("GET", &format!("/api/auth/{guard}"), "").await;
        assert_eq!(status, StatusCode::OK, "{guard}");
    }
    assert_eq!(instance.visit(&instance.caller.session).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_route_of_an_embedding_app_admits_no_session_of_one_factor() {
    let instance = Instance::open(FactorPolicy::Required).await;
    let doorward = instance.doorward.clone();
    let app = Router::new()
        .route("/basket", get(async |_: Only<Authenticated>| "the basket"))
        .route("/stage", get(async |_: Only<Designated>| "the stage"))
        .with_state(doorward.clone())
        .merge(doorward.pages());
    let send = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(path).header("host", "auth.example.com");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    let bearer = format!("Bearer {}", instance.token);
    let cookie =
        format!("__Host-doorward={}", doorward.cookies().session_cookie(&instance.caller.session));
    let page = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    for path in ["/basket", "/stage"] {
        let program = send(path, &[("authorization", &bearer)]).await;
        assert_eq!(program.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(instance.missing(program.headers()), Some(Missing::SecondFactor));
        let script = send(path, &[("cookie", &cookie), ("sec-fetch-mode", "cors")]).await;
        assert_eq!(script.status(), StatusCode::UNAUTHORIZED);
        let person = send(path, &[("cookie", &*cookie), page[0], page[1]]).await;
        assert_eq!(person.status(), StatusCode::SEE_OTHER);
        let location = person.headers()[header::LOCATION].to_str().unwrap();
        let sealed = location.strip_prefix("/account/security?for=").expect(location);
        assert_eq!(doorward.cookies().open_target(sealed).unwrap().url, path);
    }
    instance.add_totp().await;
    let person = send("/basket?x=1", &[("cookie", &*cookie), page[0], page[1]]).await;
    let location = person.headers()[header::LOCATION].to_str().unwrap().to_owned();
    assert!(location.starts_with("/step-up?for=") && location.ends_with("&ask=two"), "{location}");
    let session = Arc::new(instance.step_up().await);
    let cookie = format!("__Host-doorward={}", doorward.cookies().session_cookie(&session));
    assert_eq!(send("/basket", &[("cookie", &cookie)]).await.status(), StatusCode::OK);
    assert_eq!(send("/stage", &[("cookie", &cookie)]).await.status(), StatusCode::OK);
}
