//! Who may create an account on the pages, and inviting others.

use doorward::{NewInvitation, Settings};

use super::{Browser, PASSWORD, PUBLIC, assert_goes_to, assert_shows};
use crate::support::{TestServer, with_mail};

const ADA: &str = "ada@example.com";

async fn server(registration: &'static str) -> TestServer {
    TestServer::open_with(|settings| {
        settings.with("public_url", PUBLIC).with("registration", registration)
    })
    .await
}

fn sign_up<'a>(email: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![("name", "Ada"), ("email", email), ("password", PASSWORD)];
    fields.extend(more);
    fields
}

#[tokio::test]
async fn a_closed_service_explains_that_nobody_can_join() {
    let server = server("closed").await;
    let mut browser = Browser::new(&server);
    for path in ["/sign-up", "/sign-up?invitation=x", "/sign-up?invitation="] {
        let page = browser.get(path).await;
        assert_shows(&page, 200, &["New accounts are not possible here", "href=\"/sign-in\""]);
        assert!(!page.body.contains("<form"));
    }
    assert!(!browser.get("/sign-in").await.body.contains("/sign-up"));
    let answer = browser.post("/sign-up", &sign_up(ADA, &[])).await;
    assert_shows(&answer, 403, &["You cannot create an account with these details."]);
    assert!(server.doorward.user_by_email(ADA).await.unwrap().is_none());
}

#[tokio::test]
async fn a_condition_that_refuses_is_explained_at_the_form() {
    let server = server("user.domain == 'example.com'").await;
    let mut browser = Browser::new(&server);
    assert_shows(&browser.get("/sign-up").await, 200, &["Create an account", "<form"]);
    let answer = browser.post("/sign-up", &sign_up("eve@example.org", &[])).await;
    let texts = ["You cannot create an account with these details.", "value=\"eve@example.org\""];
    assert_shows(&answer, 403, &texts);
    assert_goes_to(&browser.post("/sign-up", &sign_up(ADA, &[])).await, "/account");
}

#[tokio::test]
async fn whoever_is_invited_creates_an_account_with_the_link() {
    let server = server("invited").await;
    let mut browser = Browser::new(&server);
    let page = browser.get("/sign-up").await;
    assert_shows(&page, 200, &["You need an invitation", "href=\"/sign-up?invitation=\""]);
    assert!(!page.body.contains("<form"));
    let answer = browser.post("/sign-up", &sign_up(ADA, &[])).await;
    assert_shows(&answer, 403, &["You cannot create an account with these details."]);

    let invited = server.doorward.invite(NewInvitation::new(ADA)).await.unwrap();
    let ticket = invited.ticket.unwrap();
    let link = ticket.link().unwrap();
    let path = link.strip_prefix(PUBLIC).unwrap();
    let page = browser.get(path).await;
    let texts = ["value=\"ada@example.com\"", "readonly", "Your invitation is for this address."];
    assert_shows(&page, 200, &texts);
    assert_eq!(page.header("referrer-policy"), Some("strict-origin"));
    let invitation = [("invitation", ticket.secret()), ("link", "1")];
    let other = browser.post("/sign-up", &sign_up("eve@example.com", &invitation)).await;
    assert_shows(&other, 410, &["This invitation is no longer valid"]);
    let answer = browser.post("/sign-up", &sign_up(ADA, &invitation)).await;
    assert_goes_to(&answer, "/account");
    // A form that was sent twice.
    let answer = Browser::new(&server).post("/sign-up", &sign_up(ADA, &invitation)).await;
    assert_goes_to(&answer, "/account");
    let page = browser.get(path).await;
    assert_shows(&page, 410, &["This invitation is no longer valid"]);
}

#[tokio::test]
async fn whoever_is_invited_creates_an_account_with_the_code() {
    let server = server("invited").await;
    let invited = server.doorward.invite(NewInvitation::new(ADA)).await.unwrap();
    let code = invited.ticket.unwrap().code();
    let mut browser = Browser::new(&server);
    let page = browser.get("/sign-up?invitation=").await;
    assert_shows(&page, 200, &["Code of your invitation", "inputmode=\"numeric\""]);
    let with = |code| [("invitation", code), ("typed", "1")];
    let answer = browser.post("/sign-up", &sign_up(ADA, &with("00000000"))).await;
    assert_shows(&answer, 403, &["invitation-fault", "This code is wrong", "value=\"00000000\""]);
    let answer = browser.post("/sign-up", &sign_up(ADA, &with(""))).await;
    assert_shows(&answer, 400, &["invitation-fault", "Fill in this field."]);
    let answer = browser.post("/sign-up", &sign_up(ADA, &with(&code))).await;
    assert_goes_to(&answer, "/account");
}

/// A service whose users may invite, and a browser of one with a verified address.
async fn inviting(change: fn(Settings) -> Settings) -> TestServer {
    let server = TestServer::open_with(|settings| {
        change(settings.with("public_url", PUBLIC)).with("invitations.allow", "user.name == 'Ada'")
    })
    .await;
    Browser::of(&server, "Ada", ADA).await;
    let user = server.doorward.user_by_email(ADA).await.unwrap().unwrap();
    server.doorward.verify_email(user.id, ADA).await.unwrap();
    server
}

