//! Invitations: by users through the API, by the operator through commands, and what becomes of them.

use std::{str::FromStr, time::Duration};

use axum::http::StatusCode;
use doorward::{
    NewInvitation, Settings, UserId,
    internals::{
        Internals,
        mail::Message,
        token::one_time::{OneTimeId, Purpose},
    },
};
use serde_json::{Value, json};

use crate::support::{Answer, Member, NOT_FOUND, TestServer, UNAUTHORIZED, with_mail};

const PATH: &str = "/api/invitations";
const ADMIN_PATH: &str = "/api/admin/invitations";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn for_staff(settings: Settings) -> Settings {
    settings
        .with("registration", "invited")
        .with("invitations.allow", r#""staff" in user.roles"#)
        .with("public_url", "https://auth.example.com")
}

async fn server() -> TestServer {
    TestServer::open_with(for_staff).await
}

/// A service that sends mail. Nothing takes it out of the outbox, because no upkeep runs.
async fn server_with_mail() -> TestServer {
    TestServer::open_with(|settings| with_mail(for_staff(settings))).await
}

async fn invite(server: &TestServer, email: &str, roles: &[&str]) -> Answer {
    let body = json!({"email": email, "roles": roles});
    server.operator("POST", ADMIN_PATH, body).await
}

/// An invitation that is not mailed, with its secret, link and code.
async fn ticket(server: &TestServer, email: &str, roles: &[&str]) -> Value {
    let made = invite(server, email, roles).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    let made = made.json();
    assert!(made["secret"].is_string() && made["code"].is_string(), "{made}");
    made
}

async fn revoke(server: &TestServer, invitation: &str) -> StatusCode {
    server.operator("DELETE", &format!("{ADMIN_PATH}/{invitation}"), Value::Null).await.status
}

fn text<'a>(made: &'a Value, field: &str) -> &'a str {
    made[field].as_str().unwrap()
}

async fn register(server: &TestServer, email: &str, invitation: &str) -> Answer {
    let body = json!({"name": "Somebody", "email": email, "password": "correct horse", "invitation": invitation});
    server.post("/api/user", &body).await
}

/// A member whom the operator has invited, with a verified address.
async fn member(server: &TestServer, email: &str, roles: &[&str]) -> Member {
    let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
    let invitation = roles.iter().fold(NewInvitation::new(email).by_hand(), NewInvitation::role);
    let ticket = server.doorward.invite(invitation).await.unwrap().ticket.unwrap();
    let body = json!({"name": "Somebody", "email": email, "invitation": ticket.secret()});
    let member = server.register_with(body).await;
    server.order("PATCH", email, "", json!({"emailVerified": true})).await;
    member
}

async fn post(server: &TestServer, member: &Member, email: &str) -> Answer {
    server.request_as(&member.token, "POST", PATH, json!({"email": email})).await
}

async fn listed(server: &TestServer, member: &Member) -> Vec<String> {
    let answer = server.request_as(&member.token, "GET", PATH, Value::Null).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let all = answer.json();
    all.as_array().unwrap().iter().map(|one| one["email"].as_str().unwrap().to_owned()).collect()
}

/// The messages in the outbox to this address.
async fn mailed(server: &TestServer, email: &str) -> Vec<Message> {
    let queue = server.doorward.store().mail_queue(None, 1000).await.unwrap();
    let to_them = queue.into_iter().filter(|queued| queued.mail.recipient.as_str() == email);
    to_them.map(|queued| queued.mail.message).collect()
}

