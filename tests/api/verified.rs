//! Verified e-mail addresses: who sets them, how conditions read them, what apps receive.

use axum::http::StatusCode;
use doorward::internals::control::{Command, Reply, UserRef};
use serde_json::{Value, json};

use crate::support::{House, REFUSED};

const PASSWORD: &str = "correct horse";
const GUARDS: &str = r#"
    [guards.ours]
    allow = 'user.emailVerified && user.domain == "example.com"'
    grant = "user"

    [guards.anybody]
    allow = "true"
    grant = "user"
"#;

async fn house() -> House {
    House::open_with(|settings| settings.with_toml(GUARDS)).await
}

async fn verify(house: &House, who: &str, verified: bool) -> Reply {
    house.command(Command::SetEmailVerified(UserRef(who.into()), verified)).await
}

async fn change(house: &House, token: &str, body: Value) -> Value {
    let answer = house.ask_as(token, "PATCH", "/api/me", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.json()["emailVerified"].clone()
}

#[tokio::test]
async fn an_address_counts_once_the_operator_has_verified_it_and_until_it_changes() {
    let house = house().await;
    let eve = house.register("Eve", "eve@example.com").await;
    let told = async || {
        let answer = house.guard("anybody", &eve.token).await;
        assert_eq!(answer.status, StatusCode::OK);
        answer.header("x-auth-user-email-verified").map(str::to_owned)
    };
    assert_eq!(house.guard("ours", &eve.token).await.told(), REFUSED, "whoever registers it");
    assert_eq!(told().await.as_deref(), Some("false"));

    assert!(matches!(verify(&house, "EVE@example.com", true).await, Reply::Done));
    assert!(matches!(verify(&house, &eve.id, true).await, Reply::Unchanged));
    assert_eq!(house.guard("ours", &eve.token).await.status, StatusCode::OK, "at once");
    assert_eq!(told().await.as_deref(), Some("true"));
    let me = house.ask_as(&eve.token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!(me["emailVerified"], true);
    let export = house.ask_as(&eve.token, "GET", "/api/me/export", Value::Null).await.json();
    assert_eq!(export["user"]["emailVerified"], true);

    assert_eq!(change(&house, &eve.token, json!({"name": "Eva"})).await, true);
    let same = json!({"email": "eve@example.com", "password": PASSWORD});
    assert_eq!(change(&house, &eve.token, same.clone()).await, true);
    let boss = json!({"email": "boss@example.com", "password": PASSWORD});
    assert_eq!(change(&house, &eve.token, boss).await, false);
    assert_eq!(house.guard("ours", &eve.token).await.told(), REFUSED);
    assert_eq!(told().await.as_deref(), Some("false"));
    assert_eq!(change(&house, &eve.token, same).await, false, "nor is the old one any more");
    assert_eq!(house.guard("ours", &eve.token).await.told(), REFUSED);
}

#[tokio::test]
async fn an_address_that_the_operator_unverifies_no_longer_counts() {
    let house = house().await;
    let ada = house.register("Ada", "ada@example.com").await;
    assert!(matches!(verify(&house, "ada@example.com", false).await, Reply::Unchanged));
    assert!(matches!(verify(&house, "ada@example.com", true).await, Reply::Done));
    assert_eq!(house.guard("ours", &ada.token).await.status, StatusCode::OK);
    assert!(matches!(verify(&house, "ada@example.com", false).await, Reply::Done));
    assert_eq!(house.guard("ours", &ada.token).await.told(), REFUSED);
    assert!(matches!(verify(&house, "bob@example.com", true).await, Reply::NoSuchUser));
}

#[tokio::test]
async fn a_guard_that_grants_the_id_alone_sends_the_header_empty() {
    let house = House::open().await;
    let ada = house.register("Miles Davis", "ada@example.com").await;
    verify(&house, "ada@example.com", true).await;
    let answer = house.guard("guard", &ada.token).await;
    assert_eq!(answer.header("x-auth-user-email-verified"), Some(""));
    // The headers of the name policy are kept for the next time, but not beyond a change.
    for verified in [true, false, true] {
        verify(&house, "ada@example.com", verified).await;
        for _ in 0..2 {
            let answer = house.guard("miles", &ada.token).await;
            let expected = if verified { "true" } else { "false" };
            assert_eq!(answer.header("x-auth-user-email-verified"), Some(expected));
        }
    }
}

#[tokio::test]
async fn registering_cannot_claim_that_an_address_is_verified() {
    let house = house().await;
    let body = json!({"name": "Eve", "email": "eve@example.com", "emailVerified": true, "email_verified": true});
    let eve = house.register_with(body).await;
    assert_eq!(house.guard("ours", &eve.token).await.told(), REFUSED);
    assert_eq!(change(&house, &eve.token, json!({"emailVerified": true})).await, false);
}
