//! The page about a refusal.

use axum::{
    body::Body,
    http::{Request, header},
};
use doorward::internals::Internals;
use serde_json::Value;

use super::{Browser, assert_shows, server_with};
use crate::support::{Answer, TestServer};

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
    let heading = "Reports &#38; more refused a request";
    assert_shows(&page, 200, &["ada@example.com", "/sign-in?other=1", &id, heading]);
    for secret in secrets {
        assert!(!page.body.contains(secret), "{secret}: {}", page.body);
    }
    assert!(!page.body.contains("Try again"), "it was not Ada who was refused: {}", page.body);
    server.order("PUT", "ada@example.com", "/roles/admin", Value::Null).await;
    let page = ada.get(&path).await;
    let reason = ["analyst", "user.roles", "Why this was refused", "[]", "<code>reports</code>"];
    assert_shows(&page, 200, &reason);
}

/// The scope decides, and not the name of a role.
#[tokio::test]
async fn those_with_the_scope_see_the_reason_and_nobody_else() {
    let roles = r#"
        [admin.admin]
        scopes = ["mail:read"]
        [admin.auditor]
        scopes = ["guards:read"]
        [admin.nearby]
        scopes = ["guards:read"]
        allow = 'request.address.inNetwork("10.0.0.0/8")'
        [admin.here]
        scopes = ["guards:read"]
        allow = 'request.address.inNetwork("127.0.0.0/8")'
    "#;
    let server = server_with(&format!("{roles}{GUARDS}")).await;
    let id = refusal(&server).await;
    for (number, (role, sees)) in
        [("admin", false), ("auditor", true), ("nearby", false), ("here", true), ("staff", false)]
            .into_iter()
            .enumerate()
    {
        let email = format!("{number}@example.com");
        let mut browser = Browser::of(&server, "Ada", &email).await;
        server.order("PUT", &email, &format!("/roles/{role}"), Value::Null).await;
        let page = browser.get(&format!("/refused/{id}")).await;
        assert_shows(&page, 200, &["Reports &#38; more", &id]);
        assert_eq!(page.body.contains("analyst"), sees, "{role}: {}", page.body);
        // It is what they see in the administration.
        let listed = browser.get(&format!("/admin/refusals/{id}")).await;
        assert_eq!(listed.status == 200, sees, "{role}");
        // The page on the host of the app has the link for them alone.
        let token = server.token_of(&email, super::PASSWORD).await;
        let session = server.doorward.caller(&token).await.unwrap().session;
        let cookie = server.doorward.cookies().app_cookie(&session, "https://app.example.com");
        let cookie = format!("__Host-doorward-app={cookie}");
        let page = visit(&server, "/x", &[("cookie", &*cookie)]).await;
        assert_shows(&page, 403, &[]);
        assert_eq!(page.body.contains("/refused/"), sees, "{role}: {}", page.body);
    }
}

#[tokio::test]
async fn whoever_was_refused_tries_again_or_asks_the_contact() {
    let contact = "[branding]\ncontact = 'help@example.com'\n";
    let server = server_with(&format!("{contact}{GUARDS}")).await;
    let id = refusal(&server).await;
    let mut mallory = Browser::new(&server);
    mallory.sign_in("mallory@example.com").await;
    let page = mallory.get(&format!("/refused/{id}")).await;
    let order = [
        "<a class=\"button\" href=\"https://app.example.com/\">Try again</a>",
        "href=\"mailto:help@example.com?subject=Access%20to%20Reports%20%26%20more",
        &*format!("<code>{id}</code>"),
        "href=\"/sign-in?other=1\">Sign in as somebody else</a>",
    ];
    assert_shows(&page, 200, &order);
    assert!(order.map(|part| page.body.find(part)).is_sorted(), "{}", page.body);

    let contact = "[branding]\ncontact = 'https://example.com/help?a=1&b=2'\n";
    let server = server_with(&format!("{contact}{GUARDS}")).await;
    let id = refusal(&server).await;
    let page = Browser::new(&server).get(&format!("/refused/{id}")).await;
    let link = "<a href=\"https://example.com/help?a=1&#38;b=2\">example.com/help?a=1&#38;b=2</a>";
    assert_shows(&page, 200, &[link]);
}