#[tokio::test]
async fn the_operator_invites_with_roles_and_each_invitation_admits_once() {
    let server = server().await;
    let made = ticket(&server, "Ada@example.com", &["staff", "admin"]).await;
    assert_eq!(made["roles"], json!(["admin", "staff"]));
    assert_eq!(made["expiresAt"], "2027-01-22T08:00:00.000Z");
    assert_eq!((&made["mailed"], &made["invitedBy"]), (&json!(false), &Value::Null));
    let (secret, link) = (text(&made, "secret"), text(&made, "link"));
    assert_eq!(link, format!("https://auth.example.com/sign-up?invitation={secret}"));

    let other = register(&server, "eve@example.com", secret).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN, "another address");
    let registered = register(&server, "ada@EXAMPLE.com", secret).await;
    assert_eq!(registered.status, StatusCode::CREATED, "{}", registered.body);
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    assert_eq!(ada.roles.to_text(), "admin staff");
    assert!(!ada.email_verified, "a printed invitation proves nothing about the address");

    let again = register(&server, "ada@example.com", secret).await;
    assert_eq!(again.status, StatusCode::FORBIDDEN, "{}", again.body);
}

#[tokio::test]
async fn an_invitation_is_void_when_it_expires_is_revoked_or_is_replaced() {
    let server = server().await;
    let email = "ada@example.com";
    let refused = async |secret: &str| {
        let answer = register(&server, email, secret).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    };
    let replaced = ticket(&server, email, &[]).await;
    let revoked = ticket(&server, "ADA@example.com", &[]).await;
    refused(text(&replaced, "secret")).await;
    assert_eq!(revoke(&server, text(&revoked, "id")).await, StatusCode::NO_CONTENT);
    assert_eq!(revoke(&server, text(&revoked, "id")).await, StatusCode::NOT_FOUND);
    refused(text(&revoked, "secret")).await;

    let expired = ticket(&server, email, &[]).await;
    server.let_pass(7 * DAY);
    refused(text(&expired, "secret")).await;
    refused(text(&expired, "code")).await;
    assert_eq!(revoke(&server, email).await, StatusCode::NOT_FOUND);

    ticket(&server, email, &[]).await;
    assert_eq!(revoke(&server, "Ada@Example.com").await, StatusCode::NO_CONTENT);
    for guessed in ["", "x", "00000000-0000-4000-8000-000000000000", &"A".repeat(43)] {
        refused(guessed).await;
    }
}

#[tokio::test]
async fn a_code_is_typed_with_the_address_and_ten_are_compared() {
    let server = server().await;
    let ticket = ticket(&server, "ada@example.com", &["staff"]).await;
    let code = text(&ticket, "code");
    assert_eq!(code.len(), "1234 5678".len());
    let wrong = if code == "0000 0000" { "1111 1111" } else { "0000 0000" };
    // An address with an invitation and one without get the same answers, until the budget of the network
    // for the address is spent.
    let mut answers = Vec::new();
    for email in ["ada@example.com", "eve@example.com"] {
        let mut of_address = Vec::new();
        for _ in 0..30 {
            let answer = register(&server, email, wrong).await;
            of_address.push((answer.status, answer.body));
        }
        answers.push(of_address);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0][19].0, StatusCode::FORBIDDEN);
    assert_eq!(answers[0][20].0, StatusCode::TOO_MANY_REQUESTS);
    let typed = register(&server, "ada@example.com", code).await;
    assert_eq!(typed.status, StatusCode::TOO_MANY_REQUESTS, "the right code is guessed too late");
    let linked = register(&server, "ada@example.com", text(&ticket, "secret")).await;
    assert_eq!(linked.status, StatusCode::CREATED, "the link still works: {}", linked.body);
}

#[tokio::test]
async fn a_typed_code_admits() {
    let server = server().await;
    let ticket = ticket(&server, "ada@example.com", &["staff"]).await;
    let code = text(&ticket, "code").replace(' ', "-");
    let answer = register(&server, "ada@example.com", &code).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    assert!(ada.roles.contains("staff"));
}

