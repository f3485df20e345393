//! Invitations: by users through the API, by the operator through commands, and what becomes of them.

use std::{str::FromStr, time::Duration};

use axum::http::StatusCode;
use doorward::{
    NewInvitation, Settings, UserId,
    internals::{
        Internals,
        control::{Command, InvitationInfo, Invite, Reply, TicketInfo, UserRef},
        mail::Message,
        token::one_time::{OneTimeId, Purpose},
    },
};
use serde_json::{Value, json};

use crate::support::{Answer, Member, NOT_FOUND, TestServer, UNAUTHORIZED, with_mail};

const PATH: &str = "/api/invitations";
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

async fn invite(server: &TestServer, email: &str, roles: &[&str]) -> Reply {
    let roles = roles.iter().map(|role| (*role).to_owned()).collect();
    let invite = Invite { email: email.into(), roles, lifetime: None, print: false };
    server.command(Command::Invite(invite)).await
}

async fn ticket(server: &TestServer, email: &str, roles: &[&str]) -> (InvitationInfo, TicketInfo) {
    match invite(server, email, roles).await {
        Reply::Invited(invitation, Some(ticket)) => (invitation, ticket),
        other => panic!("{other:?}"),
    }
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
    let verify = Command::SetEmailVerified(UserRef(email.into()), true);
    assert!(matches!(server.command(verify).await, Reply::Done));
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
    let (invitation, ticket) = ticket(&server, "Ada@example.com", &["staff", "admin"]).await;
    assert_eq!(invitation.roles, ["admin", "staff"]);
    assert_eq!(invitation.expires_at, "2027-01-22T08:00:00.000Z");
    assert!(!invitation.mailed && invitation.invited_by.is_none());
    let secret = ticket.secret.as_str();
    let link = ticket.link.as_ref().unwrap().as_str();
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
    let (_, replaced) = ticket(&server, email, &[]).await;
    let (revoked_info, revoked) = ticket(&server, "ADA@example.com", &[]).await;
    refused(replaced.secret.as_str()).await;
    let revoke = || Command::RevokeInvitation(revoked_info.id.clone());
    assert!(matches!(server.command(revoke()).await, Reply::Done));
    assert!(matches!(server.command(revoke()).await, Reply::NoSuchInvitation));
    refused(revoked.secret.as_str()).await;

    let (_, expired) = ticket(&server, email, &[]).await;
    server.let_pass(7 * DAY);
    refused(expired.secret.as_str()).await;
    refused(expired.code.as_str()).await;
    let by_address = Command::RevokeInvitation(email.into());
    assert!(matches!(server.command(by_address).await, Reply::NoSuchInvitation));

    ticket(&server, email, &[]).await;
    let by_address = Command::RevokeInvitation("Ada@Example.com".into());
    assert!(matches!(server.command(by_address).await, Reply::Done));
    for guessed in ["", "x", "00000000-0000-4000-8000-000000000000", &"A".repeat(43)] {
        refused(guessed).await;
    }
}

#[tokio::test]
async fn a_code_is_typed_with_the_address_and_ten_are_compared() {
    let server = server().await;
    let (_, ticket) = ticket(&server, "ada@example.com", &["staff"]).await;
    let code = ticket.code.as_str();
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
    let linked = register(&server, "ada@example.com", ticket.secret.as_str()).await;
    assert_eq!(linked.status, StatusCode::CREATED, "the link still works: {}", linked.body);
}

#[tokio::test]
async fn a_typed_code_admits() {
    let server = server().await;
    let (_, ticket) = ticket(&server, "ada@example.com", &["staff"]).await;
    let code = ticket.code.as_str().replace(' ', "-");
    let answer = register(&server, "ada@example.com", &code).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    assert!(ada.roles.contains("staff"));
}