#[tokio::test]
async fn a_person_who_may_invite_sends_and_revokes_invitations() {
    let server = inviting(with_mail).await;
    let mut browser = Browser::new(&server);
    browser.sign_in(ADA).await;
    assert_shows(&browser.get("/account").await, 200, &["href=\"/account/invitations\""]);
    assert_shows(&browser.get("/account/invitations").await, 200, &["Invitations", "Invite"]);
    let invite = [("email", "grace@example.com")];
    let answer = browser.post("/account/invitations", &invite).await;
    assert_goes_to(&answer, "/account/invitations?done=invited");
    let page = browser.get("/account/invitations?done=invited").await;
    let texts = [
        "The invitation is on its way.",
        "grace@example.com",
        ">Valid until 22\u{a0}Jan\u{a0}2027, ",
        "\u{a0}UTC</time>",
    ];
    assert_shows(&page, 200, &texts);
    let (_, rest) = page.body.split_once("name=\"id\" value=\"").unwrap();
    let id = rest.split_once('"').unwrap().0;
    let answer = browser.post("/account/invitations/revoke", &[("id", id)]).await;
    assert_goes_to(&answer, "/account/invitations?done=revoked");
    let page = browser.get("/account/invitations?done=revoked").await;
    assert_shows(&page, 200, &["The invitation is revoked."]);
    assert!(!page.body.contains("grace@example.com"));
    for (email, status, text) in [("grace", 400, "email-fault"), (ADA, 409, "email-fault")] {
        let answer = browser.post("/account/invitations", &[("email", email)]).await;
        assert_shows(&answer, status, &[text]);
    }
}

#[tokio::test]
async fn without_mail_a_person_hands_the_link_over() {
    let server = inviting(|settings| settings).await;
    let mut browser = Browser::new(&server);
    browser.sign_in(ADA).await;
    let page = browser.post("/account/invitations", &[("email", "grace@example.com")]).await;
    assert_shows(&page, 200, &["Give this link to grace@example.com."]);
    let (_, rest) = page.body.split_once(&format!("<code>{PUBLIC}")).unwrap();
    let path = rest.split_once('<').unwrap().0;
    let page = Browser::new(&server).get(path).await;
    assert_shows(&page, 200, &["value=\"grace@example.com\""]);
    assert!(!browser.get("/account/invitations").await.body.contains("sign-up?invitation="));
}

#[tokio::test]
async fn a_person_who_may_not_invite_sees_no_invitations() {
    let server = inviting(with_mail).await;
    let mut bob = Browser::of(&server, "Bob", "bob@example.com").await;
    assert!(!bob.get("/account").await.body.contains("/account/invitations"));
    assert_goes_to(&bob.get("/account/invitations").await, "/account");
    let invite = [("email", "grace@example.com")];
    assert_goes_to(&bob.post("/account/invitations", &invite).await, "/account");
    assert_goes_to(&Browser::new(&server).get("/account/invitations").await, "/account");
    let mut ada = Browser::new(&server);
    ada.sign_in(ADA).await;
    ada.post("/account/invitations", &invite).await;
    let page = ada.get("/account/invitations").await;
    let (_, rest) = page.body.split_once("name=\"id\" value=\"").unwrap();
    let id = rest.split_once('"').unwrap().0;
    bob.post("/account/invitations/revoke", &[("id", id)]).await;
    assert_shows(&ada.get("/account/invitations").await, 200, &["grace@example.com"]);
}

#[tokio::test]
async fn a_silent_sign_up_says_the_same_to_everybody() {
    let server = TestServer::open_with(|settings| {
        with_mail(settings).with("public_url", PUBLIC).with("registration_conflict", "silent")
    })
    .await;
    let mut browser = Browser::new(&server);
    for _ in 0..2 {
        let answer = browser.post("/sign-up", &sign_up(ADA, &[])).await;
        assert_goes_to(&answer, "/sign-up?done=mailed");
    }
    assert!(browser.cookies.is_empty());
    let page = browser.get("/sign-up?done=mailed").await;
    assert_shows(&page, 200, &["Look into your mail", "href=\"/sign-in\""]);
}

#[tokio::test]
async fn where_registration_is_conditional_an_invitation_code_may_be_typed() {
    let open = async |policy: &str| {
        TestServer::open_with(|settings| {
            settings.with("public_url", PUBLIC).with("registration", policy)
        })
        .await
    };
    let field = "<input id=\"invitation\" name=\"invitation\"";
    let page = Browser::new(&open("open").await).get("/sign-up").await;
    assert!(!page.body.contains(field), "{}", page.body);
    let server = open("user.domain == 'example.com'").await;
    let page = Browser::new(&server).get("/sign-up").await;
    assert_shows(&page, 200, &[field, "Only if somebody has invited you."]);
    assert!(!page.body.contains("name=\"typed\""), "it may be left empty: {}", page.body);

    let sign_up = async |email: &str, code: &str| {
        let fields =
            [("name", "Bob"), ("email", email), ("password", PASSWORD), ("invitation", code)];
        Browser::new(&server).post("/sign-up", &fields).await
    };
    assert_goes_to(&sign_up("ada@example.com", "").await, "/account");
    let refused = sign_up("bob@elsewhere.example", "").await;
    assert_shows(&refused, 403, &["You cannot create an account with these details.", field]);
    let wrong = sign_up("bob@elsewhere.example", "0000 0000").await;
    assert_shows(&wrong, 403, &["invitation-fault", "This code is wrong", "value=\"0000 0000\""]);
    let invited = NewInvitation::new("bob@elsewhere.example");
    let invited = server.doorward.invite(invited).await.unwrap();
    let code = invited.ticket.unwrap().code();
    assert_goes_to(&sign_up("bob@elsewhere.example", &code).await, "/account");
}
