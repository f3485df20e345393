//! Finding users, and every order about one.

use super::*;
use serde_json::json;

use crate::{pages::PASSWORD, support::with_mail};

#[tokio::test]
async fn users_are_found_by_the_start_of_a_word_of_their_name_or_address() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    for (name, email) in [("Ada Lovelace", "ada@example.com"), ("Eve <b>", EVE)] {
        Browser::of(&server, name, email).await;
    }
    let page = admin.get("/admin/users").await;
    assert_shows(
        &page,
        200,
        &["Ada Lovelace", "Eve &#60;b&#62;", "Grace Hopper", "/admin/users/new"],
    );
    let page = admin.get("/admin/users?text=LOVE&role=&disabled=").await;
    assert_shows(&page, 200, &["Ada Lovelace", "value=\"LOVE\""]);
    assert!(!page.body.contains("Grace Hopper"));
    let page = admin.get("/admin/users?role=admin").await;
    assert_shows(&page, 200, &["Grace Hopper"]);
    assert!(!page.body.contains("Ada Lovelace"));
    let page = admin.get("/admin/users?disabled=1").await;
    assert_shows(&page, 200, &["No user matches.", "checked"]);
    assert!(!page.body.contains("A search finds"), "nothing was searched");
    let page = admin.get("/admin/users?text=velace").await;
    let said = "A search finds how words of the name and the e-mail address begin:";
    assert_shows(&page, 200, &[said, "“car” finds Carl"]);
    assert_shows(&admin.get("/admin/users/nobody").await, 404, &["There is no such page"]);
}

#[tokio::test]
async fn a_long_list_has_pages() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    for number in 0..60 {
        let user = doorward::NewUser::new("Many", format!("many{number:03}@example.com"));
        server.doorward.create_user(user).await.unwrap();
    }
    let (mut path, mut found, mut pages) = ("/admin/users?text=many".to_owned(), 0, 0);
    loop {
        let page = admin.get(&path).await;
        assert_shows(&page, 200, &["many"]);
        found += page.body.matches(">Many</a>").count();
        pages += 1;
        let Some((_, rest)) = page.body.split_once("rel=\"next\" href=\"") else { break };
        path = rest.split('"').next().unwrap().replace("&#38;", "&");
    }
    assert_eq!((found, pages), (60, 2));
}

#[tokio::test]
async fn a_user_is_added() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    assert_shows(&admin.get("/admin/users/new").await, 200, &["New user"]);
    let wrong = [("name", "E"), ("email", "eve"), ("password", "short")];
    let refused = admin.post("/admin/users/new", &wrong).await;
    assert_shows(&refused, 400, &["value=\"E\"", "aria-invalid"]);
    let added =
        admin.post("/admin/users/new", &[("name", "Eve"), ("email", EVE), ("password", PASSWORD)]);
    let page = added.await.header("location").unwrap().to_owned();
    assert_eq!(page, format!("{}?done=user-added", page_of(&server, EVE).await));
    assert_shows(&admin.get(&page).await, 200, &["The user is added.", EVE]);
    assert_eq!(server.login(EVE, PASSWORD).await.status, 200);
    let again = admin.post("/admin/users/new", &[("name", "Eve"), ("email", EVE)]).await;
    assert_shows(&again, 409, &["This address already has an account."]);
}

/// Sends a form of the page of a user, which says what was done.
async fn order(admin: &mut Browser<'_>, page: &str, form: &str, fields: &[(&str, &str)]) -> String {
    let answer = admin.post(&format!("{page}/{form}"), fields).await;
    assert_eq!(answer.status, 303, "{form}: {}", answer.body);
    let location = answer.header("location").unwrap().to_owned();
    let (path, done) = location.split_once("?done=").unwrap();
    let shown = admin.get(&location).await;
    assert_shows(&shown, 200, &["class=\"notice\""]);
    assert_eq!(path, if form == "delete" { "/admin/users" } else { page });
    done.to_owned()
}

