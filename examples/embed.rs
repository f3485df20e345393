//! Doorward inside an axum app: its routes and pages beside those of the app, two policies of the app, and a page for people.
//! `doorward user list` and the other commands work while it runs.
//!
//! ```sh
//! cargo run --example embed      # then open http://localhost:4000/ in a browser
//! ```

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{FromRef, State},
    http::{HeaderValue, header},
    middleware::map_response,
    response::{Html, Redirect, Response},
    routing::get,
};
use doorward::{
    Authenticated, Caller, Doorward, FromState, Only, Policy, Settings, SignedIn, User, UserId,
};

/// The state that the app's routes share.
#[derive(Clone)]
struct App {
    doorward: Doorward,
    greeting: &'static str,
    company_domain: &'static str,
}

/// Lets [`Only`] find Doorward in the state of the app.
impl FromRef<App> for Doorward {
    fn from_ref(app: &App) -> Self {
        app.doorward.clone()
    }
}

/// Admits users with the role `analyst`. A policy without data derives `Default`.
#[derive(Default)]
struct Analyst;

impl Policy for Analyst {
    const NAME: &str = "analyst";

    type Grant = UserId;

    fn admit(&self, caller: &Caller) -> Option<UserId> {
        caller.user.roles.contains("analyst").then_some(caller.user.id)
    }
}

/// Admits users with an address of the company. Its data come from the state of the app.
struct Colleague {
    domain: &'static str,
}

impl FromState<App> for Colleague {
    fn from_state(app: &App) -> Self {
        Self { domain: app.company_domain }
    }
}

impl Policy for Colleague {
    const NAME: &str = "colleague";

    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        let user = &caller.user;
        let (_, domain) = user.email.as_str().rsplit_once('@')?;
        // Anyone can register any address, so only a verified one counts.
        let is_colleague = user.email_verified && domain.eq_ignore_ascii_case(self.domain);
        is_colleague.then(|| Arc::clone(user))
    }
}

/// A page for people. A browser without a session goes to `/sign-in` and comes back here.
async fn desk(caller: Only<SignedIn>) -> Html<String> {
    let name = escaped(caller.user.name.as_str());
    Html(format!(
        "<!doctype html><title>Your desk</title><h1>The desk of {name}</h1>\
         <form method=post><button>Tidy up</button></form>\
         <p><a href=/account>Your account</a> <a href=/sign-out>Sign out</a>"
    ))
}

/// What the form of that page does. The same form on a page of another site gets 403, so it needs no token of its own.
async fn tidy_up(_: Only<Authenticated>) -> Redirect {
    Redirect::to("/desk?tidy")
}

/// A text in HTML. Anybody can choose a name.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// For every signed-in user. The handler receives only the id.
async fn hello(State(app): State<App>, user_id: Only<Authenticated>) -> String {
    format!("{}, user {user_id}.\n", app.greeting)
}

async fn reports(user_id: Only<Analyst>) -> String {
    format!("Here are the reports, user {user_id}.\n")
}

/// For colleagues. The handler receives the whole user.
async fn canteen(user: Only<Colleague>) -> String {
    format!("Today there is soup, {}.\n", user.name.as_str())
}

/// No other site shows the pages of the app in a frame, where it could trick people into clicks: a form in the frame comes from
/// the app's own origin. Doorward's own pages say so themselves.
async fn refuse_frames(mut response: Response) -> Response {
    let policy = HeaderValue::from_static("frame-ancestors 'none'");
    response.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Doorward logs with `tracing`. Without a subscriber, nothing is written.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let doorward = Doorward::open(Settings::load()?).await?;
    // Without a public_url, links in mails and of commands begin with this address.
    doorward.set_listen_address(listener.local_addr()?);
    // Removes expired sessions and rotates keys.
    let upkeep = doorward.clone();
    tokio::spawn(async move { upkeep.run_upkeep().await });
    // Executes the operator's commands.
    tokio::spawn(doorward.serve_commands());
    let state =
        App { doorward: doorward.clone(), greeting: "Hello", company_domain: "example.com" };
    let app = Router::new()
        .route("/", get(async || Redirect::to("/desk")))
        .route("/desk", get(desk).post(tidy_up))
        .route("/hello", get(hello))
        .route("/reports", get(reports))
        .route("/canteen", get(canteen))
        .with_state(state)
        .layer(map_response(refuse_frames))
        .merge(doorward.routes())
        .merge(doorward.pages())
        .into_make_service_with_connect_info::<SocketAddr>();
    // Passkeys need a name, and links in mails have this one.
    println!("listening on http://localhost:{}", listener.local_addr()?.port());
    axum::serve(listener, app).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verified_address_of_the_company_is_a_colleague() {
        let policy = Colleague { domain: "example.com" };
        let mut caller = Caller::example("Ada Lovelace", "ada@example.com");
        assert!(policy.admit(&caller).is_none());
        Arc::make_mut(&mut caller.user).email_verified = true;
        assert!(policy.admit(&caller).is_some());
    }

    #[test]
    fn a_name_cannot_add_elements_to_a_page() {
        assert_eq!(escaped("<b>\"Ada\" & Co"), "&lt;b&gt;&quot;Ada&quot; &amp; Co");
    }
}
