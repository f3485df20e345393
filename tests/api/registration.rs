//! Who may register: the setting `registration`, and what callers are told.

use std::net::SocketAddr;

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use doorward::{NewInvitation, Settings};
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

const MAY_NOT_REGISTER: (u16, &str) =
    (403, r#"{"message":"Registration is not open for this address."}"#);

/// Registers from this address.
async fn register_from(server: &TestServer, address: &str, body: &Value) -> Answer {
    let peer = SocketAddr::new(address.parse().unwrap(), 9);
    let request = Request::post("/api/user")
        .header(header::CONTENT_TYPE, "application/json")
        .extension(ConnectInfo(peer));
    server.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Somebody who registers: name, e-mail address, network address, and whether they have an invitation.
type Caller = (&'static str, &'static str, &'static str, bool);

const ADA: Caller = ("Ada Lovelace", "ada@example.com", "192.0.2.7", false);
const BOB: Caller = ("Bob", "bob@elsewhere.example", "10.1.2.3", false);
const EVE: Caller = ("Eve", "eve@EXAMPLE.com.evil.example", "2001:db8::1", false);
const GUEST: Caller = ("Guest", "guest@elsewhere.example", "203.0.113.9", true);

#[tokio::test]
async fn every_policy_admits_whom_it_names_and_refuses_all_others_alike() {
    for (policy, admitted) in [
        ("open", &[ADA, BOB, EVE, GUEST][..]),
        ("invited", &[GUEST]),
        ("closed", &[]),
        ("true", &[ADA, BOB, EVE, GUEST]),
        ("false", &[GUEST]),
        (r#"user.domain == "example.com""#, &[ADA, GUEST]),
        (r#"user.email.endsWith("example.com")"#, &[ADA, GUEST]),
        (r#"user.email.lower() in ["bob@elsewhere.example"]"#, &[BOB, GUEST]),
        (r#"user.name.startsWith("Ada ")"#, &[ADA, GUEST]),
        (r#"request.address.inNetwork("10.0.0.0/8")"#, &[BOB, GUEST]),
        (
            r#"request.address.inNetwork("2001:db8::/32") || request.address == "192.0.2.7""#,
            &[ADA, EVE, GUEST],
        ),
        (r#"user.domain == "example.com" && request.address.startsWith("10.")"#, &[GUEST]),
        (r#"request.time < timestamp("2027-01-01T00:00:00Z")"#, &[GUEST]),
        (r#"request.time > timestamp("2027-01-01T00:00:00Z")"#, &[ADA, BOB, EVE, GUEST]),
        // A condition that fails refuses.
        (r#"user.name.split(" ", 2)[1] == "Lovelace""#, &[ADA, GUEST]),
    ] {
        let server = TestServer::open_with(|settings| settings.with("registration", policy)).await;
        for caller in [ADA, BOB, EVE, GUEST] {
            let (name, email, address, is_invited) = caller;
            let mut body = json!({"name": name, "email": email, "password": "correct horse"});
            if is_invited && policy != "closed" {
                let invited = server.doorward.invite(NewInvitation::new(email)).await.unwrap();
                body["invitation"] = invited.ticket.unwrap().secret().into();
            }
            let answer = register_from(&server, address, &body).await;
            if admitted.contains(&caller) {
                assert_eq!(answer.status, StatusCode::CREATED, "{policy}: {name}");
                assert_eq!(answer.json().as_object().unwrap().len(), 2, "{}", answer.body);
            } else {
                assert_eq!(answer.status_and_body(), MAY_NOT_REGISTER, "{policy}: {name}");
                assert!(server.doorward.user_by_email(email).await.unwrap().is_none());
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_does_not_tell_whether_the_address_is_taken() {
    let open = TestServer::open().await;
    open.register("Ada", "ada@example.com").await;
    let closed = TestServer::reopen(open.close(), |settings| {
        settings.with("registration", r#"user.domain == "example.org""#)
    })
    .await;
    for email in ["ada@example.com", "bob@example.com"] {
        let body = json!({"name": "Somebody", "email": email, "password": "correct horse"});
        let answer = closed.post("/api/user", &body).await;
        assert_eq!(answer.status_and_body(), MAY_NOT_REGISTER, "{email}");
    }
    // Those who have registered before still sign in, and the operator still adds users.
    closed.token_of("ada@example.com", "correct horse").await;
    let user = doorward::NewUser::new("Bob", "bob@example.com");
    closed.doorward.create_user(user).await.unwrap();
}

#[tokio::test]
async fn an_invalid_form_is_answered_before_the_policy() {
    let server = TestServer::open_with(|settings| settings.with("registration", "closed")).await;
    let answer = server.post("/api/user", &json!({"email": "ada@example.com"})).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
}

#[tokio::test]
async fn the_network_address_is_the_one_behind_trusted_proxies() {
    let policy = r#"request.address.inNetwork("10.0.0.0/8")"#;
    let server = TestServer::open_with(|settings| settings.with("registration", policy)).await;
    let register = async |peer: [u8; 4], email: &str| {
        let body = json!({"name": "Somebody", "email": email});
        let request = Request::post("/api/user")
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-forwarded-for", "10.0.0.7")
            .extension(ConnectInfo(SocketAddr::from((peer, 9))));
        server.send(request.body(Body::from(body.to_string())).unwrap()).await.status
    };
    assert_eq!(register([127, 0, 0, 1], "ada@example.com").await, StatusCode::CREATED);
    assert_eq!(register([192, 0, 2, 7], "bob@example.com").await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_app_that_embeds_doorward_is_bound_by_the_policy() {
    let server = TestServer::open_with(|settings| settings.with("registration", "invited")).await;
    let client = || doorward::ClientInfo::new([192, 0, 2, 7].into(), "");
    let user = doorward::NewUser::new("Ada", "ada@example.com");
    let refused = server.doorward.register(user, client()).await.unwrap_err();
    assert!(matches!(refused, doorward::AccountError::MayNotRegister), "{refused:?}");
    let invitation = NewInvitation::new("ada@example.com").role("staff");
    let ticket = server.doorward.invite(invitation).await.unwrap().ticket.unwrap();
    let user = doorward::NewUser::new("Ada", "ada@example.com").invitation(ticket.code());
    let opened = server.doorward.register(user, client()).await.unwrap();
    assert!(opened.user.roles.contains("staff"));
}

#[test]
fn a_broken_policy_is_refused_at_the_start_with_its_place() {
    for (file, error) in [
        (
            "registration = 'user.domian == \"example.com\"'\n",
            "doorward.toml:1:21: registration: user.domian: did you mean domain?",
        ),
        (
            "registration = '''\ntrue &&\n  user.emailVerified'''\n",
            "doorward.toml:3:7: registration: user.emailVerified: cannot be read when somebody registers (user has \
             name, email, domain)",
        ),
        (
            "registration = \"invite\"\n",
            "doorward.toml:1:1: registration: \"invite\" is not open, invited, closed or a condition: did you mean \
             invited?",
        ),
        (
            "registration_conflict = \"silent\"\n",
            "registration_conflict: \"silent\" needs mail, which tells the owner of the address: set mail.url",
        ),
        (
            "[invitations]\nallow = '\"staff\" in user.role'\n",
            "doorward.toml:2:25: invitations.allow: user.role: did you mean roles?",
        ),
    ] {
        assert_eq!(TestServer::settings_from(file).err(), Some(error.into()), "{file}");
    }
    let broken = Settings::new().with("registration", "user.nmae == 'x'").check().unwrap_err();
    assert_eq!(broken.to_string(), "registration: user.nmae: did you mean name? (at character 5)");
}
