//! Doorward inside an axum app of one's own: its routes beside those of the app, and a policy of the app's over one of
//! them. `doorward user list` and the other commands work while it runs.
//!
//! ```sh
//! cargo run --example embed
//! ```

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{FromRef, State},
    routing::get,
};
use doorward::{Authenticated, Caller, Doorward, Only, Policy, Settings, User};

/// What the app's routes share. Doorward is one of these things.
#[derive(Clone)]
struct App {
    doorward: Doorward,
    greeting: &'static str,
}

impl FromRef<App> for Doorward {
    fn from_ref(app: &App) -> Self {
        app.doorward.clone()
    }
}

/// Admits people of our own company. Anybody can register an address of ours, so that it counts only when it is verified.
#[derive(Default)]
struct Colleague;

impl Policy for Colleague {
    const NAME: &str = "colleague";

    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        let user = &caller.user;
        let is_ours = user.email_verified && user.email.as_str().ends_with("@example.com");
        is_ours.then(|| Arc::clone(user))
    }
}

/// Anybody who is signed in; the action receives just the id.
async fn hello(State(app): State<App>, user_id: Only<Authenticated>) -> String {
    format!("{}, user {user_id}.\n", app.greeting)
}

/// Colleagues only; the action receives the whole user.
async fn reports(user: Only<Colleague>) -> String {
    format!("Here are the reports, {}.\n", user.name.as_str())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let doorward = Doorward::open(Settings::default()).await?;
    // Expired sessions are removed and keys rotated only while somebody sees to it.
    let chores = doorward.clone();
    tokio::spawn(async move { chores.run_upkeep().await });
    // The operator's commands reach the app while somebody carries them out.
    tokio::spawn(doorward.serve_commands());
    let app = Router::new()
        .route("/hello", get(hello))
        .route("/reports", get(reports))
        .with_state(App { doorward: doorward.clone(), greeting: "Hello" })
        .merge(doorward.routes())
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