#[tokio::test]
async fn every_order_about_a_user_is_carried_out() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let mut eve = Browser::of(&server, "Eve", EVE).await;
    let page = page_of(&server, EVE).await;
    let user = async || server.doorward.user_by_email(EVE).await.unwrap().unwrap();

    assert_eq!(order(&mut admin, &page, "verify", &[("verified", "true")]).await, "verified");
    assert!(user().await.email_verified);
    assert_eq!(order(&mut admin, &page, "verify", &[("verified", "false")]).await, "unverified");
    assert!(!user().await.email_verified);

    let other = [("name", "Evelyn"), ("email", "eve2@example.com")];
    assert_eq!(order(&mut admin, &page, "change", &other).await, "changed");
    assert!(server.doorward.user_by_email(EVE).await.unwrap().is_none());
    let taken = [("name", "Evelyn"), ("email", ADMIN)];
    let refused = admin.post(&format!("{page}/change"), &taken).await;
    assert_shows(&refused, 409, &["This address already has an account.", "<details open>"]);
    order(&mut admin, &page, "change", &[("name", "Eve"), ("email", EVE)]).await;
    let exported = admin.post(&format!("{page}/export"), &[]).await;
    assert_eq!(exported.status, 200);
    assert_eq!(exported.json()["user"]["email"], EVE);

    let token = server.token_of(EVE, PASSWORD).await;
    assert_eq!(order(&mut admin, &page, "grant", &[("role", "staff")]).await, "granted");
    assert_eq!(user().await.roles.to_text(), "staff");
    let refused = admin.post(&format!("{page}/grant"), &[("role", "two words")]).await;
    assert_shows(&refused, 400, &["value=\"two words\"", "Use 1 to 64 letters", "<details open>"]);
    assert_eq!(order(&mut admin, &page, "revoke", &[("role", "staff")]).await, "revoked");
    assert_eq!(user().await.roles.to_text(), "");

    let shown = admin.get(&page).await;
    assert_eq!(shown.body.matches("/end-session\"").count(), 2);
    let session = crate::pages::hidden(&shown, "session");
    assert_eq!(order(&mut admin, &page, "end-session", &[("session", &session)]).await, "session");
    assert_eq!(admin.get(&page).await.body.matches("/end-session\"").count(), 1);
    assert_eq!(order(&mut admin, &page, "end-sessions", &[]).await, "sessions");
    assert_eq!(server.guard("staff", &token).await.status, 401);
    assert!(!eve.is_signed_in().await);

    let token = server.token_of(EVE, PASSWORD).await;
    let identity = crate::identities::linked(&server, &token, "eve").await;
    let shown = ["Accounts at other providers", "eve@work.example", "/remove-login\""];
    assert_shows(&admin.get(&page).await, 200, &shown);
    let fields = [("identity", &*identity)];
    assert_eq!(order(&mut admin, &page, "remove-login", &fields).await, "login-removed");
    let shown = admin.get(&page).await;
    assert_shows(&shown, 200, &["No other account signs the person in."]);
    // One that is gone already, or what is no id, is no fault of the administrator.
    assert_eq!(order(&mut admin, &page, "remove-login", &fields).await, "login-removed");
    let fields = [("identity", "x")];
    assert_eq!(order(&mut admin, &page, "remove-login", &fields).await, "login-removed");

    for _ in 0..20 {
        server.login(EVE, "wrong password").await;
    }
    assert_eq!(server.login(EVE, PASSWORD).await.status, 429);
    assert_shows(&admin.get(&page).await, 200, &["failed sign-ins count", "Sign-in"]);
    assert_eq!(order(&mut admin, &page, "unlock", &[]).await, "unlocked");
    assert_eq!(server.login(EVE, PASSWORD).await.status, 200);

    let made = admin.post(&format!("{page}/reset-code"), &[]).await;
    assert_shows(&made, 200, &["Give this code to the person.", &format!("{PUBLIC}/reset")]);
    let (_, rest) = made.body.split_once("Reset code: <code>").unwrap();
    let code = rest.split('<').next().unwrap();
    let reset = eve.post("/reset", &[("code", code), ("password", "battery staple")]).await;
    assert_eq!(reset.status, 303);
    let short = admin.post(&format!("{page}/password"), &[("password", "short")]).await;
    assert_shows(&short, 400, &["Use at least 8 characters.", "<details open>"]);
    let fields = [("password", PASSWORD)];
    assert_eq!(order(&mut admin, &page, "password", &fields).await, "password");
    assert_eq!(server.login(EVE, PASSWORD).await.status, 200);

    assert_eq!(order(&mut admin, &page, "require-new-password", &[]).await, "new-password");
    assert_eq!(server.login(EVE, PASSWORD).await.status, 404);
    assert!(!user().await.has_password());

    let fields = [("password", "battery horse")];
    assert_eq!(order(&mut admin, &page, "password", &fields).await, "password");
    let made = admin.post(&format!("{page}/factor-reset"), &[]).await;
    assert_shows(&made, 200, &["Give this link to the person.", "/factors/reset?code="]);

    let token = server.token_of(EVE, "battery horse").await;
    let key = server.request_as(&token, "POST", "/api/me/keys", json!({"name": "laptop"})).await;
    assert_eq!(key.status, 201);
    assert_shows(&admin.get(&page).await, 200, &["API keys", "laptop", "guard:*"]);
    assert_eq!(order(&mut admin, &page, "end-sessions", &[]).await, "only-sessions");
    let said = admin.get(&format!("{page}?done=only-sessions")).await;
    assert_shows(&said, 200, &["The person’s API keys still count"]);
    let secured = admin.post(&format!("{page}/secure"), &[("by-hand", "1")]).await;
    let shown = ["API keys: <code>1</code>", "Give this code to the person.", "has no valid key"];
    assert_shows(&secured, 200, &shown);
    let (_, rest) = secured.body.split_once("Reset code: <code>").unwrap();
    let code = rest.split('<').next().unwrap();
    let reset = eve.post("/reset", &[("code", code), ("password", "staple battery")]).await;
    assert_eq!(reset.status, 303);
    assert_eq!(server.login(EVE, "staple battery").await.status, 200);

    assert_eq!(order(&mut admin, &page, "disable", &[]).await, "disabled");
    assert!(user().await.disabled);
    assert_eq!(order(&mut admin, &page, "enable", &[]).await, "enabled");
    assert!(!user().await.disabled);
    assert_eq!(order(&mut admin, &page, "delete", &[]).await, "deleted");
    assert!(server.doorward.user_by_email(EVE).await.unwrap().is_none());
    assert_eq!(admin.post(&format!("{page}/delete"), &[]).await.status, 404);
}

