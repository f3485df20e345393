//! Doorward embedded in an axum app, as in `examples/embed.rs`.

mod postgres;

use std::{path::Path, process, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::FromRef,
    http::{Method, Request, StatusCode},
    routing::get,
};
use doorward::{
    Authenticated, Caller, Designated, Doorward, FromState, Only, Policy, Settings, User,
    internals::{
        Internals,
        clock::Timestamp,
        control::{AdminClient, Error},
        http::api::admin::guards::Guards,
        store::Effects,
        user::Role,
    },
};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The state of an app that holds more than Doorward.
#[derive(Clone)]
struct Shop {
    doorward: Doorward,
    owner: &'static str,
}

impl FromRef<Shop> for Doorward {
    fn from_ref(shop: &Shop) -> Self {
        shop.doorward.clone()
    }
}

/// A policy without data.
#[derive(Default)]
struct Customer;

impl Policy for Customer {
    const NAME: &str = "customer";

    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        caller.user.roles.iter().all(|role| role != "banned").then(|| Arc::clone(&caller.user))
    }
}

/// A policy with data from the app's state.
struct Owner(&'static str);

impl FromState<Shop> for Owner {
    fn from_state(shop: &Shop) -> Self {
        Self(shop.owner)
    }
}

impl Policy for Owner {
    const NAME: &str = "owner";

    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        let user = &caller.user;
        (user.email_verified && user.email.as_str() == self.0).then(|| Arc::clone(user))
    }
}

async fn basket(user_id: Only<Authenticated>) -> String {
    format!("the basket of {user_id}")
}

async fn counter(user: Only<Customer>) -> String {
    format!("the counter, {}", user.name.as_str())
}

async fn stage(user: Only<Designated>) -> String {
    format!("the stage, {}", user.name.as_str())
}

async fn till(user: Only<Owner>) -> String {
    format!("the till, {}", user.name.as_str())
}

async fn send(app: &Router, request: Request<Body>) -> (StatusCode, String) {
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn register(app: &Router, name: &str, email: &str) -> Value {
    let body = json!({"name": name, "email": email}).to_string();
    let (status, body) = send(app, Request::post("/api/user").body(body.into()).unwrap()).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    serde_json::from_str(&body).unwrap()
}

async fn visit(app: &Router, path: &str, token: &Value) -> (StatusCode, String) {
    let bearer = format!("Bearer {}", token.as_str().unwrap());
    let request = Request::get(path).header("authorization", bearer).body(Body::empty());
    send(app, request.unwrap()).await
}

#[tokio::test]
async fn an_app_guards_its_own_routes_with_its_own_policies() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()));
    let doorward = Doorward::open(settings).await.unwrap();
    let shop = Shop { doorward: doorward.clone(), owner: "olga@example.com" };
    let app = Router::new()
        .route("/basket", get(basket))
        .route("/counter", get(counter))
        .route("/stage", get(stage))
        .route("/till", get(till))
        .with_state(shop)
        .merge(doorward.routes());

    let olga = register(&app, "Olga", "olga@example.com").await;
    let pete = register(&app, "Pete", "pete@example.com").await;
    let basket = format!("the basket of {}", pete["id"].as_str().unwrap());
    assert_eq!(visit(&app, "/basket", &pete["token"]).await, (StatusCode::OK, basket));
    // Registering the owner's address does not make an owner before it is verified.
    assert_eq!(visit(&app, "/till", &olga["token"]).await.0, StatusCode::UNAUTHORIZED);
    let id = olga["id"].as_str().unwrap().parse().unwrap();
    assert!(doorward.verify_email(id, "olga@example.com").await.unwrap());
    assert_eq!(
        visit(&app, "/till", &olga["token"]).await,
        (StatusCode::OK, "the till, Olga".to_owned())
    );
    assert_eq!(visit(&app, "/till", &pete["token"]).await.0, StatusCode::UNAUTHORIZED);
    let counter = (StatusCode::OK, "the counter, Pete".to_owned());
    assert_eq!(visit(&app, "/counter", &pete["token"]).await, counter);
    assert_eq!(visit(&app, "/stage", &pete["token"]).await.0, StatusCode::UNAUTHORIZED);
    let role = Role::parse("banned").unwrap();
    let id = pete["id"].as_str().unwrap().parse().unwrap();
    assert!(
        doorward
            .store()
            .grant_role(id, &role, Timestamp::from_seconds(0), &Effects::NONE)
            .await
            .unwrap()
    );
    assert_eq!(visit(&app, "/counter", &pete["token"]).await.0, StatusCode::UNAUTHORIZED);
    let without_token = Request::get("/basket").body(Body::empty()).unwrap();
    assert_eq!(send(&app, without_token).await.0, StatusCode::UNAUTHORIZED);
    // The app's own 404 is unchanged.
    let elsewhere = Request::get("/elsewhere").body(Body::empty()).unwrap();
    assert_eq!(send(&app, elsewhere).await, (StatusCode::NOT_FOUND, String::new()));
}

