//! Introspection and revocation of tokens by other programs.

use std::{net::SocketAddr, time::Duration};

use axum::{
    extract::ConnectInfo,
    http::{Request, header},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use doorward::{
    Settings,
    internals::credential::oauth_client::{ClientSecret, OAuthClient},
};
use serde_json::{Value, json};

use crate::{
    factors::Person,
    revocations::{everything, part},
    sessions::refresh,
    support::{Answer, MALFORMED, TestServer, UNAUTHORIZED},
};

const INTROSPECT: &str = "/oauth/introspect";
const REVOKE: &str = "/oauth/revoke";
const INACTIVE: (u16, &str) = (200, r#"{"active":false}"#);
const REVOKED: (u16, &str) = (200, "{}");

/// A service with one OAuth client.
struct WithClient {
    server: TestServer,
    secret: ClientSecret,
}

impl WithClient {
    async fn open() -> Self {
        let secret = ClientSecret::random();
        let shop = OAuthClient::new("shop", &secret).unwrap();
        let server = TestServer::open_with(|s| s.with("clients", shop.to_string())).await;
        Self { server, secret }
    }

    async fn send(&self, path: &str, authorization: Option<&str>, form: &str) -> Answer {
        let mut request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(value) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        self.server.send(request.body(form.to_owned().into()).unwrap()).await
    }

    async fn request(&self, path: &str, token: &str) -> Answer {
        let form = format!("token={token}&token_type_hint=access_token");
        self.send(path, Some(&basic("shop", self.secret.as_str())), &form).await
    }
}

fn basic(name: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{secret}")))
}

#[tokio::test]
async fn a_token_that_opens_only_the_own_account_is_active_for_nobody_else() {
    let secret = ClientSecret::random();
    let shop = OAuthClient::new("shop", &secret).unwrap();
    let required =
        |s: Settings| s.with("clients", shop.to_string()).with("sign_in.factors", "required");
    let service = WithClient { server: TestServer::open_with(required).await, secret };
    let mut ada = Person::of(service.server.register("Ada", "ada@example.com").await);
    let me = service.server.request_as(&ada.token, "GET", "/api/me", Value::Null).await;
    assert_eq!(me.status, 200, "{}", me.body);
    assert_eq!(audience(&ada.token), "doorward/account");
    assert_eq!(service.request(INTROSPECT, &ada.token).await.status_and_body(), INACTIVE);
    ada.token = refresh(&service.server, &ada.token).await.unwrap();
    assert_eq!(audience(&ada.token), "doorward/account");

    ada.add_totp(&service.server).await;
    assert_eq!(audience(&ada.token), "doorward");
    let active = service.request(INTROSPECT, &ada.token).await.json();
    assert_eq!((&active["active"], &active["aud"]), (&json!(true), &json!("doorward")));

    // The last factor is gone, and so is what it opened.
    let path = "/api/me/factors/totp";
    let removed = service.server.request_as(&ada.token, "DELETE", path, Value::Null).await;
    assert_eq!(removed.status, 204, "{}", removed.body);
    assert_eq!(service.request(INTROSPECT, &ada.token).await.status_and_body(), INACTIVE);
    assert_eq!(service.server.guard("guard", &ada.token).await.status, 401);
}

/// The claim `aud` of a token.
fn audience(token: &str) -> String {
    let claims = token.split('.').nth(1).unwrap();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["aud"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_valid_token_is_active_with_its_claims() {
    let service = WithClient::open().await;
    let ada = service.server.register("Ada", "ada@example.com").await;
    let answer = service.request(INTROSPECT, &ada.token).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let mut introspected = answer.json();
    for id in ["sid", "jti"] {
        let id = introspected.as_object_mut().unwrap().remove(id).unwrap();
        assert_eq!(id.as_str().unwrap().len(), 36);
    }
    assert_eq!(
        introspected,
        json!({
            "active": true, "sub": ada.id, "iss": "doorward", "aud": "doorward", "token_type": "Bearer",
            "iat": 1_800_000_000, "exp": 1_800_086_400, "auth_time": 1_800_000_000, "amr": ["pwd"], "acr": "1",
        })
    );
}

#[tokio::test]
async fn anything_but_a_valid_token_is_inactive() {
    let service = WithClient::open().await;
    let server = &service.server;
    let refreshed = server.register("Ada", "ada@example.com").await.token;
    server.request_as(&refreshed, "POST", "/api/auth/refresh", json!(null)).await;
    let ended = server.register("Bob", "bob@example.com").await.token;
    server.request_as(&ended, "POST", "/api/auth/logout", json!(null)).await;
    let disabled = server.register("Eve", "eve@example.com").await.token;
    server.order("PATCH", "eve@example.com", "", json!({"disabled": true})).await;
    let good = server.register("Miles Davis", "miles@example.com").await.token;
    let forged = format!("{}x", &good[..good.len() - 1]);
    for token in [&refreshed, &ended, &disabled, &forged, "x", "..", &"x".repeat(10_000)] {
        assert_eq!(service.request(INTROSPECT, token).await.status_and_body(), INACTIVE, "{token}");
    }
    assert_eq!(service.request(INTROSPECT, &good).await.json()["active"], true);
    server.let_pass(Duration::from_secs(24 * 60 * 60));
    assert_eq!(service.request(INTROSPECT, &good).await.status_and_body(), INACTIVE);
}

#[tokio::test]
async fn a_revoked_token_ends_with_its_session_at_once() {
    let service = WithClient::open().await;
    let ada = service.server.register("Ada", "ada@example.com").await;
    let other = service.server.token_of("ada@example.com", "correct horse").await;
    for token in [&ada.token, &other] {
        assert_eq!(service.server.guard("guard", token).await.status, 200);
    }
    assert_eq!(service.request(REVOKE, &ada.token).await.status_and_body(), REVOKED);
    assert_eq!(service.server.guard("guard", &ada.token).await.status, 401);
    let feed = everything(&service.server).await;
    assert_eq!(feed["revoked"], json!([part(&ada.token, 1)["jti"]]));
    assert_eq!(service.request(INTROSPECT, &ada.token).await.status_and_body(), INACTIVE);
    assert_eq!(service.server.guard("guard", &other).await.status, 200, "another session");
    for unknown in [&*ada.token, "x"] {
        assert_eq!(
            service.request(REVOKE, unknown).await.status_and_body(),
            REVOKED,
            "there is no session to end"
        );
    }
}

#[tokio::test]
async fn revoking_an_expired_token_ends_the_session_in_which_it_could_be_refreshed() {
    let service = WithClient::open().await;
    let [ada, bob] = ["ada@example.com", "bob@example.com"];
    let revoked = service.server.register("Ada", ada).await.token;
    let other = service.server.register("Bob", bob).await.token;
    service.server.let_pass(Duration::from_secs(2 * 24 * 60 * 60));
    for token in [&revoked, &other] {
        assert_eq!(service.request(INTROSPECT, token).await.status_and_body(), INACTIVE);
    }
    assert_eq!(service.request(REVOKE, &revoked).await.status_and_body(), REVOKED);
    assert_eq!(refresh(&service.server, &revoked).await, None);
    assert!(refresh(&service.server, &other).await.is_some());
}

#[tokio::test]
async fn only_a_client_that_knows_its_secret_is_answered() {
    let service = WithClient::open().await;
    let token = service.server.register("Ada", "ada@example.com").await.token;
    let secret = service.secret.as_str();
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
                let answer = service.send(path, authorization.as_deref(), &form).await;
                assert_eq!(answer.status_and_body(), (401, &*body), "{authorization:?}");
                let challenge = answer.header("www-authenticate");
                assert_eq!(challenge, Some("Basic realm=\"doorward\""));
            }
        }
    }
    assert_eq!(service.server.guard("guard", &token).await.status, 200, "nothing was ended");
}

#[tokio::test]
async fn wrong_secrets_of_one_address_are_throttled_and_a_right_one_never_is() {
    let service = WithClient::open().await;
    let token = service.server.register("Ada", "ada@example.com").await.token;
    let right = basic("shop", service.secret.as_str());
    let ask = async |address: [u8; 4], authorization: &str| {
        let request = Request::post(INTROSPECT)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::AUTHORIZATION, authorization)
            .extension(ConnectInfo(SocketAddr::from((address, 9))));
        service.server.send(request.body(format!("token={token}").into()).unwrap()).await
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
    assert_eq!(unnamed.status, 401, "a missing secret is not a wrong one");
}

#[tokio::test]
async fn without_configured_clients_every_request_is_refused() {
    let server = TestServer::open().await;
    let service = WithClient { server, secret: ClientSecret::random() };
    for name in ["", "shop", "none"] {
        let answer = service.send(INTROSPECT, Some(&basic(name, "")), "token=x").await;
        assert_eq!(answer.status, 401);
    }
}

#[tokio::test]
async fn a_request_names_one_token_in_a_form() {
    let service = WithClient::open().await;
    let authorization = basic("shop", service.secret.as_str());
    let body = format!(r#"{{"message":"{MALFORMED}","error":"invalid_request"}}"#);
    for form in ["", "token=", "token=a&token=b", "tokens=a", r#"{"token":"a"}"#] {
        let answer = service.send(INTROSPECT, Some(&authorization), form).await;
        assert_eq!(answer.status_and_body(), (400, &*body), "{form}");
    }
    let json = Request::post(INTROSPECT)
        .header(header::AUTHORIZATION, &authorization)
        .header(header::CONTENT_TYPE, "application/json");
    let answer = service.server.send(json.body("token=a".into()).unwrap()).await;
    assert_eq!(answer.status_and_body(), (400, &*body));
    let in_the_query = service.send("/oauth/introspect?token=a", Some(&authorization), "").await;
    assert_eq!(in_the_query.status, 400);
    assert_eq!(service.server.get(INTROSPECT).await.status, 405);
}