#[tokio::test]
async fn an_administrator_learns_why_a_user_was_refused_and_lets_them_in() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let (page, token) = (page_of(&server, EVE).await, server.token_of(EVE, PASSWORD).await);
    assert_eq!(server.guard("staff", &token).await.status, 401);
    let shown = admin.get(&page).await;
    let (_, rest) = shown.body.split_once("href=\"/admin/refusals/").unwrap();
    let path = format!("/admin/refusals/{}", rest.split('"').next().unwrap());
    let why = admin.get(&path).await;
    let cause = "&#34;staff&#34; in user.roles";
    assert_shows(&why, 200, &["class=\"cause\"", cause, "Eve (eve@example.com)"]);
    order(&mut admin, &page, "grant", &[("role", "staff")]).await;
    order(&mut admin, &page, "verify", &[("verified", "true")]).await;
    assert_eq!(server.guard("staff", &token).await.status, 200);
}

#[tokio::test]
async fn invitations_are_made_and_revoked() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    assert_shows(&admin.get("/admin/invitations").await, 200, &["No invitation is open."]);
    let fields = [("email", EVE), ("roles", "staff wiki"), ("days", "3")];
    let made = admin.post("/admin/invitations", &fields).await;
    assert_shows(
        &made,
        200,
        &["Give this link to eve@example.com.", "/sign-up?invitation=", "wiki"],
    );
    let wrong = [("email", "eve"), ("roles", "a,b"), ("days", "many")];
    let refused = admin.post("/admin/invitations", &wrong).await;
    assert_shows(&refused, 400, &["value=\"many\"", "This value is not valid."]);
    let long =
        admin.post("/admin/invitations", &[("email", "x@example.com"), ("days", "91")]).await;
    assert_shows(&long, 400, &["from 1 to 90"]);
    let id = crate::pages::hidden(&admin.get("/admin/invitations").await, "id");
    let revoked = admin.post("/admin/invitations/revoke", &[("id", &id)]).await;
    assert_goes_to(&revoked, "/admin/invitations?done=revoked");
    assert_shows(&admin.get("/admin/invitations").await, 200, &["No invitation is open."]);
}

#[tokio::test]
async fn an_invitation_is_mailed_where_the_service_sends_mail() {
    let server = TestServer::open_with(|settings| with_mail(settings.with("public_url", PUBLIC)));
    let server = server.await;
    let mut admin = admin_browser(&server).await;
    let made = admin.post("/admin/invitations", &[("email", EVE), ("days", "7")]).await;
    assert_goes_to(&made, "/admin/invitations?done=invited");
    let by_hand = [("email", "x@example.com"), ("days", "7"), ("by-hand", "1")];
    let made = admin.post("/admin/invitations", &by_hand).await;
    assert_shows(&made, 200, &["/sign-up?invitation="]);
    // The mails wait, because nothing sends them.
    assert_shows(&admin.get("/admin/mail").await, 200, &[EVE, "Waits"]);
    let retried = admin.post("/admin/mail/retry", &[]).await;
    assert_goes_to(&retried, "/admin/mail?done=mail-retried");
}