#[tokio::test]
async fn an_app_mounts_the_pages_beside_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
        .with("branding.name", "The Shop");
    let doorward = Doorward::open(settings).await.unwrap();
    let app = Router::new()
        .route("/", get(async || "the shop"))
        .merge(doorward.routes())
        .merge(doorward.pages());
    let page = |path: &str| Request::get(path).header("host", "localhost:4000");
    let start = page("/").body(Body::empty()).unwrap();
    assert_eq!(send(&app, start).await, (StatusCode::OK, "the shop".to_owned()));
    let (status, body) = send(&app, page("/sign-up").body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.contains("The Shop") && body.contains("<form"), "{body}");

    let form = Request::post("/sign-up")
        .header("host", "localhost:4000")
        .header("origin", "http://localhost:4000")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("name=Olga&email=olga%40example.com&password=correct+horse"))
        .unwrap();
    let answer = app.clone().oneshot(form).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert_eq!(answer.headers()["location"], "/account");
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    let account = page("/account").header("cookie", cookie).body(Body::empty()).unwrap();
    let (status, body) = send(&app, account).await;
    assert!(status == StatusCode::OK && body.contains("olga@example.com"), "{status} {body}");
    // The app's own 404 is unchanged, for browsers too.
    let elsewhere = page("/elsewhere").header("accept", "text/html").body(Body::empty()).unwrap();
    assert_eq!(send(&app, elsewhere).await, (StatusCode::NOT_FOUND, String::new()));
}

#[tokio::test]
async fn people_of_an_app_go_to_another_provider_and_come_back_to_the_app() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
        .with("public_url", "https://shop.example.com")
        .with_toml("[logins.github]\nclient_id = 'shop'\nclient_secret_file = '/nowhere'");
    let doorward = Doorward::open(settings).await.unwrap();
    let app = Router::new().merge(doorward.routes()).merge(doorward.pages());
    let page = |path: &str| {
        let page = Request::get(path).header("host", "shop.example.com");
        page.header("x-forwarded-proto", "https").body(Body::empty()).unwrap()
    };
    let (status, body) = send(&app, page("/sign-in")).await;
    assert!(status == StatusCode::OK && body.contains("Continue with GitHub"), "{body}");
    let answer = app.clone().oneshot(page("/sign-in/with/github")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    let there = answer.headers()["location"].to_str().unwrap();
    let back = "redirect_uri=https%3A%2F%2Fshop.example.com%2Fsign-in%2Fwith%2Fgithub%2Fback";
    assert!(there.starts_with("https://github.com/login/oauth/authorize?"), "{there}");
    assert!(there.contains(back), "{there}");
    let attempt = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(attempt.starts_with("__Host-doorward-try-login-"), "{attempt}");
    // Who comes back without it is not asked for anything.
    let (status, body) = send(&app, page("/sign-in/with/github/back?state=x&code=y")).await;
    assert!(status == StatusCode::BAD_REQUEST && body.contains("Please start again"), "{body}");
}

