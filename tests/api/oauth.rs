//! Introspection and revocation of tokens by other programs.

use std::{net::SocketAddr, time::Duration};

use axum::{
    extract::ConnectInfo,
    http::{Request, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use doorward::internals::{
    control::{Command, Reply, UserRef},
    credential::oauth_client::{ClientSecret, OAuthClient},
};
use serde_json::json;

use crate::{
    revocations::{everything, part},
    support::{Answer, House, MALFORMED, UNAUTHORIZED},
};

const INTROSPECT: &str = "/oauth/introspect";
const REVOKE: &str = "/oauth/revoke";
const INACTIVE: (u16, &str) = (200, r#"{"active":false}"#);
const REVOKED: (u16, &str) = (200, "{}");

/// A service with one OAuth client.
struct Asked {
    house: House,
    secret: ClientSecret,
}

impl Asked {
    async fn open() -> Self {
        let secret = ClientSecret::random();
        let shop = OAuthClient::new("shop", &secret).unwrap();
        let house = House::open_with(|s| s.with("clients", &shop.to_string())).await;
        Self { house, secret }
    }

    async fn send(&self, path: &str, authorization: Option<&str>, form: &str) -> Answer {
        let mut request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(value) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        self.house.send(request.body(form.to_owned().into()).unwrap()).await
    }

    async fn ask(&self, path: &str, token: &str) -> Answer {
        let form = format!("token={token}&token_type_hint=access_token");
        self.send(path, Some(&basic("shop", self.secret.as_str())), &form).await
    }
}

fn basic(name: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{secret}")))
}

#[tokio::test]
async fn a_valid_token_is_active_with_its_claims() {
    let asked = Asked::open().await;
    let ada = asked.house.register("Ada", "ada@example.com").await;
    let answer = asked.ask(INTROSPECT, &ada.token).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let mut told = answer.json();
    for id in ["sid", "jti"] {
        let id = told.as_object_mut().unwrap().remove(id).unwrap();
        assert_eq!(id.as_str().unwrap().len(), 36);
    }
    assert_eq!(
        told,
        json!({
            "active": true, "sub": ada.id, "iss": "doorward", "aud": "doorward", "token_type": "Bearer",
            "iat": 1_800_000_000, "exp": 1_800_086_400,
        })
    );
}

#[tokio::test]
async fn anything_but_a_valid_token_is_inactive() {
    let asked = Asked::open().await;
    let house = &asked.house;
    let refreshed = house.register("Ada", "ada@example.com").await.token;
    house.ask_as(&refreshed, "POST", "/api/auth/refresh", json!(null)).await;
    let ended = house.register("Bob", "bob@example.com").await.token;
    house.ask_as(&ended, "POST", "/api/auth/logout", json!(null)).await;
    let disabled = house.register("Eve", "eve@example.com").await.token;
    let command = Command::DisableUser(UserRef("eve@example.com".into()));
    assert!(matches!(house.command(command).await, Reply::Done));
    let good = house.register("Miles Davis", "miles@example.com").await.token;
    let forged = format!("{}x", &good[..good.len() - 1]);
    for token in [&refreshed, &ended, &disabled, &forged, "x", "..", &"x".repeat(10_000)] {
        assert_eq!(asked.ask(INTROSPECT, token).await.told(), INACTIVE, "{token}");
    }
    assert_eq!(asked.ask(INTROSPECT, &good).await.json()["active"], true);
    house.let_pass(Duration::from_secs(24 * 60 * 60));
    assert_eq!(asked.ask(INTROSPECT, &good).await.told(), INACTIVE);
}

#[tokio::test]
async fn a_revoked_token_ends_with_its_session_at_once() {
    let asked = Asked::open().await;
    let ada = asked.house.register("Ada", "ada@example.com").await;
    let other = asked.house.token_of("ada@example.com", "correct horse").await;
    for token in [&ada.token, &other] {
        assert_eq!(asked.house.guard("guard", token).await.status, 200);
    }
    assert_eq!(asked.ask(REVOKE, &ada.token).await.told(), REVOKED);
    assert_eq!(asked.house.guard("guard", &ada.token).await.status, 401);
    let told = everything(&asked.house).await;
    assert_eq!(told["revoked"], json!([part(&ada.token, 1)["jti"]]));
    assert_eq!(asked.ask(INTROSPECT, &ada.token).await.told(), INACTIVE);
    assert_eq!(asked.house.guard("guard", &other).await.status, 200, "another session");
    for unknown in [&*ada.token, "x"] {
        assert_eq!(asked.ask(REVOKE, unknown).await.told(), REVOKED, "there is nothing to end");
    }
}

#[tokio::test]
async fn only_a_client_that_knows_its_secret_is_answered() {
    let asked = Asked::open().await;
    let token = asked.house.register("Ada", "ada@example.com").await.token;
    let secret = asked.secret.as_str();
    let body = UNAUTHORIZED.replace('}', r#","error":"invalid_client"}"#);
    for path in [INTROSPECT, REVOKE] {
        for authorization in [
            None,
            Some(basic("shop", "")),
            Some(basic("shop", &secret[1..])),
            Some(basic("Shop", secret)),
            Some(basic("", "")),
            Some(format!("Bearer {token}")),
            Some("Basic !".into()),
        ] {
            // The answer does not depend on the form.
            for form in [format!("token={token}"), String::new()] {
                let answer = asked.send(path, authorization.as_deref(), &form).await;
                assert_eq!(answer.told(), (401, &*body), "{authorization:?}");
                let challenge = answer.header("www-authenticate");
                assert_eq!(challenge, Some("Basic realm=\"doorward\""));
            }
        }
    }
    assert_eq!(asked.house.guard("guard", &token).await.status, 200, "nothing was ended");
}

#[tokio::test]
async fn wrong_secrets_of_one_address_are_throttled_and_a_right_one_never_is() {
    let asked = Asked::open().await;
    let token = asked.house.register("Ada", "ada@example.com").await.token;
    let right = basic("shop", asked.secret.as_str());
    let ask = async |address: [u8; 4], authorization: &str| {
        let request = Request::post(INTROSPECT)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::AUTHORIZATION, authorization)
            .extension(ConnectInfo(SocketAddr::from((address, 9))));
        asked.house.send(request.body(format!("token={token}").into()).unwrap()).await
    };
    let (one, other) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    for number in 0..600 {
        let wrong = basic("shop", &number.to_string());
        assert_eq!(ask(one, &wrong).await.status, 401, "{number}");
    }
    let throttled = loop {
        // A budget recovers by one per second.
        let answer = ask(one, &basic("shop", "x")).await;
        if answer.status != 401 {
            break answer;
        }
    };
    assert_eq!(throttled.status, 429);
    assert!(throttled.header(header::RETRY_AFTER).is_some());
    assert_eq!(ask(one, &right).await.json()["active"], true);
    assert_eq!(ask(other, &basic("shop", "x")).await.status, 401, "of another address");
    let unnamed = ask(one, "Basic").await;
    assert_eq!(unnamed.status, 401, "no secret is no wrong one");
}

#[tokio::test]
async fn without_configured_clients_every_request_is_refused() {
    let house = House::open().await;
    let asked = Asked { house, secret: ClientSecret::random() };
    for name in ["", "shop", "none"] {
        let answer = asked.send(INTROSPECT, Some(&basic(name, "")), "token=x").await;
        assert_eq!(answer.status, 401);
    }
}

#[tokio::test]
async fn a_request_names_one_token_in_a_form() {
    let asked = Asked::open().await;
    let authorization = basic("shop", asked.secret.as_str());
    let body = format!(r#"{{"message":"{MALFORMED}","error":"invalid_request"}}"#);
    for form in ["", "token=", "token=a&token=b", "tokens=a", r#"{"token":"a"}"#] {
        let answer = asked.send(INTROSPECT, Some(&authorization), form).await;
        assert_eq!(answer.told(), (400, &*body), "{form}");
    }
    let json = Request::post(INTROSPECT)
        .header(header::AUTHORIZATION, &authorization)
        .header(header::CONTENT_TYPE, "application/json");
    let answer = asked.house.send(json.body("token=a".into()).unwrap()).await;
    assert_eq!(answer.told(), (400, &*body));
    let in_the_query = asked.send("/oauth/introspect?token=a", Some(&authorization), "").await;
    assert_eq!(in_the_query.status, 400);
    assert_eq!(asked.house.get(INTROSPECT).await.status, 405);
}
