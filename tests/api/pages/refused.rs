//! The page about a refusal.

use doorward::internals::control::{Command, UserRef};

use super::{Browser, assert_shows, server_with};
use crate::support::TestServer;

const GUARDS: &str = r#"
    [guards.reports]
    title = "Reports & more"
    allow = '"analyst" in user.roles'
    proxy = "caddy"
    origins = ["https://app.example.com"]
"#;

/// The id of a refusal of a person with a token.
async fn refusal(server: &TestServer) -> String {
    let member = server.register("Mallory", "mallory@example.com").await;
    let answer = server.guard("reports", &member.token).await;
    assert_eq!(answer.status, 401);
    answer.header("x-decision-id").unwrap().to_owned()
}

#[tokio::test]
async fn everybody_sees_the_app_and_the_id_and_only_operators_the_reason() {
    let server = server_with(GUARDS).await;
    let id = refusal(&server).await;
    let path = format!("/refused/{id}");
    let secrets = ["analyst", "user.roles", "guards", "mallory"];
    let mut stranger = Browser::new(&server);
    let page = stranger.get(&path).await;
    assert_shows(&page, 200, &["Reports &#38; more", &id, "href=\"/sign-in\""]);
    assert!(!page.body.contains("You are signed in"));
    for secret in secrets {
        assert!(!page.body.contains(secret), "{secret}: {}", page.body);
    }
    let mut ada = Browser::of(&server, "Ada", "ada@example.com").await;
    let page = ada.get(&path).await;
    assert_shows(&page, 200, &["ada@example.com", "/sign-in?other=1", &id]);
    for secret in secrets {
        assert!(!page.body.contains(secret), "{secret}: {}", page.body);
    }
    let grant = Command::GrantRole(UserRef("ada@example.com".into()), "admin".into());
    server.command(grant).await;
    let page = ada.get(&path).await;
    let reason = ["analyst", "user.roles", "Why this was refused", "[]", "<code>reports</code>"];
    assert_shows(&page, 200, &reason);
}

#[tokio::test]
async fn an_unknown_decision_gets_404() {
    let server = server_with(GUARDS).await;
    let mut browser = Browser::new(&server);
    for id in ["x", "00000000000040008000000000000000", "%ff", "..", "%3Cscript%3E"] {
        let answer = browser.get(&format!("/refused/{id}")).await;
        assert_shows(&answer, 404, &["This decision is not known"]);
    }
}
