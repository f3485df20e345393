//! Doorward inside an axum app of one's own: its routes, and a policy of the app's over a route of the app's.
//!
//! ```sh
//! cargo run --example embed
//! ```

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, extract::FromRef, routing::get};
use doorward::{Authenticated, Caller, Doorward, Only, Policy, Settings, User};

/// Admits people of our own company. Anybody can register an address of ours, so that it counts only when it is verified.
struct Colleague;

impl Policy for Colleague {
    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        let user = &caller.user;
        let is_ours = user.email_verified && user.email.as_str().ends_with("@example.com");
        is_ours.then(|| Arc::clone(user))
    }
}

impl FromRef<Doorward> for Colleague {
    fn from_ref(_: &Doorward) -> Self {
        Self
    }
}

/// Anybody who is signed in; the action receives just the id.
async fn hello(Only(user_id): Only<Authenticated>) -> String {
    format!("Hello, user {user_id}.\n")
}

/// Colleagues only; the action receives the whole user.
async fn reports(Only(user): Only<Colleague>) -> String {
    format!("Here are the reports, {}.\n", user.name.as_str())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let doorward = Doorward::open(Settings::default()).await?;
    // Expired sessions are removed and keys rotated only while somebody sees to it.
    let chores = doorward.clone();
    tokio::spawn(async move { chores.sweep().await });
    let app = Router::new()
        .route("/hello", get(hello))
        .route("/reports", get(reports))
        .with_state(doorward.clone())
        .merge(doorward.routes())
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
