//! An account that was taken over: one order ends everything by which somebody could be in it, and lets the right person in again.
//! Ending sessions and disabling say what they end.

use std::time::Duration;

use doorward::{
    Settings,
    internals::{Internals, mail::Message, token::one_time::Purpose},
};
use serde_json::{Value, json};

use crate::{
    factors::{Authenticator, ORIGIN, Person, answer_passkey},
    mail::{secret, verify},
    outbox::messages,
    support::{Answer, REFUSED, TestServer, with_mail},
};

const ADA: &str = "ada@example.com";
const PASSWORD: &str = "correct horse";
const PASSED: (u16, &str) = (200, r#""You may pass.""#);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SETTINGS: &str = r#"
[guards.git]
allow = 'true'
keys = true

[admin.helpdesk]
scopes = ["users:read", "users:write"]
"#;

fn settings(settings: Settings) -> Settings {
    settings.with_toml(SETTINGS).with("public_url", ORIGIN)
}

async fn server() -> TestServer {
    TestServer::open_with(|given| with_mail(settings(given))).await
}

async fn key_of(server: &TestServer, token: &str) -> String {
    let made = server.request_as(token, "POST", "/api/me/keys", json!({"name": "laptop"})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["key"].as_str().unwrap().to_owned()
}

async fn set_password(server: &TestServer, code: &str, password: &str) -> Answer {
    server.post("/api/auth/reset", &json!({"code": code, "password": password})).await
}

#[tokio::test]
async fn one_order_ends_everything_and_the_person_is_mailed_a_link() {
    let server = server().await;
    let first = server.register("Ada", ADA).await.token;
    let (link, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    verify(&server, &link).await;
    let second = server.token_of(ADA, PASSWORD).await;
    let key = key_of(&server, &first).await;
    let changed = json!({"email": "thief@example.com", "password": PASSWORD});
    server.request_as(&second, "PATCH", "/api/me", changed).await;
    server.post("/api/auth/forgot", &json!({"email": ADA})).await;
    let (pending, _) = secret(&server, "thief@example.com", Purpose::ChangeEmail).await;
    let (asked, _) = secret(&server, ADA, Purpose::ResetPassword).await;
    let code = server.order("POST", ADA, "/reset-code", Value::Null).await.json();
    assert_eq!(server.guard("git", &key).await.status_and_body(), PASSED);

    let secured = server.order("POST", ADA, "/secure", Value::Null).await;
    assert_eq!(secured.status, 200, "{}", secured.body);
    assert_eq!(
        secured.json(),
        json!({
            "sessionsEnded": 2,
            "apiKeysRevoked": 1,
            "trustedDevicesRemoved": 0,
            "factorsRemoved": 0,
            "codesRevoked": 3,
            "invitationsRevoked": 0,
            "passwordRemoved": true,
            "factors": [],
            "email": ADA,
            "earlierEmails": [],
            "mailed": true,
        })
    );
    for token in [&first, &second, &key] {
        assert_eq!(server.guard("git", token).await.status_and_body(), REFUSED);
    }
    assert_eq!(server.login(ADA, PASSWORD).await.status, 404);
    assert_eq!(verify(&server, &pending).await.status, 401);
    for code in [&*asked, code["code"].as_str().unwrap()] {
        assert_eq!(set_password(&server, code, "known to a thief").await.status, 401);
    }
    let told = messages(&server, ADA).await;
    let Some(Message::AccountSecured { one_time, .. }) = told.last() else { panic!("{told:?}") };
    let one_time_in = |message: &Message| {
        let text = serde_json::to_string(message).unwrap();
        text.contains("one_time") && !matches!(message, Message::AccountSecured { .. })
    };
    assert!(!told.iter().any(one_time_in), "mail with void links is not sent: {told:?}");
    let link = server.doorward.one_time_secrets().secret(*one_time, Purpose::ResetPassword);
    assert_eq!(set_password(&server, link.as_str(), "battery staple").await.status, 204);
    server.token_of(ADA, "battery staple").await;

    let page = server.operator("GET", "/api/admin/audit?kind=user_secured", Value::Null).await;
    let details = &page.json()["events"][0]["details"];
    let ended = json!({
        "sessions": 2,
        "apiKeys": 1,
        "trustedDevices": 0,
        "factors": 0,
        "codes": 3,
        "invitations": 0,
        "password": true,
    });
    assert_eq!(*details, ended, "{}", page.body);
}

#[tokio::test]
async fn without_mail_the_administrator_gets_a_code_for_the_person() {
    let without_mail = TestServer::open_with(settings).await;
    let with_mail = server().await;
    for (server, body) in [(without_mail, Value::Null), (with_mail, json!({"mail": false}))] {
        server.register("Ada", ADA).await;
        let before = messages(&server, ADA).await.len();
        let secured = server.order("POST", ADA, "/secure", body).await.json();
        assert_eq!(secured["mailed"], false);
        assert!(messages(&server, ADA).await.len() <= before, "nothing is mailed");
        let code = secured["code"].as_str().unwrap();
        assert_eq!(set_password(&server, code, "battery staple").await.status, 204);
        assert_eq!(set_password(&server, code, "battery staple").await.status, 401, "once");
        server.token_of(ADA, "battery staple").await;
    }
}

#[tokio::test]
async fn no_link_is_mailed_to_an_address_that_was_changed_lately() {
    let server = server().await;
    let token = server.register("Ada", ADA).await.token;
    let (link, _) = secret(&server, ADA, Purpose::VerifyEmail).await;
    verify(&server, &link).await;
    let changed = json!({"email": "thief@example.com", "password": PASSWORD});
    server.request_as(&token, "PATCH", "/api/me", changed).await;
    let (link, _) = secret(&server, "thief@example.com", Purpose::ChangeEmail).await;
    assert_eq!(verify(&server, &link).await.status, 204);

    // The operator gives the account its address back: the thief is told, with a way back of their own.
    server.order("PATCH", "thief@example.com", "", json!({"email": ADA})).await;
    let (back, _) = secret(&server, "thief@example.com", Purpose::RestoreEmail).await;
    let secured = server.order("POST", ADA, "/secure", Value::Null).await.json();
    assert_eq!(secured["earlierEmails"], json!(["thief@example.com"]));
    assert_eq!((&secured["mailed"], &secured["email"]), (&json!(false), &json!(ADA)));
    let body = json!({"code": back, "password": "known to a thief"});
    assert_eq!(server.post("/api/auth/restore-email", &body).await.status, 401);
    let code = secured["code"].as_str().unwrap();
    assert_eq!(set_password(&server, code, "battery staple").await.status, 204);
    server.token_of(ADA, "battery staple").await;
}

#[tokio::test]
async fn factors_that_were_added_lately_are_removed_unless_the_order_says_otherwise() {
    for (body, removed, left) in [
        (json!({}), 1, vec!["totp"]),
        (json!({"removeFactors": "2d"}), 1, vec!["totp"]),
        (json!({"removeFactors": "50d"}), 2, vec![]),
        (json!({"removeFactors": "all"}), 2, vec![]),
        (json!({"removeFactors": "none"}), 0, vec!["passkey", "totp"]),
    ] {
        let server = server().await;
        let mut ada = Person::register(&server).await;
        ada.add_totp(&server).await;
        server.let_pass(40 * DAY);
        let challenge = server.login(ADA, PASSWORD).await.json();
        let answer = json!({"challenge": challenge["challenge"], "code": ada.code(&server)});
        let answer = server.post("/api/auth/login/factor", &answer).await.json();
        ada.token = answer["token"].as_str().unwrap().to_owned();
        ada.add_passkey(&server, Authenticator::new()).await;
        server.let_pass(DAY);

        let secured = server.order("POST", ADA, "/secure", body.clone()).await.json();
        assert_eq!(secured["factorsRemoved"], removed, "{body}");
        let kinds: Vec<_> = secured["factors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|factor| factor["kind"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(kinds, left, "{body}");
        let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
        let mut passkey = ada.passkey.take().unwrap();
        let signed_in = answer_passkey(&server, &begun, &mut passkey).await.status == 200;
        assert_eq!(signed_in, left.contains(&"passkey"), "{body}");
    }
}

#[tokio::test]
async fn what_an_order_does_not_know_is_refused() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await.token;
    for body in [
        json!({"removeFactors": "some"}),
        json!({"mail": "no"}),
        json!({"mails": false}),
        json!({"factors": "all"}),
    ] {
        let path = format!("/api/admin/users/{ADA}/secure");
        let refused = server.operator("POST", &path, body).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
    }
    assert_eq!(server.guard("guard", &ada).await.status, 200, "nothing has ended");
}

#[tokio::test]
async fn a_disabled_user_is_secured_and_gets_in_when_enabled() {
    let server = server().await;
    server.register("Ada", ADA).await;
    server.order("PATCH", ADA, "", json!({"disabled": true})).await;
    let secured = server.order("POST", ADA, "/secure", Value::Null).await.json();
    let code = secured["code"].as_str().unwrap();
    assert_eq!(set_password(&server, code, "battery staple").await.status, 401);
    server.order("PATCH", ADA, "", json!({"disabled": false})).await;
    assert_eq!(set_password(&server, code, "battery staple").await.status, 204);
    server.token_of(ADA, "battery staple").await;
}

#[tokio::test]
async fn a_key_of_a_disabled_user_passes_nowhere_and_enabling_does_not_bring_it_back() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await.token;
    let scopes = json!({"name": "laptop", "scopes": ["users:read", "guard:*"]});
    server.order("PUT", ADA, "/roles/helpdesk", Value::Null).await;
    let made = server.request_as(&ada, "POST", "/api/me/keys", scopes).await.json();
    let key = made["key"].as_str().unwrap();
    let ask = async || {
        let admin = server.request_as(key, "GET", "/api/admin/users", Value::Null).await;
        (server.guard("git", key).await.status.as_u16(), admin.status.as_u16())
    };
    assert_eq!(ask().await, (200, 200));
    server.order("PATCH", ADA, "", json!({"disabled": true})).await;
    assert_eq!(ask().await, (401, 401));
    server.order("PATCH", ADA, "", json!({"disabled": false})).await;
    assert_eq!(ask().await, (401, 401));
    server.token_of(ADA, PASSWORD).await;
}

#[tokio::test]
async fn ending_all_sessions_says_how_many_keys_still_count() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await.token;
    let (key, other) = (key_of(&server, &ada).await, key_of(&server, &ada).await);
    let shown = server.order("GET", ADA, "", Value::Null).await.json();
    let keys = shown["apiKeys"].as_array().unwrap();
    let names: Vec<_> = keys.iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["laptop", "laptop"]);
    let path = format!("/api/admin/keys/{}", keys[0]["id"].as_str().unwrap());
    assert_eq!(server.operator("DELETE", &path, Value::Null).await.status, 204);
    let ended = server.order("DELETE", ADA, "/sessions", Value::Null).await;
    assert_eq!(ended.json(), json!({"sessionsEnded": 1, "apiKeysLeft": 1}));
    let passing = [server.guard("git", &key).await, server.guard("git", &other).await];
    assert_eq!(passing.iter().filter(|answer| answer.status == 200).count(), 1);
}

#[tokio::test]
async fn a_list_of_keys_names_their_owners() {
    let server = server().await;
    let ada = server.register("Ada", ADA).await.token;
    key_of(&server, &ada).await;
    let machine = json!({"name": "ci", "scopes": ["guard:git"]});
    server.operator("POST", "/api/admin/keys", machine).await;
    let listed = server.operator("GET", "/api/admin/keys", Value::Null).await.json();
    let owners: Vec<_> = listed["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| (key["userName"].clone(), key["userEmail"].clone()))
        .collect();
    assert_eq!(owners.len(), 2);
    assert!(owners.contains(&(json!("Ada"), json!(ADA))));
    assert!(owners.contains(&(Value::Null, Value::Null)));
    let own = server.request_as(&ada, "GET", "/api/me/keys", Value::Null).await;
    assert!(!own.body.contains("userEmail"), "{}", own.body);
}
