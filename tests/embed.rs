//! Doorward inside somebody's own axum app, as `examples/embed.rs` does it.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::FromRef,
    http::{Request, StatusCode},
    routing::get,
};
use doorward::{
    Authenticated, Caller, Doorward, Only, Policy, Settings, User, config::DatabaseUrl,
};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The state of an app that has more in it than Doorward.
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

impl FromRef<Shop> for Authenticated {
    fn from_ref(_: &Shop) -> Self {
        Self
    }
}

struct Owner(&'static str);

impl FromRef<Shop> for Owner {
    fn from_ref(shop: &Shop) -> Self {
        Self(shop.owner)
    }
}

impl Policy for Owner {
    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        let user = &caller.user;
        (user.email_verified && user.email.as_str() == self.0).then(|| Arc::clone(user))
    }
}

async fn basket(Only(user_id): Only<Authenticated>) -> String {
    format!("the basket of {user_id}")
}

async fn till(Only(user): Only<Owner>) -> String {
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
    let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
    let doorward = Doorward::open(Settings { database, ..Settings::default() }).await.unwrap();
    let shop = Shop { doorward: doorward.clone(), owner: "olga@example.com" };
    let app = Router::new()
        .route("/basket", get(basket))
        .route("/till", get(till))
        .with_state(shop)
        .merge(doorward.routes());

    let olga = register(&app, "Olga", "olga@example.com").await;
    let pete = register(&app, "Pete", "pete@example.com").await;
    let basket = format!("the basket of {}", pete["id"].as_str().unwrap());
    assert_eq!(visit(&app, "/basket", &pete["token"]).await, (StatusCode::OK, basket));
    // Whoever registers the owner's address is not the owner before somebody has verified it.
    assert_eq!(visit(&app, "/till", &olga["token"]).await.0, StatusCode::UNAUTHORIZED);
    let id = olga["id"].as_str().unwrap().parse().unwrap();
    let found = doorward.store().user_by_id(id).await.unwrap().unwrap();
    let at = found.updated_at;
    assert!(doorward.store().set_email_verified(id, &found.email, true, at).await.unwrap());
    assert_eq!(
        visit(&app, "/till", &olga["token"]).await,
        (StatusCode::OK, "the till, Olga".to_owned())
    );
    assert_eq!(visit(&app, "/till", &pete["token"]).await.0, StatusCode::UNAUTHORIZED);
    let nobody = Request::get("/basket").body(Body::empty()).unwrap();
    assert_eq!(send(&app, nobody).await.0, StatusCode::UNAUTHORIZED);
    // What is not Doorward's stays the app's: its own 404 is untouched.
    let elsewhere = Request::get("/elsewhere").body(Body::empty()).unwrap();
    assert_eq!(send(&app, elsewhere).await, (StatusCode::NOT_FOUND, String::new()));
}