/// An app with pages for people beside its JSON, called as a browser does.
struct Site {
    app: Router,
    doorward: Doorward,
    _folder: tempfile::TempDir,
}

const HOST: &str = "localhost:4000";
const ORIGIN: &str = "http://localhost:4000";
/// The headers of a person who opens a link.
const NAVIGATION: [(&str, &str); 3] =
    [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"), ("sec-fetch-site", "none")];
/// The headers of `fetch` in a page of the app.
const SCRIPT: [(&str, &str); 3] =
    [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty"), ("sec-fetch-site", "same-origin")];

impl Site {
    async fn open() -> Self {
        Self::open_with(true).await
    }

    async fn open_with(has_pages: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::new()
            .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
            .with("branding.name", "The Shop");
        let doorward = Doorward::open(settings).await.unwrap();
        let shop = Shop { doorward: doorward.clone(), owner: "olga@example.com" };
        let mut app = Router::new()
            .route("/basket", get(basket).post(basket))
            .route("/counter", get(counter))
            .route("/till", get(till).post(till))
            .nest("/backroom", Router::new().route("/shelf", get(basket)))
            .fallback(basket)
            .with_state(shop)
            .merge(doorward.routes());
        if has_pages {
            app = app.merge(doorward.pages());
        }
        Self { app, doorward, _folder: folder }
    }

    async fn request(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> axum::response::Response {
        let mut request = Request::builder().method(method).uri(path).header("host", HOST);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.app.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap()
    }

    async fn status(&self, at: (&str, &str), cookie: &str, headers: &[(&str, &str)]) -> u16 {
        let headers = [headers, &[("cookie", cookie)]].concat();
        self.request(at, &headers, "").await.status().as_u16()
    }

    /// Sends a form of a page; returns where it leads and the cookie.
    async fn submit(&self, path: &str, form: &str) -> (String, String) {
        let headers = [("origin", ORIGIN), ("content-type", "application/x-www-form-urlencoded")];
        let answer = self.request(("POST", path), &headers, form).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{form}");
        let header = |name| answer.headers()[name].to_str().unwrap().to_owned();
        let cookie = header("set-cookie").split(';').next().unwrap().to_owned();
        (header("location"), cookie)
    }

    /// Where a person without a session is sent to, as the value of `for`.
    async fn way_to_sign_in(&self, at: (&str, &str), headers: &[(&str, &str)]) -> String {
        let answer = self.request(at, headers, "").await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{at:?}");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        let location = answer.headers()["location"].to_str().unwrap();
        location.strip_prefix("/sign-in?for=").unwrap().to_owned()
    }

    /// Where a person is who opened a link and then signed in.
    async fn after_sign_in(&self, at: (&str, &str), headers: &[(&str, &str)]) -> String {
        let target = self.way_to_sign_in(at, headers).await;
        self.submit("/sign-in", &format!("{SIGN_IN}&for={target}")).await.0
    }
}

const SIGN_UP: &str = "name=Pete&email=pete%40example.com&password=correct+horse";
const SIGN_IN: &str = "email=pete%40example.com&password=correct+horse";

#[tokio::test]
async fn a_person_without_a_session_signs_in_and_returns_to_the_very_link() {
    let site = Site::open().await;
    let link = "/counter?year=2026&of=%2Fa%20b&x=1";
    // The page says where it leads, and both forms do.
    let target = site.way_to_sign_in(("GET", link), &NAVIGATION).await;
    let page = site.request(("GET", &format!("/sign-in?for={target}")), &NAVIGATION, "").await;
    let page = String::from_utf8(to_bytes(page.into_body(), usize::MAX).await.unwrap().into());
    let page = page.unwrap();
    assert!(page.contains("The Shop") && page.contains(&target), "{page}");
    let (location, cookie) = site.submit("/sign-up", &format!("{SIGN_UP}&for={target}")).await;
    assert_eq!(location, link);
    assert_eq!(site.after_sign_in(("GET", link), &NAVIGATION).await, link);
    let answer = site.request(("GET", link), &[("cookie", &cookie)], "").await;
    assert_eq!(answer.status(), StatusCode::OK);
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert_eq!(&body[..], b"the counter, Pete");
    // Somebody who is signed in already is led on.
    let again = [&NAVIGATION[..], &[("cookie", &*cookie)]].concat();
    let led = site.request(("GET", &format!("/sign-in?for={target}")), &again, "").await;
    assert_eq!(led.headers()["location"], link);

    // Browsers that send no fetch metadata ask for HTML.
    let old = [("accept", "text/html,*/*;q=0.8")];
    assert_eq!(site.after_sign_in(("GET", "/basket"), &old).await, "/basket");
    assert_eq!(site.after_sign_in(("GET", "/backroom/shelf?a"), &old).await, "/backroom/shelf?a");

    // A session that ended begins here again.
    let user = site.doorward.user_by_email("pete@example.com").await.unwrap().unwrap();
    site.doorward.end_sessions(user.id).await.unwrap();
    let ended = [&NAVIGATION[..], &[("cookie", &*cookie)]].concat();
    site.way_to_sign_in(("GET", link), &ended).await;
}

#[tokio::test]
async fn no_return_target_leads_to_another_origin() {
    let site = Site::open().await;
    site.submit("/sign-up", SIGN_UP).await;
    for path in ["//evil.example/x", "/%5Cevil.example", "/a//evil.example"] {
        let expected = if path.starts_with("//") { "/" } else { path };
        assert_eq!(site.after_sign_in(("GET", path), &NAVIGATION).await, expected, "{path}");
    }
    // A form returns to its page, if that is one of the app.
    let form = |page| [&NAVIGATION[..], &[("referer", page)]].concat();
    for (page, expected) in [
        ("http://localhost:4000/basket?a=b", "/basket?a=b"),
        ("http://localhost:4000//evil.example/", "/"),
        ("http://localhost:4000.evil.example/basket", "/"),
        ("http://localhost:40000/basket", "/"),
        ("https://evil.example/basket", "/"),
    ] {
        let at = ("POST", "/basket");
        assert_eq!(site.after_sign_in(at, &form(page)).await, expected, "{page}");
    }
    // A long query is left out, and a forged target is ignored.
    let long = format!("/counter?{}", "x".repeat(3000));
    assert_eq!(site.after_sign_in(("GET", &long), &NAVIGATION).await, "/counter");
    let target = site.way_to_sign_in(("GET", "/counter"), &NAVIGATION).await;
    for forged in ["/counter", "https://evil.example/", &target[1..], &format!("{target}A")] {
        let (location, _) = site.submit("/sign-in", &format!("{SIGN_IN}&for={forged}")).await;
        assert_eq!(location, "/account", "{forged}");
    }
}

#[tokio::test]
async fn a_cookie_counts_under_the_rules_of_the_pages() {
    let site = Site::open().await;
    let (_, cookie) = site.submit("/sign-up", SIGN_UP).await;
    let status =
        async |at: (&str, &str), headers: &[(&str, &str)]| site.status(at, &cookie, headers).await;
    let from = |site| [("sec-fetch-site", site)];
    for site in ["same-origin", "none", "same-site", "cross-site"] {
        // Nothing changes.
        assert_eq!(status(("GET", "/basket"), &from(site)).await, 200, "{site}");
        let is_own = ["same-origin", "none"].contains(&site);
        let expected = if is_own { 200 } else { 403 };
        assert_eq!(status(("POST", "/basket"), &from(site)).await, expected, "{site}");
        let websocket = [from(site)[0], ("upgrade", "websocket"), ("connection", "upgrade")];
        assert_eq!(status(("GET", "/basket"), &websocket).await, expected, "{site}");
    }
    for (origin, expected) in [
        (ORIGIN, 200),
        ("http://127.0.0.1:4000", 403),
        ("http://localhost:4001", 403),
        ("https://localhost:4000", 403),
        ("null", 403),
    ] {
        assert_eq!(status(("POST", "/basket"), &[("origin", origin)]).await, expected, "{origin}");
    }
    assert_eq!(status(("POST", "/basket"), &[]).await, 403, "neither header");
    let twice = format!("{cookie}; {cookie}");
    assert_eq!(site.status(("GET", "/basket"), &twice, &SCRIPT).await, 401, "ambiguous");
    assert_eq!(site.status(("GET", "/basket"), &cookie[..40], &SCRIPT).await, 401, "damaged");
    let elsewhere = Request::get("/basket")
        .header("host", "shop.example.com")
        .header("cookie", &cookie)
        .body(Body::empty());
    let (status, _) = send(&site.app, elsewhere.unwrap()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "plain HTTP beyond this machine");
}

#[tokio::test]
async fn with_authorization_nothing_else_counts() {
    let site = Site::open().await;
    let (_, cookie) = site.submit("/sign-up", SIGN_UP).await;
    let olga = register(&site.app, "Olga", "olga@example.com").await;
    let bearer = format!("Bearer {}", olga["token"].as_str().unwrap());
    let both = [("authorization", &*bearer), ("cookie", &*cookie)];
    let answer = site.request(("GET", "/counter"), &both, "").await;
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert_eq!(&body[..], b"the counter, Olga");
    // The method and the site do not matter to a token.
    let foreign = [("authorization", &*bearer), ("sec-fetch-site", "cross-site")];
    assert_eq!(site.request(("POST", "/basket"), &foreign, "").await.status(), StatusCode::OK);
    for authorization in ["Bearer x", "Basic eA==", "x", ""] {
        let headers = [&NAVIGATION[..], &[("authorization", authorization)]].concat();
        assert_eq!(site.status(("GET", "/basket"), &cookie, &headers).await, 401);
    }
}

#[tokio::test]
async fn scripts_and_programs_get_json_and_not_the_way_to_a_page() {
    let site = Site::open().await;
    for headers in [&SCRIPT[..], &[], &[("accept", "*/*")], &[("accept", "application/json")]] {
        let answer = site.request(("GET", "/basket"), headers, "").await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{headers:?}");
        assert_eq!(answer.headers()["content-type"], "application/json");
        assert_eq!(answer.headers()["www-authenticate"], "Bearer realm=\"doorward\"");
        assert!(answer.headers().contains_key("x-decision-id"));
    }
    let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let prefetch = [&NAVIGATION[..], &[("sec-purpose", "prefetch;prerender")]].concat();
    for headers in [&frame[..], &prefetch] {
        let answer = site.request(("GET", "/basket"), headers, "").await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{headers:?}");
    }
}

#[tokio::test]
async fn a_person_whom_a_policy_refuses_gets_a_page_and_a_script_gets_json() {
    let site = Site::open().await;
    let (_, cookie) = site.submit("/sign-up", SIGN_UP).await;
    let headers = [&NAVIGATION[..], &[("cookie", &*cookie)]].concat();
    let answer = site.request(("GET", "/till"), &headers, "").await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8");
    let decision = answer.headers()["x-decision-id"].to_str().unwrap().to_owned();
    let page = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let page = String::from_utf8(page.to_vec()).unwrap();
    assert!(page.contains("The Shop") && page.contains(&decision), "{page}");
    assert!(page.contains("pete@example.com") && page.contains("/sign-in?for="), "{page}");
    assert!(page.contains("href=\"/till\""), "try again: {page}");
    let headers = [&SCRIPT[..], &[("cookie", &*cookie)]].concat();
    let answer = site.request(("GET", "/till"), &headers, "").await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(answer.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn the_api_of_the_service_takes_no_cookie_and_sends_nobody_to_sign_in() {
    let site = Site::open().await;
    let (_, cookie) = site.submit("/sign-up", SIGN_UP).await;
    for path in ["/api/me", "/api/sessions", "/api/me/export", "/api/auth/guard", "/api/auth/miles"]
    {
        for headers in [&NAVIGATION[..], &SCRIPT] {
            assert_eq!(site.status(("GET", path), &cookie, headers).await, 401, "{path}");
        }
    }
    for (method, path) in
        [("DELETE", "/api/me"), ("POST", "/api/auth/logout"), ("POST", "/api/auth/refresh")]
    {
        let own = [("sec-fetch-site", "same-origin"), ("origin", ORIGIN)];
        assert_eq!(site.status((method, path), &cookie, &own).await, 401, "{path}");
    }
}

#[tokio::test]
async fn without_pages_a_person_gets_the_answer_of_a_program() {
    let site = Site::open_with(false).await;
    let answer = site.request(("GET", "/basket"), &NAVIGATION, "").await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

/// Runs the binary as an operator does, with the database of a running app.
async fn command(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = process::Command::new(env!("CARGO_BIN_EXE_doorward"));
    command.env_clear().current_dir(folder).args(arguments);
    let finished = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let output = [finished.stdout, finished.stderr].concat();
    (finished.status.success(), String::from_utf8(output).unwrap())
}

#[tokio::test]
async fn commands_reach_an_app_that_takes_them() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()));
    let doorward = Doorward::open(settings.clone()).await.unwrap();
    let commands = tokio::spawn(doorward.serve_commands());
    let app = doorward.routes();
    let olga = register(&app, "Olga", "olga@example.com").await;

    let url = settings.database().to_string();
    let (done, output) = command(folder.path(), &["user", "list", "--database-url", &url]).await;
    assert!(done && output.contains("olga@example.com"), "{output}");
    let logout = ["user", "logout", "olga@example.com", "--database-url", &url];
    let (done, output) = command(folder.path(), &logout).await;
    assert!(done, "{output}");
    assert_eq!(visit(&app, "/api/auth/guard", &olga["token"]).await.0, StatusCode::UNAUTHORIZED);
    let (done, output) = command(folder.path(), &["reload", "--database-url", &url]).await;
    assert!(!done && output.contains("this app cannot reload its guards"), "{output}");

    // An app that no longer serves commands cannot be reached.
    commands.abort();
    assert!(commands.await.unwrap_err().is_cancelled());
    let client = AdminClient::open(settings).await.unwrap();
    let unheard = client.get::<Guards>("/api/admin/guards").await;
    assert!(matches!(unheard, Err(Error::Unreachable { .. })), "{unheard:?}");
}

async fn reload(settings: Settings) -> Result<Guards, Error> {
    let client = AdminClient::open(settings).await?;
    assert!(client.is_server());
    client.order(Method::POST, "/api/admin/guards/reload", &()).await
}

#[tokio::test]
async fn an_app_that_can_reload_its_guards_reloads_them_on_command() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()));
    let doorward = Doorward::open(settings.clone()).await.unwrap();
    let read = settings.clone();
    tokio::spawn(doorward.serve_commands_with(Arc::new(move || Ok(read.clone()))));
    let Guards { guards } = reload(settings).await.unwrap();
    assert!(guards.is_empty(), "{guards:?}");
}

#[tokio::test]
async fn commands_reach_an_app_on_postgresql() {
    let Some(url) = postgres::fresh_database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings =
        Settings::new().with("database_url", &url).with("data_folder", folder.path().display());
    let doorward = Doorward::open(settings.clone()).await.unwrap();
    tokio::spawn(doorward.serve_commands());
    register(&doorward.routes(), "Olga", "olga@example.com").await;
    let refused = reload(settings.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("cannot reload"), "the app has answered: {refused}");

    // Without a shared folder, a command uses the database directly.
    let (done, output) = command(folder.path(), &["user", "list", "--database-url", &url]).await;
    assert!(done && output.contains("olga@example.com"), "{output}");
}