#[tokio::test]
async fn a_mailed_invitation_verifies_the_address_and_shows_its_secret_to_nobody_else() {
    let server = server_with_mail().await;
    let Reply::Invited(invitation, None) = invite(&server, "ada@example.com", &["staff"]).await
    else {
        panic!("mailed");
    };
    assert!(invitation.mailed);
    let one_time = OneTimeId::from_str(&invitation.id).unwrap();
    let expires_at = Some(server.now().millis() + 7 * 24 * 60 * 60 * 1000);
    let expected = Message::Invitation { one_time, invited_by: None, expires_at };
    assert_eq!(mailed(&server, "ada@example.com").await, [expected]);
    let secret = server.doorward.one_time_secrets().secret(one_time, Purpose::Invitation);
    let answer = register(&server, "ada@example.com", secret.as_str()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let ada = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    assert!(ada.email_verified && ada.roles.contains("staff"));
    assert_eq!(mailed(&server, "ada@example.com").await.len(), 1, "nothing is left to verify");

    let Reply::Invited(spelled, None) = invite(&server, "Carol@example.com", &[]).await else {
        panic!("mailed");
    };
    let one_time = OneTimeId::from_str(&spelled.id).unwrap();
    let secret = server.doorward.one_time_secrets().secret(one_time, Purpose::Invitation);
    let answer = register(&server, "carol@example.com", secret.as_str()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let carol = server.doorward.user_by_email("carol@example.com").await.unwrap().unwrap();
    assert!(!carol.email_verified, "another spelling may be another mailbox");

    let print = Invite {
        email: "bob@example.com".into(),
        roles: Vec::new(),
        lifetime: Some(DAY),
        print: true,
    };
    let printed = server.command(Command::Invite(print)).await;
    assert!(matches!(&printed, Reply::Invited(_, Some(_))), "{printed:?}");
    assert!(mailed(&server, "bob@example.com").await.is_empty());
}

#[tokio::test]
async fn the_operator_is_told_what_is_wrong_with_an_invitation() {
    let server = server().await;
    member(&server, "ada@example.com", &[]).await;
    let many: Vec<String> = (0..65).map(|number| format!("role{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (email, roles, expected) in [
        ("ada", &[][..], "email: Invalid email"),
        ("ADA@example.com", &[], "a user has this e-mail address already"),
        (
            "bob@example.com",
            &["a b"],
            "\"a b\" is not a role: use 1 to 64 letters, digits and _ - : . /",
        ),
        (
            "bob@example.com",
            &many,
            "the user has 64 roles already, which is the most that a user can have",
        ),
    ] {
        match invite(&server, email, roles).await {
            Reply::Failed(cause) => assert_eq!(cause, expected),
            other => panic!("{other:?}"),
        }
    }
    for lifetime in [Duration::from_secs(299), 91 * DAY] {
        let invitation = NewInvitation::new("bob@example.com").lifetime(lifetime);
        let refused = server.doorward.invite(invitation).await.unwrap_err().to_string();
        assert_eq!(refused, "an invitation is valid for 5 minutes to 90 days");
    }
    let closed =
        TestServer::reopen(server.close(), |settings| settings.with("registration", "closed"))
            .await;
    match invite(&closed, "bob@example.com", &[]).await {
        Reply::Failed(cause) => {
            assert_eq!(cause, "nobody can register: registration is \"closed\"")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn all_invitations_are_listed_page_by_page() {
    let server = server().await;
    for name in ["carol", "ada", "bob"] {
        ticket(&server, &format!("{name}@example.com"), &[]).await;
    }
    let (mut after, mut emails) = (None, Vec::new());
    loop {
        let command = Command::ListInvitations { after, limit: 2 };
        let Reply::Invitations { invitations, next } = server.command(command).await else {
            panic!("a page");
        };
        emails.extend(invitations.into_iter().map(|invitation| invitation.email));
        after = next;
        if after.is_none() {
            break;
        }
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
    let unverify = Command::SetEmailVerified(UserRef("unverified@example.com".into()), false);
    server.command(unverify).await;
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
    let (by_operator, _) = ticket(&server, "carol@example.com", &["admin"]).await;
    let delete = async |member: &Member, id: &str| {
        server.request_as(&member.token, "DELETE", &format!("{PATH}/{id}"), Value::Null).await
    };
    let bobs = made["id"].as_str().unwrap();
    for (member, id) in [
        (&eve, bobs),
        (&eve, &by_operator.id),
        (&ada, &by_operator.id),
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
    let (_, by_operator) = ticket(&server, "carol@example.com", &["admin"]).await;
    post(&server, &ada, "bob@example.com").await;
    for (member, email) in [(&eve, "bob@example.com"), (&ada, "carol@example.com")] {
        let answer = post(&server, member, email).await;
        let expected = (409, r#"{"message":"The address is invited already."}"#);
        assert_eq!(answer.status_and_body(), expected);
    }
    assert_eq!(post(&server, &ada, "bob@example.com").await.status, StatusCode::CREATED, "own");
    let carol = register(&server, "carol@example.com", by_operator.secret.as_str()).await;
    assert_eq!(carol.status, StatusCode::CREATED);
    let carol = server.doorward.user_by_email("carol@example.com").await.unwrap().unwrap();
    assert!(carol.roles.contains("admin"));
}

#[tokio::test]
async fn the_invitations_of_a_disabled_or_deleted_user_admit_nobody() {
    let server = server().await;
    for (inviter, end) in [
        ("ada@example.com", Command::DisableUser as fn(UserRef) -> Command),
        ("eve@example.com", Command::DeleteUser),
    ] {
        let member = member(&server, inviter, &["staff"]).await;
        let made = post(&server, &member, "bob@example.com").await.json();
        assert!(matches!(server.command(end(UserRef(inviter.into()))).await, Reply::Done));
        for presented in ["secret", "code"] {
            let presented = made[presented].as_str().unwrap();
            let answer = register(&server, "bob@example.com", presented).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{inviter}: {}", answer.body);
        }
        server.command(Command::RevokeInvitation("bob@example.com".into())).await;
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
