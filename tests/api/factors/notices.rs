//! What users are told about their second factors, and what an export and the operator see of them.

use std::time::Duration;

use doorward::internals::{
    Internals, clock::Timestamp, credential::factor::FactorKind, mail::Message,
};
use serde_json::{Value, json};

use super::{
    ADA, Authenticator, Person, answer_code, challenge, methods, server, token, totp_code,
};
use crate::{
    outbox::{mails, messages},
    support::TestServer,
};

/// The messages since the last time.
async fn told(server: &TestServer, known: &mut usize) -> Vec<Message> {
    let all = messages(server, ADA).await;
    let new = all[*known..].to_vec();
    *known = all.len();
    new
}

#[tokio::test]
async fn a_user_is_told_of_every_change_and_of_every_code_that_was_used() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    let mut known = messages(&server, ADA).await.len();
    ada.add_totp(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let sent = told(&server, &mut known).await;
    let kinds: Vec<_> = sent
        .iter()
        .map(|message| match message {
            Message::FactorAdded { kind, .. } => *kind,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, [FactorKind::Totp, FactorKind::Passkey]);

    let path = "/api/me/factors/recovery-codes";
    let codes = server.request_as(&ada.token, "POST", path, Value::Null).await.json();
    let code = codes["recoveryCodes"][0].as_str().unwrap().to_owned();
    let sent = told(&server, &mut known).await;
    assert!(matches!(sent[..], [Message::RecoveryCodesReplaced { .. }]), "{sent:?}");

    let removed = server.request_as(&ada.token, "DELETE", "/api/me/factors/totp", Value::Null);
    assert_eq!(removed.await.status, 204);
    let sent = told(&server, &mut known).await;
    let kind = FactorKind::Totp;
    assert!(
        matches!(&sent[..], [Message::FactorRemoved { kind: k, .. }] if *k == kind),
        "{sent:?}"
    );

    let asked = challenge(&server).await;
    for _ in 0..3 {
        let wrong = answer_code(&server, &asked, "123456").await;
        assert_eq!(wrong.status, 401);
    }
    let sent = told(&server, &mut known).await;
    assert!(matches!(sent[..], [Message::FactorRefused { .. }]), "{sent:?}");

    token(&answer_code(&server, &challenge(&server).await, &code).await);
    let sent = told(&server, &mut known).await;
    let used = |message: &Message| matches!(message, Message::RecoveryCodeUsed { left: 8, .. });
    assert!(sent.iter().any(used), "{sent:?}");

    server.order("POST", ADA, "/factor-reset", Value::Null).await;
    let sent = told(&server, &mut known).await;
    assert!(matches!(sent[..], [Message::FactorResetLink { .. }]), "{sent:?}");
}

/// When each notice of a missing or wrong factor is due.
async fn due(server: &TestServer) -> Vec<Timestamp> {
    let queued = mails(server, ADA).await;
    let told = |message: &Message| matches!(message, Message::FactorRefused { .. });
    queued.iter().filter(|mail| told(&mail.mail.message)).map(|mail| mail.due_at).collect()
}

#[tokio::test]
async fn a_right_password_without_the_factor_is_told_when_the_challenge_has_expired() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    ada.add_totp(&server).await;

    // Whoever gives both factors is told nothing, also after a pause, and another device may be asked meanwhile.
    for _ in 0..3 {
        let (asked, at) = (challenge(&server).await, server.now());
        assert_eq!(due(&server).await, [at + TEN_MINUTES]);
        server.let_pass(Duration::from_secs(60));
        challenge(&server).await;
        assert_eq!(due(&server).await, [at + TEN_MINUTES], "one for all");
        token(&answer_code(&server, &asked, &ada.code(&server)).await);
        assert_eq!(due(&server).await, []);
    }

    // Somebody who knows the password is told of, once, however often they try.
    let at = server.now();
    for _ in 0..5 {
        challenge(&server).await;
    }
    assert_eq!(due(&server).await, [at + TEN_MINUTES]);
    // The right answer to another challenge does not take it back.
    let asked = challenge(&server).await;
    server.let_pass(Duration::from_secs(30));
    token(&answer_code(&server, &asked, &ada.code(&server)).await);
    assert_eq!(due(&server).await, [at + TEN_MINUTES]);

    server.doorward.close_trail().await.unwrap();
    let path = "/api/admin/audit?kind=factor_asked&limit=100";
    let events = server.operator("GET", path, Value::Null).await.json()["events"].clone();
    let events = events.as_array().unwrap();
    assert_eq!(events.len(), 3 * 2 + 5 + 1);
    for event in events {
        assert_eq!(event["subject"], json!(ada.id), "{event}");
        assert_eq!(event["actor"], json!({"type": "unknown"}), "{event}");
        assert_eq!(event["details"], json!({"methods": ["pwd"]}), "{event}");
    }
}

/// A step-up would otherwise tell whoever has stolen a session in silence whether they know the password.
#[tokio::test]
async fn a_right_password_in_a_step_up_is_told_like_one_in_a_sign_in() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    ada.add_totp(&server).await;
    let step_up = json!({"password": super::PASSWORD});
    let asked = async || {
        let answer = server.request_as(&ada.token, "POST", "/api/me/step-up", step_up.clone());
        answer.await.json()
    };
    let at = server.now();
    asked().await;
    assert_eq!(due(&server).await, [at + Duration::from_secs(10 * 60)]);
    server.doorward.close_trail().await.unwrap();
    let path = "/api/admin/audit?kind=factor_asked";
    let events = server.operator("GET", path, Value::Null).await.json()["events"].clone();
    assert_eq!(events[0]["details"], json!({"methods": ["pwd"]}), "{events}");
    let answered = answer_code(&server, &asked().await, &ada.code(&server)).await;
    token(&answered);
}

