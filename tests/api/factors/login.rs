//! Logins of users who hold a second factor.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use serde_json::{Value, json};

use super::{
    ADA, Authenticator, PASSWORD, Person, answer_code, answer_passkey, challenge, methods, server,
    token, totp_code,
};
use crate::support::NOT_FOUND;

#[tokio::test]
async fn a_password_alone_opens_no_session_of_a_user_with_a_factor() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let refused = server.login(ADA, PASSWORD).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        refused.header("www-authenticate"),
        Some(r#"Bearer realm="doorward", error="insufficient_user_authentication""#)
    );
    let body = refused.json();
    assert_eq!(body["message"], "A second factor is missing.");
    assert_eq!(body["factors"], json!(["totp", "recovery"]));
    assert!(body.get("token").is_none() && body.get("publicKey").is_none(), "{body}");
    // A wrong password is told as it is to everybody.
    assert_eq!(server.login(ADA, "wrong horse").await.status, StatusCode::NOT_FOUND);

    let opened = answer_code(&server, &body, &ada.code(&server)).await;
    assert_eq!(methods(&server, &token(&opened)).await, json!(["pwd", "totp"]));
}

#[tokio::test]
async fn a_code_counts_once_and_so_does_a_challenge() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let (first, second) = (challenge(&server).await, challenge(&server).await);
    let code = ada.code(&server);
    token(&answer_code(&server, &first, &code).await);
    let reused = answer_code(&server, &second, &code).await;
    assert_eq!(reused.status, StatusCode::UNAUTHORIZED);
    assert_eq!(reused.json()["message"], "The code was used before. Please wait for the next one.");
    server.let_pass(Duration::from_secs(30));
    let code = ada.code(&server);
    let answered = answer_code(&server, &first, &code).await;
    assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "an answered challenge");
    assert!(answered.body.contains("was answered before"), "{}", answered.body);
    token(&answer_code(&server, &second, &code).await);
}

#[tokio::test]
async fn a_challenge_expires_and_is_void_after_a_new_password() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let old = challenge(&server).await;
    server.let_pass(Duration::from_secs(10 * 60));
    let expired = answer_code(&server, &old, &ada.code(&server)).await;
    assert_eq!(expired.status, StatusCode::UNAUTHORIZED);
    assert!(expired.body.contains("has expired"), "{}", expired.body);
    let old = challenge(&server).await;
    server.doorward.set_password(ada.id.parse().unwrap(), "another horse").await.unwrap();
    let void = answer_code(&server, &old, &ada.code(&server)).await;
    assert!(void.body.contains("has expired"), "{}", void.body);
    for forged in [json!({"challenge": "x"}), json!({"challenge": ada.token})] {
        let refused = answer_code(&server, &forged, &ada.code(&server)).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{forged}");
    }
}

#[tokio::test]
async fn a_recovery_code_works_once_never_first_and_is_replaced() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    assert_eq!(ada.recovery_codes.len(), 8);
    let code = ada.recovery_codes[0].clone();
    assert_eq!(server.login(ADA, &code).await.status, StatusCode::NOT_FOUND, "as a password");
    let opened = answer_code(&server, &challenge(&server).await, &code.to_lowercase()).await;
    let new = opened.json()["recoveryCode"].as_str().unwrap().to_owned();
    assert_eq!(methods(&server, &token(&opened)).await, json!(["pwd", "recovery"]));
    let again = answer_code(&server, &challenge(&server).await, &code).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
    assert_eq!(again.json()["message"], "The second factor is wrong.");
    token(&answer_code(&server, &challenge(&server).await, &new).await);
}

#[tokio::test]
async fn a_passkey_signs_in_without_a_password() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await;
    assert_eq!(begun.status, StatusCode::OK, "{}", begun.body);
    assert_eq!(begun.json()["publicKey"]["userVerification"], "required");
    let passkey = ada.passkey.as_mut().unwrap();
    let opened = answer_passkey(&server, &begun.json(), passkey).await;
    assert_eq!(methods(&server, &token(&opened)).await, json!(["passkey"]));
    let again = answer_passkey(&server, &begun.json(), passkey).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED, "an answered challenge");
    // Without a name and a password, the passkey says whose it is.
    for handle in [Value::Null, json!("AAAA")] {
        let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
        let mut credential = passkey.get(&begun["publicKey"]);
        credential["response"]["userHandle"] = handle;
        let body = json!({"challenge": begun["challenge"], "credential": credential});
        let refused = server.post("/api/auth/login/factor", &body).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{body}");
    }
    // A synchronised copy with another counter is accepted.
    passkey.is_backed_up = true;
    passkey.sign_count = 0;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    token(&answer_passkey(&server, &begun, passkey).await);
}

#[tokio::test]
async fn a_passkey_is_a_second_factor_too_and_a_security_key_only_that() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::security_key()).await;
    let missing = challenge(&server).await;
    assert_eq!(missing["factors"], json!(["key", "recovery"]));
    let key = ada.passkey.as_mut().unwrap();
    let opened = answer_passkey(&server, &missing, key).await;
    assert_eq!(methods(&server, &token(&opened)).await, json!(["pwd", "key"]));
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let alone = answer_passkey(&server, &begun, key).await;
    assert_eq!(alone.status, StatusCode::UNAUTHORIZED, "without a password");
}

