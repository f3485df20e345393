//! Password guessing from many networks, through a trusted proxy.

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use doorward::{Settings, internals::credential::password::Cost};
use serde_json::{Value, json};

use crate::support::{Answer, NOT_FOUND, TestServer};

const PASSWORD: &str = "correct horse";
const ADA: &str = "ada@example.com";

async fn open(change: impl FnOnce(Settings) -> Settings) -> TestServer {
    TestServer::open_with(|settings| {
        change(settings.with_cheap_passwords(Cost { memory_kib: 8, passes: 1 }))
    })
    .await
}

/// Logs in through a proxy that forwards this address.
async fn login_from(server: &TestServer, address: &str, email: &str, password: &str) -> Answer {
    let body = json!({"email": email, "password": password});
    send_from(server, address, "/api/auth/login", body).await
}

async fn send_from(server: &TestServer, address: &str, path: &str, body: Value) -> Answer {
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-forwarded-for", address);
    server.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn register_from(server: &TestServer, address: &str, email: &str) {
    let body = json!({"name": "Ada", "email": email, "password": PASSWORD});
    let answer = send_from(server, address, "/api/user", body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
}

/// Guesses from each network until it is refused. Returns the number of guesses that were checked.
async fn guesses(
    server: &TestServer,
    networks: impl Iterator<Item = String>,
    email: &str,
) -> usize {
    let mut made = 0;
    for network in networks {
        loop {
            let answer = login_from(server, &network, email, "wrong horse").await;
            match answer.status {
                StatusCode::NOT_FOUND => made += 1,
                StatusCode::TOO_MANY_REQUESTS => break,
                other => panic!("{other} from {network}"),
            }
        }
    }
    made
}

fn subnets(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("2001:db8:0:{number:x}::1"))
}

fn anywhere(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("198.51.{}.{}", number / 250, number % 250))
}

#[tokio::test]
async fn one_ipv6_subscriber_cannot_lock_an_owner_out() {
    let server = open(|settings| settings).await;
    server.register("Ada", ADA).await;
    assert_eq!(guesses(&server, subnets(300), ADA).await, 80);
    for owner in ["203.0.113.7", "2001:db8:1::7"] {
        let answer = login_from(&server, owner, ADA, PASSWORD).await;
        assert_eq!(answer.status, StatusCode::OK, "{owner}");
    }
}

