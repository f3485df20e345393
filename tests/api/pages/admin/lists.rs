//! Guards, refusals, signing keys, mail and the overview.

use axum::http::header;

use super::*;
use crate::pages::PASSWORD;

#[tokio::test]
async fn the_overview_shows_how_the_service_is_doing() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin").await;
    assert_shows(&page, 200, &["Overview", "Users", "Staff only", "Doorward ", "SQLite", "ES256"]);
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let other = admin.get("/account").await;
    assert_ne!(other.header(header::CONTENT_SECURITY_POLICY).unwrap(), policy, "its own sheet");
    admin.language = "de";
    assert_shows(&admin.get("/admin").await, 200, &["Übersicht", "lang=\"de\""]);
}

#[tokio::test]
async fn a_guard_says_what_it_would_decide() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let page = admin.get("/admin/guards").await;
    assert_shows(&page, 200, &["/admin/guards/staff", "Enforced", "Only reports"]);
    let page = admin.get("/admin/guards/staff").await;
    assert_shows(&page, 200, &["Staff only", "What would it say?", "Nothing was refused."]);
    assert!(!page.body.contains("id=\"decision\""));
    let page = admin.get("/admin/guards/staff?user=eve%40example.com&path=%2Fplans").await;
    assert_shows(&page, 200, &["Refused", "class=\"cause\"", "value=\"/plans\""]);
    let id = id_of(&server, EVE).await;
    server.doorward.grant_role(id.parse().unwrap(), "staff").await.unwrap();
    server.doorward.verify_email(id.parse().unwrap(), EVE).await.unwrap();
    let page = admin.get(&format!("/admin/guards/staff?user={id}")).await;
    assert_shows(&page, 200, &["tag good\">Admitted"]);
    assert!(!page.body.contains("class=\"cause\""));
    let page = admin.get("/admin/guards/staff?user=nobody").await;
    assert_shows(&page, 200, &["There is no such user."]);
    let page = admin.get(&format!("/admin/guards/staff?user={id}&address=here")).await;
    assert_shows(&page, 200, &["This is not an IP address."]);
    assert_shows(&admin.get("/admin/guards/none").await, 404, &["There is no such page"]);
}

#[tokio::test]
async fn a_guard_that_only_reports_says_whom_it_would_have_refused() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let token = server.token_of(EVE, PASSWORD).await;
    assert_eq!(server.guard("wiki", &token).await.status, 200);
    let page = admin.get("/admin/guards/wiki").await;
    assert_shows(&page, 200, &["Who would have been refused lately", EVE, "only reported"]);
    let page = admin.get("/admin/refusals?reported=1").await;
    assert_shows(&page, 200, &["only reported", EVE]);
    let page = admin.get("/admin/guards").await;
    assert_shows(&page, 200, &["Would be refused"]);
}

#[tokio::test]
async fn refusals_come_in() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin/refusals").await;
    assert_shows(&page, 200, &["Nothing was refused."]);
    assert_eq!(page.header(header::REFRESH), Some("5"));
    for _ in 0..60 {
        server.guard("staff", "not-a-token").await;
    }
    let page = admin.get("/admin/refusals?guard=staff").await;
    assert_shows(&page, 200, &["Nobody", "rel=\"next\""]);
    assert_eq!(page.body.matches("/admin/refusals/").count(), 50);
    let (_, rest) = page.body.split_once("rel=\"next\" href=\"").unwrap();
    let next = admin.get(&rest.split('"').next().unwrap().replace("&#38;", "&")).await;
    assert_eq!(next.body.matches("/admin/refusals/").count(), 10);
    assert_eq!(next.header(header::REFRESH), None, "it does not change");
    assert_shows(&admin.get("/admin/refusals?guard=wiki").await, 200, &["Nothing was refused."]);
    let unknown = admin.get("/admin/refusals/00000000000000000000000000000000").await;
    assert_shows(&unknown, 404, &["This decision is not known"]);
}

#[tokio::test]
async fn signing_keys_are_replaced_and_revoked() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin/signing-keys").await;
    assert_eq!(page.body.matches("name=\"kid\"").count(), 1);
    let rotated = admin.post("/admin/signing-keys/rotate", &[]).await;
    assert_goes_to(&rotated, "/admin/signing-keys?done=key-published");
    let page = admin.get("/admin/signing-keys?done=key-published").await;
    assert_shows(&page, 200, &["A new key is published.", "Signs soon"]);
    let kids: Vec<_> = page.body.split("name=\"kid\" value=\"").skip(1).collect();
    assert_eq!(kids.len(), 2);
    let signs_soon = kids[0].split('"').next().unwrap();
    let revoked = admin.post("/admin/signing-keys/revoke", &[("kid", signs_soon)]).await;
    assert_goes_to(&revoked, "/admin/signing-keys?done=revoked");
    assert!(!admin.get("/admin/signing-keys").await.body.contains(signs_soon));
}

#[tokio::test]
async fn a_service_without_mail_says_so() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    assert_shows(&admin.get("/admin/mail").await, 200, &["This service sends no mail."]);
    assert_goes_to(&admin.post("/admin/mail/retry", &[]).await, "/admin/mail");
}