const TEN_MINUTES: Duration = Duration::from_secs(10 * 60);

/// A user with an app, and an answer that is wrong.
async fn holder(server: &TestServer) -> (Person, &'static str) {
    let mut ada = Person::register(server).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    ada.add_totp(server).await;
    let wrong = if ada.code(server) == "123456" { "654321" } else { "123456" };
    (ada, wrong)
}

#[tokio::test]
async fn who_mistypes_a_code_and_then_gives_a_right_one_is_told_nothing() {
    let server = server().await;
    let (ada, wrong) = holder(&server).await;
    // Also a recovery code, and as often as somebody signs in.
    for mistyped in [wrong, "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE", wrong, wrong] {
        let (asked, at) = (challenge(&server).await, server.now());
        assert_eq!(answer_code(&server, &asked, mistyped).await.status, 401);
        assert_eq!(due(&server).await, [at + TEN_MINUTES], "if no right one follows");
        token(&answer_code(&server, &asked, &ada.code(&server)).await);
        assert_eq!(due(&server).await, []);
        server.let_pass(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn the_third_wrong_factor_is_told_at_once() {
    let server = server().await;
    let (_ada, wrong) = holder(&server).await;
    let asked = challenge(&server).await;
    let (at, mut third) = (server.now(), None);
    for number in 1..=4 {
        let now = server.now();
        assert_eq!(answer_code(&server, &asked, wrong).await.status, 401);
        third = third.or((number == 3).then_some(now));
        assert_eq!(due(&server).await, [third.unwrap_or(at + TEN_MINUTES)]);
    }
    let sent = server
        .doorward
        .store()
        .claim_mail(server.now(), Duration::from_secs(60), 10)
        .await
        .unwrap();
    assert!(sent.iter().any(|sent| matches!(sent.mail.message, Message::FactorRefused { .. })));
}

/// An attacker with the password can neither wait for the owner's sign-in nor spread guesses over challenges.
#[tokio::test]
async fn an_attacker_with_the_password_is_told_of_whatever_the_owner_does() {
    let server = server().await;
    let (ada, wrong) = holder(&server).await;
    // The owner is asked first, so that the mail waits for their challenge.
    let owners = challenge(&server).await;
    server.let_pass(Duration::from_secs(60));
    let (attackers, at) = (challenge(&server).await, server.now());
    assert_eq!(answer_code(&server, &attackers, wrong).await.status, 401);
    token(&answer_code(&server, &owners, &ada.code(&server)).await);
    assert_eq!(due(&server).await, [at + TEN_MINUTES], "that of the attacker's challenge");
    server.let_pass(Duration::from_secs(60));
    let at = server.now();
    for _ in 0..3 {
        let asked = challenge(&server).await;
        assert_eq!(answer_code(&server, &asked, wrong).await.status, 401);
    }
    assert!(due(&server).await.contains(&at), "at once");
}

#[tokio::test]
async fn a_challenge_that_nobody_answers_does_not_keep_back_the_notice_of_wrong_factors() {
    let server = server().await;
    let (_ada, wrong) = holder(&server).await;
    let (unanswered, asked_at) = (challenge(&server).await, server.now());
    server.let_pass(Duration::from_secs(60));
    let (asked, at) = (challenge(&server).await, server.now());
    let waiting = [asked_at + TEN_MINUTES, at + TEN_MINUTES];
    // Told at once from the third on, and once, whichever challenge is answered.
    for number in 1..=3 {
        let now = server.now();
        assert_eq!(answer_code(&server, &asked, wrong).await.status, 401);
        let mut told = due(&server).await;
        told.sort_unstable();
        let hurried = [now, asked_at + TEN_MINUTES];
        assert_eq!(told, if number < 3 { waiting } else { hurried });
    }
    assert_eq!(answer_code(&server, &unanswered, wrong).await.status, 401);
    assert_eq!(due(&server).await.len(), 2);
}

#[tokio::test]
async fn an_export_and_the_operator_see_factors_and_no_secret() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let exported = server.request_as(&ada.token, "GET", "/api/me/export", Value::Null).await;
    assert!(!exported.body.contains(ada.totp.as_ref().unwrap()));
    let exported = exported.json();
    let kinds: Vec<_> = exported["factors"].as_array().unwrap().iter().collect();
    assert_eq!((&kinds[0]["kind"], &kinds[0]["name"]), (&json!("passkey"), &json!("Phone")));
    assert_eq!((&kinds[1]["kind"], &kinds[1]["name"]), (&json!("totp"), &Value::Null));
    assert_eq!((&exported["recoveryCodes"], &exported["trustedDevices"]), (&json!(8), &json!([])));
    let shown = server.order("GET", ADA, "", Value::Null).await.json();
    assert_eq!(shown["factors"], exported["factors"]);
    assert_eq!(shown["recoveryCodes"], 8);
}

#[tokio::test]
async fn a_user_of_another_system_signs_in_with_the_app_that_they_have() {
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    let server = server().await;
    let other = json!({
        "id": "0190a0a0-0000-4000-8000-00000000000a",
        "name": "Ada",
        "email": ADA,
        "verified": true,
        "totpSecret": SECRET,
    });
    let imported = server.operator("POST", "/api/admin/import", other).await;
    assert_eq!(imported.body, "{\"line\":1,\"outcome\":\"added\"}\n");
    server.order("POST", ADA, "/password", json!({"password": super::PASSWORD})).await;
    let asked = challenge(&server).await;
    assert_eq!(asked["factors"], json!(["totp"]));
    let code = totp_code(SECRET, server.now().seconds());
    let opened = token(&answer_code(&server, &asked, &code).await);
    assert_eq!(methods(&server, &opened).await, json!(["pwd", "totp"]));
}