#[tokio::test]
async fn a_known_network_is_never_locked_out_by_others() {
    let server = open(|settings| settings).await;
    register_from(&server, "203.0.113.7", ADA).await;
    let second_home = login_from(&server, "2001:db8:ffff::7", ADA, PASSWORD).await;
    assert_eq!(second_home.status, StatusCode::OK);
    for known in ["203.0.113.7", "2001:db8:ffff::8"] {
        assert_eq!(guesses(&server, anywhere(400), ADA).await, 100, "from all networks together");
        let elsewhere = login_from(&server, "203.0.113.8", ADA, PASSWORD).await;
        assert_eq!(elsewhere.status, StatusCode::TOO_MANY_REQUESTS);
        let wait: u64 = elsewhere.header("retry-after").unwrap().parse().unwrap();
        assert!((80_000..=24 * 60 * 60).contains(&wait), "{wait}");
        let wrong = login_from(&server, known, ADA, "wrong horse").await;
        assert_eq!(wrong.status_and_body(), (404, NOT_FOUND), "{known}");
        let right = login_from(&server, known, ADA, PASSWORD).await;
        assert_eq!(right.status, StatusCode::OK, "{known}");
        let elsewhere = login_from(&server, "203.0.113.8", ADA, "wrong horse").await;
        assert_eq!(elsewhere.status, StatusCode::NOT_FOUND, "a success refills the budget");
        assert_eq!(login_from(&server, known, ADA, PASSWORD).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_known_network_has_a_bounded_budget_too() {
    let server = open(|settings| settings).await;
    register_from(&server, "203.0.113.7", ADA).await;
    assert_eq!(guesses(&server, anywhere(400), ADA).await, 100);
    assert_eq!(guesses(&server, ["203.0.113.7".to_owned()].into_iter(), ADA).await, 20);
    let answer = login_from(&server, "203.0.113.7", ADA, PASSWORD).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn the_networks_that_are_kept_are_exported() {
    let server = open(|settings| settings).await;
    register_from(&server, "203.0.113.7", ADA).await;
    let answer = login_from(&server, "2001:db8::7", ADA, PASSWORD).await;
    let token = answer.json()["token"].as_str().unwrap().to_owned();
    let exported = server.request_as(&token, "GET", "/api/me/export", Value::Null).await.json();
    let noted = |address: &str| json!({"address": address, "notedAt": "2027-01-15T08:00:00.000Z"});
    assert_eq!(exported["knownNetworks"], json!([noted("2001:db8::"), noted("203.0.113.7")]));
}

#[tokio::test]
async fn a_spent_budget_does_not_tell_whether_an_account_exists() {
    let server = open(|settings| settings).await;
    register_from(&server, "203.0.113.7", ADA).await;
    let mut seen = Vec::new();
    for email in [ADA, "nobody@example.com"] {
        let made = guesses(&server, anywhere(10), email).await;
        let answer = login_from(&server, "192.0.2.1", email, PASSWORD).await;
        let mut names: Vec<_> = answer.headers.keys().map(ToString::to_string).collect();
        names.sort_unstable();
        seen.push((made, answer.status, answer.body, names));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_restart_does_not_refill_the_budget_of_an_account() {
    let server = open(|settings| settings).await;
    register_from(&server, "203.0.113.7", ADA).await;
    assert_eq!(guesses(&server, anywhere(5), ADA).await, 100);
    server.doorward.save_failures().await.unwrap();
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    assert_eq!(guesses(&server, anywhere(5), ADA).await, 0);
    let answer = login_from(&server, "203.0.113.7", ADA, PASSWORD).await;
    assert_eq!(answer.status, StatusCode::OK, "known networks are stored too");
    server.doorward.save_failures().await.unwrap();
    let server = TestServer::reopen(server.close(), |settings| settings).await;
    assert_eq!(guesses(&server, anywhere(5), ADA).await, 100, "the success is stored");
}

#[tokio::test]
async fn a_new_password_can_be_used_from_any_network() {
    let server = open(|settings| settings).await;
    server.register("Ada", ADA).await;
    assert_eq!(guesses(&server, anywhere(400), ADA).await, 100);
    server.order("POST", ADA, "/password", json!({"password": "another horse"})).await;
    let answer = login_from(&server, "203.0.113.8", ADA, "another horse").await;
    assert_eq!(answer.status, StatusCode::OK);
}

/// Registers until it is refused, from this machine with these headers.
async fn sign_ups(server: &TestServer, headers: &[(&str, &str)], most: usize) -> usize {
    for number in 0..most {
        let mut request = Request::post("/api/user");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body =
            json!({"name": "Ada", "email": format!("{}{number}@example.com", headers.len())});
        let answer = server.send(request.body(Body::from(body.to_string())).unwrap()).await;
        match answer.status {
            StatusCode::CREATED => {}
            StatusCode::TOO_MANY_REQUESTS => return number,
            other => panic!("{other}: {}", answer.body),
        }
    }
    most
}

#[tokio::test]
async fn loopback_is_exempt_only_if_nothing_was_forwarded() {
    let few = |settings: Settings| settings.with("throttle.network_sign_ups", 3);
    assert_eq!(sign_ups(&open(few).await, &[], 10).await, 10);
    for header in [
        ("x-forwarded-proto", "https"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-for", "nonsense"),
        ("x-real-ip", "203.0.113.7"),
        ("forwarded", "for=203.0.113.7"),
        ("via", "1.1 proxy"),
    ] {
        assert_eq!(sign_ups(&open(few).await, &[header], 10).await, 3, "{header:?}");
    }
}

#[tokio::test]
async fn loopback_is_not_exempt_where_there_is_a_public_url() {
    let server = open(|settings| {
        settings.with("throttle.network_sign_ups", 3).with("public_url", "https://auth.example.com")
    })
    .await;
    assert_eq!(sign_ups(&server, &[], 10).await, 3);
    assert_eq!(sign_ups(&server, &[("x-forwarded-for", "203.0.113.7")], 10).await, 3);
}