#[tokio::test]
async fn another_site_another_user_and_another_passkey_are_refused() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let passkey = ada.passkey.as_mut().unwrap();
    passkey.origin = "https://auth.example.com.evil.test".into();
    let phished = answer_passkey(&server, &challenge(&server).await, passkey).await;
    assert_eq!(phished.status, StatusCode::UNAUTHORIZED, "another origin");
    passkey.origin = super::ORIGIN.into();

    let mut eve = Person::of(server.register("Eve", "eve@example.com").await);
    eve.add_passkey(&server, Authenticator::new()).await;
    let hers = eve.passkey.as_mut().unwrap();
    let other = answer_passkey(&server, &challenge(&server).await, hers).await;
    assert_eq!(other.status, StatusCode::UNAUTHORIZED, "the passkey of another user");
    let (first, second) = (challenge(&server).await, challenge(&server).await);
    let signed = passkey.get(&first["publicKey"]);
    let body = json!({"challenge": second["challenge"], "credential": signed});
    let swapped = server.post("/api/auth/login/factor", &body).await;
    assert_eq!(swapped.status, StatusCode::UNAUTHORIZED, "the proof of another challenge");
    token(&answer_passkey(&server, &challenge(&server).await, passkey).await);
}

#[tokio::test]
async fn a_disabled_user_cannot_use_a_passkey() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let missing = challenge(&server).await;
    server.doorward.disable_user(ada.id.parse().unwrap()).await.unwrap();
    let passkey = ada.passkey.as_mut().unwrap();
    for challenge in [begun, missing] {
        let refused = answer_passkey(&server, &challenge, passkey).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{challenge}");
    }
}

/// Whoever knows the id of a user logs in with every text that could name a budget of theirs.
#[tokio::test]
async fn no_address_that_somebody_types_spends_the_budget_of_a_factor_or_of_a_mailed_code() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    ada.add_totp(&server).await;
    let (id, code) = (ada.id.clone(), ada.recovery_codes[0].clone());
    let typed = ["totp of", "totp codes", "recovery code of", "recovery codes"]
        .map(|kind| format!("{kind} {id}"))
        .into_iter()
        .chain(["codes to", "mailed codes", "mails"].map(|kind| format!("{kind} {ADA}")));
    for (kind, text) in typed.enumerate() {
        // A network may fail 20 times on one account.
        for number in 0..100 {
            let body = json!({"email": text, "password": "wrong horse"});
            let request = Request::post("/api/auth/login")
                .header(header::CONTENT_TYPE, "application/json")
                .header("x-forwarded-for", format!("198.51.{kind}.{}", number / 20));
            let wrong = server.send(request.body(Body::from(body.to_string())).unwrap()).await;
            assert_eq!(wrong.status_and_body(), (404, NOT_FOUND), "{text}");
        }
    }
    server.doorward.save_failures().await.unwrap();
    token(&answer_code(&server, &challenge(&server).await, &ada.code(&server)).await);
    token(&answer_code(&server, &challenge(&server).await, &code).await);
    let reset = json!({"email": ADA, "code": "00000000", "password": "battery staple"});
    let answer = server.post("/api/auth/reset", &reset).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
}

#[tokio::test]
async fn of_150_wrong_codes_100_are_compared_whatever_happens_between_them() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let (mut wrong, mut throttled) = (0, 0);
    let (secret, now) = (ada.totp.clone().unwrap(), server.now().seconds());
    let right = [now - 30, now, now + 30].map(|seconds| totp_code(&secret, seconds));
    let guesses = (0..1_000_000).map(|number| format!("{number:06}"));
    for guess in guesses.filter(|guess| !right.contains(guess)).take(150) {
        // A right password between the guesses clears nothing.
        let missing = challenge(&server).await;
        match answer_code(&server, &missing, &guess).await.status {
            StatusCode::UNAUTHORIZED => wrong += 1,
            StatusCode::TOO_MANY_REQUESTS => throttled += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((wrong, throttled), (100, 50));
    let right = answer_code(&server, &challenge(&server).await, &ada.code(&server)).await;
    assert_eq!(right.status, StatusCode::TOO_MANY_REQUESTS);
    // Another kind of factor has another budget.
    let code = ada.recovery_codes[0].clone();
    token(&answer_code(&server, &challenge(&server).await, &code).await);
}

#[tokio::test]
async fn a_new_password_by_mail_does_not_remove_a_factor() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let user = server.doorward.user_by_id(ada.id.parse().unwrap()).await.unwrap().unwrap();
    server.doorward.verify_email(user.id, ADA).await.unwrap();
    let code = server.doorward.create_reset_code(user.id).await.unwrap();
    let body = json!({"code": code.as_str(), "password": "another horse"});
    let reset = server.post("/api/auth/reset", &body).await;
    assert_eq!(reset.status, StatusCode::NO_CONTENT, "{}", reset.body);
    let answer = server.login(ADA, "another horse").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(answer.json()["factors"], json!(["totp", "recovery"]));
}

#[tokio::test]
async fn a_user_without_a_factor_logs_in_as_before() {
    let server = server().await;
    Person::register(&server).await;
    let answer = server.login(ADA, PASSWORD).await;
    assert_eq!(answer.status, StatusCode::OK);
    let body: Value = answer.json();
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["token"]);
}
