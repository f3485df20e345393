//! Doorward embedded in an axum app, as in `examples/embed.rs`.

mod postgres;

use std::{path::Path, process, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::FromRef,
    http::{Request, StatusCode},
    routing::get,
};
use doorward::{
    Authenticated, Caller, Designated, Doorward, FromState, Only, Policy, Settings, User,
    internals::{
        Internals,
        clock::Timestamp,
        control::{self, Command, Reply},
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
    let found = doorward.store().user_by_id(id).await.unwrap().unwrap();
    let at = found.updated_at;
    assert!(
        doorward
            .store()
            .set_email_verified(id, &found.email, true, at, &Effects::NONE)
            .await
            .unwrap()
    );
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
    let unheard = control::run(settings, &Command::ListGuards).await;
    assert!(matches!(unheard, Err(control::Error::Unreachable { .. })), "{unheard:?}");
}

#[tokio::test]
async fn an_app_that_can_reload_its_guards_reloads_them_on_command() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()));
    let doorward = Doorward::open(settings.clone()).await.unwrap();
    let read = settings.clone();
    tokio::spawn(doorward.serve_commands_with(Arc::new(move || Ok(read.clone()))));
    let report = control::run(settings, &Command::ReloadGuards).await.unwrap();
    assert!(matches!(&report, Reply::Guards(guards) if guards.is_empty()), "{report:?}");
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
    let report = control::run(settings.clone(), &Command::ReloadGuards).await.unwrap();
    let is_received =
        |report: &Reply| matches!(report, Reply::Failed(why) if why.contains("cannot reload"));
    assert!(is_received(&report), "the app has answered: {report:?}");

    // Without a shared folder, a command uses the database directly.
    let (done, output) = command(folder.path(), &["user", "list", "--database-url", &url]).await;
    assert!(done && output.contains("olga@example.com"), "{output}");
}