#[tokio::test]
async fn a_mailed_invitation_verifies_the_address_and_shows_its_secret_to_nobody_else() {
    let server = server_with_mail().await;
    let made = invite(&server, "ada@example.com", &["staff"]).await.json();
    assert_eq!((&made["mailed"], made.get("secret"), made.get("code")), (&json!(true), None, None));
    let one_time = OneTimeId::from_str(text(&made, "id")).unwrap();
    let expires_at = Some(server.now().millis() + 7 * 24 * 60 * 60 * 1000);
    let expected = Message::Invitation { one_time, invited_by: None, expires_at };
    assert_eq!(mailed(&server, "ada@example.com").await, [expected]);
    let secret = server.doorward.one_time_secrets().secret(one_time, Purpose::Invitation);
    let answer = register(&server, "ada@example.com", secret.as_str()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    assert!(ada.email_verified && ada.roles.contains("staff"));
    assert_eq!(mailed(&server, "ada@example.com").await.len(), 1, "nothing is left to verify");

    let spelled = invite(&server, "Carol@example.com", &[]).await.json();
    let one_time = OneTimeId::from_str(text(&spelled, "id")).unwrap();
    let secret = server.doorward.one_time_secrets().secret(one_time, Purpose::Invitation);
    let answer = register(&server, "carol@example.com", secret.as_str()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let carol = server.doorward.user_by_email("carol@example.com").await.unwrap().unwrap();
    assert!(!carol.email_verified, "another spelling may be another mailbox");

    let print = json!({"email": "bob@example.com", "lifetime": 86_400, "mail": false});
    let printed = server.operator("POST", ADMIN_PATH, print).await.json();
    assert_eq!(printed["expiresAt"], "2027-01-16T08:00:00.000Z");
    assert!(printed["secret"].is_string(), "{printed}");
    assert!(mailed(&server, "bob@example.com").await.is_empty());
}

#[tokio::test]
async fn the_operator_is_told_what_is_wrong_with_an_invitation() {
    let server = server().await;
    member(&server, "ada@example.com", &[]).await;
    let many: Vec<String> = (0..65).map(|number| format!("role{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (email, roles, expected) in [
        ("ada", &[][..], (400, json!([{"email": "Invalid email"}]))),
        ("ADA@example.com", &[], (409, json!([{"email": "Already registered"}]))),
        (
            "bob@example.com",
            &["a b"],
            (
                400,
                json!([{"role": "\"a b\" is not a role: use 1 to 64 letters, digits and _ - : . /"}]),
            ),
        ),
        (
            "bob@example.com",
            &many,
            (409, json!("the user has 64 roles already, which is the most that a user can have")),
        ),
    ] {
        let answer = invite(&server, email, roles).await;
        let body = answer.json();
        let said = body.get("error").unwrap_or(&body["message"]).clone();
        assert_eq!((answer.status.as_u16(), said), expected);
    }
    for lifetime in [Duration::from_secs(299), 91 * DAY] {
        let invitation = NewInvitation::new("bob@example.com").lifetime(lifetime);
        let refused = server.doorward.invite(invitation).await.unwrap_err().to_string();
        assert_eq!(refused, "lifetime: an invitation is valid for 5 minutes to 90 days");
    }
    let closed =
        TestServer::reopen(server.close(), |settings| settings.with("registration", "closed"))
            .await;
    let answer = invite(&closed, "bob@example.com", &[]).await;
    assert_eq!(
        answer.status_and_body(),
        (403, r#"{"message":"nobody can register: registration is \"closed\""}"#)
    );
}

#[tokio::test]
async fn all_invitations_are_listed_page_by_page() {
    let server = server().await;
    for name in ["carol", "ada", "bob"] {
        ticket(&server, &format!("{name}@example.com"), &[]).await;
    }
    let (mut path, mut emails) = (format!("{ADMIN_PATH}?limit=2"), Vec::new());
    loop {
        let page = server.operator("GET", &path, Value::Null).await.json();
        let invitations = page["invitations"].as_array().unwrap().iter();
        emails.extend(invitations.map(|invitation| text(invitation, "email").to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("{ADMIN_PATH}?limit=2&after={next}");
    }
    assert_eq!(emails, ["ada@example.com", "bob@example.com", "carol@example.com"]);
}

#[tokio::test]
async fn a_user_whom_the_condition_allows_invites_without_roles() {
    let server = server().await;
    let ada = member(&server, "ada@example.com", &["staff"]).await;
    let answer = post(&server, &ada, "bob@example.com").await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let made = answer.json();
    assert_eq!(made["email"], "bob@example.com");
    assert_eq!(made["mailed"], false);
    assert_eq!(made["expiresAt"], "2027-01-22T08:00:00.000Z");
    assert_eq!(listed(&server, &ada).await, ["bob@example.com"]);
    let secret = made["secret"].as_str().unwrap();
    let registered = register(&server, "bob@example.com", secret).await;
    assert_eq!(registered.status, StatusCode::CREATED, "{}", registered.body);
    let bob = server.doorward.user_by_email("bob@example.com").await.unwrap().unwrap();
    assert!(bob.roles.iter().next().is_none() && !bob.email_verified);
    assert!(listed(&server, &ada).await.is_empty(), "used");
}

#[tokio::test]
async fn whoever_may_not_invite_is_told_so() {
    let server = server().await;
    let plain = member(&server, "plain@example.com", &[]).await;
    let staff = member(&server, "staff@example.com", &["staff"]).await;
    let unverified = member(&server, "unverified@example.com", &["staff"]).await;
    server.order("PATCH", "unverified@example.com", "", json!({"emailVerified": false})).await;
    for refused in [&plain, &unverified] {
        let answer = post(&server, refused, "bob@example.com").await;
        assert_eq!(answer.status_and_body(), (403, r#"{"message":"You may not invite others."}"#));
        assert!(listed(&server, refused).await.is_empty());
    }
    let invalid = post(&server, &staff, "bob").await;
    assert_eq!(invalid.status, StatusCode::BAD_REQUEST, "{}", invalid.body);
    let taken = post(&server, &staff, "PLAIN@example.com").await;
    assert_eq!(taken.status, StatusCode::CONFLICT, "{}", taken.body);
    assert_eq!(taken.json()["error"][0]["email"], "Already registered");
    let nobody = server.post(PATH, &json!({"email": "bob@example.com"})).await;
    assert_eq!(nobody.status_and_body(), (401, UNAUTHORIZED));

    let refuses = async |server: &TestServer| {
        assert_eq!(post(server, &staff, "bob@example.com").await.status, StatusCode::FORBIDDEN);
    };
    let closed = |settings| for_staff(settings).with("registration", "closed");
    let server = TestServer::reopen(server.close(), closed).await;
    refuses(&server).await;
    let by_default = |settings: Settings| settings.with("registration", "invited");
    let server = TestServer::reopen(server.close(), by_default).await;
    refuses(&server).await;
}

#[tokio::test]
async fn a_user_revokes_only_their_own_invitations() {
    let server = server().await;
    let ada = member(&server, "ada@example.com", &["staff"]).await;
    let eve = member(&server, "eve@example.com", &["staff"]).await;
    let made = post(&server, &ada, "bob@example.com").await.json();
    let by_operator = ticket(&server, "carol@example.com", &["admin"]).await;
    let delete = async |member: &Member, id: &str| {
        server.request_as(&member.token, "DELETE", &format!("{PATH}/{id}"), Value::Null).await
    };
    let bobs = made["id"].as_str().unwrap();
    for (member, id) in [
        (&eve, bobs),
        (&eve, text(&by_operator, "id")),
        (&ada, text(&by_operator, "id")),
        (&ada, "00000000-0000-4000-8000-000000000000"),
        (&ada, "nonsense"),
    ] {
        assert_eq!(delete(member, id).await.status_and_body(), (404, NOT_FOUND), "{id}");
    }
    assert_eq!(delete(&ada, bobs).await.status, StatusCode::NO_CONTENT);
    assert_eq!(delete(&ada, bobs).await.status_and_body(), (404, NOT_FOUND));
    let revoked = register(&server, "bob@example.com", made["secret"].as_str().unwrap()).await;
    assert_eq!(revoked.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_user_cannot_replace_the_invitation_of_somebody_else() {
    let server = server().await;
    let ada = member(&server, "ada@example.com", &["staff"]).await;
    let eve = member(&server, "eve@example.com", &["staff"]).await;
    let by_operator = ticket(&server, "carol@example.com", &["admin"]).await;
    post(&server, &ada, "bob@example.com").await;
    for (member, email) in [(&eve, "bob@example.com"), (&ada, "carol@example.com")] {
        let answer = post(&server, member, email).await;
        let expected = (409, r#"{"message":"The address is invited already."}"#);
        assert_eq!(answer.status_and_body(), expected);
    }
    assert_eq!(post(&server, &ada, "bob@example.com").await.status, StatusCode::CREATED, "own");
    let carol = register(&server, "carol@example.com", text(&by_operator, "secret")).await;
    assert_eq!(carol.status, StatusCode::CREATED);
    let carol = server.doorward.user_by_email("carol@example.com").await.unwrap().unwrap();
    assert!(carol.roles.contains("admin"));
}

#[tokio::test]
async fn the_invitations_of_a_disabled_or_deleted_user_admit_nobody() {
    let server = server().await;
    for (inviter, method, body) in [
        ("ada@example.com", "PATCH", json!({"disabled": true})),
        ("eve@example.com", "DELETE", Value::Null),
    ] {
        let member = member(&server, inviter, &["staff"]).await;
        let made = post(&server, &member, "bob@example.com").await.json();
        server.order(method, inviter, "", body).await;
        for presented in ["secret", "code"] {
            let presented = made[presented].as_str().unwrap();
            let answer = register(&server, "bob@example.com", presented).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{inviter}: {}", answer.body);
        }
        revoke(&server, "bob@example.com").await;
    }
}

#[tokio::test]
async fn a_user_makes_a_limited_number_of_invitations() {
    let server = server().await;
    let ada = member(&server, "ada@example.com", &["staff"]).await;
    let eve = member(&server, "eve@example.com", &["staff"]).await;
    for number in 0..20 {
        let answer = post(&server, &ada, &format!("guest{number}@example.com")).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{number}: {}", answer.body);
    }
    let spent = post(&server, &ada, "guest20@example.com").await;
    assert_eq!(spent.status, StatusCode::TOO_MANY_REQUESTS, "{}", spent.body);
    assert_eq!(post(&server, &eve, "guest20@example.com").await.status, StatusCode::CREATED);
    assert_eq!(listed(&server, &ada).await.len(), 20);
}

#[tokio::test]
async fn a_user_invites_by_mail_and_never_learns_the_secret() {
    let server = server_with_mail().await;
    let ada = member(&server, "ada@example.com", &["staff"]).await;
    let answer = post(&server, &ada, "bob@example.com").await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let made = answer.json();
    let mut members: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["createdAt", "email", "expiresAt", "id", "mailed"]);
    assert_eq!(made["mailed"], true);
    let one_time = OneTimeId::from_str(made["id"].as_str().unwrap()).unwrap();
    let invited_by = Some("ada@example.com".to_owned());
    let expires_at = Some(server.now().millis() + 7 * 24 * 60 * 60 * 1000);
    let expected = Message::Invitation { one_time, invited_by, expires_at };
    assert_eq!(mailed(&server, "bob@example.com").await, [expected]);
    // The same address gets only a few mails, however many users invite it.
    let again = post(&server, &ada, "bob@example.com").await;
    assert_eq!(again.status, StatusCode::TOO_MANY_REQUESTS, "{}", again.body);
    assert_eq!(mailed(&server, "bob@example.com").await.len(), 1);
    let id = UserId::from_str(&ada.id).unwrap();
    server.doorward.delete_user(id).await.unwrap();
    assert!(mailed(&server, "bob@example.com").await.is_empty(), "deleted with the inviter");
}