/// The request of a browser to the app, as Caddy describes it.
async fn visit(server: &TestServer, target: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get("/api/auth/reports")
        .header("x-forwarded-method", "GET")
        .header("x-forwarded-proto", "https")
        .header("x-forwarded-host", "app.example.com")
        .header("x-forwarded-uri", target)
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn the_page_in_place_has_absolute_links_and_no_reason() {
    let server = server_with(&GUARDS.replace("proxy", "grant = \"user\"\n    proxy")).await;
    let ada = server.register("Ada <b>", "ada@example.com").await;
    let session = server.doorward.caller(&ada.token).await.unwrap().session;
    let cookie = server.doorward.cookies().app_cookie(&session, "https://app.example.com");
    let cookie = format!("__Host-doorward-app={cookie}");
    let headers = [("cookie", &*cookie)];
    let page = visit(&server, "/x?y=1&z=2", &headers).await;
    let id = page.header("x-decision-id").unwrap();
    let texts = [
        "href=\"https://app.example.com/x?y=1&#38;z=2\">Try again</a>",
        "Reports &#38; more",
        "Ada &#60;b&#62;",
        id,
        "href=\"https://auth.example.net/sign-in?for=",
        "&#38;other=1\"",
        "href=\"https://auth.example.net/account\"",
    ];
    assert_shows(&page, 403, &texts);
    assert!(!page.body.contains("analyst") && !page.body.contains("/refused/"), "{}", page.body);
    assert!(!page.body.contains("href=\"/"), "a link that leads to the app: {}", page.body);
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("content-language", "en"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    assert_eq!(page.header("strict-transport-security"), None, "the app decides");

    // An operator gets a link to the reason, which the app itself cannot read.
    server.order("PUT", "ada@example.com", "/roles/admin", Value::Null).await;
    let page = visit(&server, "/x", &[headers[0], ("accept-language", "de")]).await;
    let id = page.header("x-decision-id").unwrap();
    let link = format!("https://auth.example.net/refused/{id}");
    assert_shows(&page, 403, &["lang=\"de\"", &link]);
    assert!(!page.body.contains("analyst"));
}

/// Scripts of the app can read the page.
#[tokio::test]
async fn the_page_in_place_shows_name_and_address_only_to_an_app_that_may_know_them() {
    for (grant, is_shown) in [("", false), ("grant = \"id\"", false), ("grant = \"user\"", true)] {
        let server = server_with(&format!("{GUARDS}{grant}\n")).await;
        let ada = server.register("Ada Lovelace", "ada@example.com").await;
        let session = server.doorward.caller(&ada.token).await.unwrap().session;
        let cookie = server.doorward.cookies().app_cookie(&session, "https://app.example.com");
        let cookie = format!("__Host-doorward-app={cookie}");
        let page = visit(&server, "/x", &[("cookie", &*cookie)]).await;
        let texts = [
            "You are signed in, but this account has no access",
            "&#38;other=1\"",
            "href=\"https://auth.example.net/account\"",
        ];
        assert_shows(&page, 403, &texts);
        for private in ["Ada Lovelace", "ada@example.com"] {
            assert_eq!(page.body.contains(private), is_shown, "{grant}: {private}");
        }
    }
}

#[tokio::test]
async fn a_sign_in_that_cannot_end_says_why() {
    let server = server_with(GUARDS).await;
    let refused = visit(&server, "/.doorward/in?code=nonsense", &[]).await;
    assert_eq!(refused.status, 303);
    let reason = "https://app.example.com/.doorward/in?used";
    assert_eq!(refused.header(header::LOCATION), Some(reason), "without the code");
    let start = "href=\"https://app.example.com/\"";
    let page = visit(&server, "/.doorward/in?no-cookie", &[]).await;
    assert_shows(&page, 403, &["Your browser kept no cookie", start]);
    let page = visit(&server, "/.doorward/in?used", &[]).await;
    assert_shows(
        &page,
        403,
        &["This sign-in link is no longer valid", start, "Reports &#38; more"],
    );
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
