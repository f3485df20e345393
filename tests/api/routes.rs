//! The table of routes: who may call each, reserved guard names, and the same answers in the server and in an app that
//! embeds the service.

use std::net::SocketAddr;

use axum::{
    body::{Body, to_bytes},
    extract::ConnectInfo,
    http::{Request, header},
};
use doorward::internals::{
    access::guard::RESERVED_NAMES,
    http::{
        paths::{GUARD_PREFIX, SEGMENT},
        routes::{MayCall, routes},
    },
};
use serde_json::json;
use tower::ServiceExt;

use crate::support::TestServer;

#[tokio::test]
async fn the_server_and_an_embedding_app_answer_every_route_alike() {
    let file = "[guards.staff]\nallow = 'true'\n";
    let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
    let embedded = server.doorward.routes().merge(server.doorward.pages());
    let mut paths: Vec<_> = routes()
        .iter()
        .filter(|route| !route.is_only_in_server)
        .map(|route| route.path.replace(SEGMENT, "miles").replace("{guard}", "undeclared"))
        .collect();
    paths.extend(["/api/auth/staff".to_owned(), "/api/auth/".to_owned()]);
    for path in paths.iter().flat_map(|path| [path.clone(), format!("{path}/below")]) {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"] {
            let request = || {
                let peer = ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 9)));
                let request = Request::builder().method(method).uri(path.as_str()).extension(peer);
                request.body(Body::empty()).unwrap()
            };
            let of_server = server.send(request()).await;
            let of_app = embedded.clone().oneshot(request()).await.unwrap();
            assert_eq!(of_server.status, of_app.status(), "{method} {path}");
            assert_eq!(
                of_server.headers.get(header::ALLOW),
                of_app.headers().get(header::ALLOW),
                "{method} {path}"
            );
            // The app answers other paths with its own body.
            if path.starts_with(GUARD_PREFIX) && path != GUARD_PREFIX {
                let body = to_bytes(of_app.into_body(), usize::MAX).await.unwrap();
                assert_eq!(of_server.body.as_bytes(), body, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn no_guard_takes_the_name_of_a_route() {
    for name in RESERVED_NAMES {
        let declared = TestServer::settings_from(&format!("[guards.{name}]\nallow = 'true'\n"));
        assert!(declared.is_err(), "{name}");
        let designated =
            TestServer::settings_from(&format!("[designated]\nsegment = \"{name}\"\n"));
        assert!(designated.is_err(), "{name}");
    }
}

#[tokio::test]
async fn every_endpoint_answers_those_whom_the_table_names() {
    let server = TestServer::open().await;
    for (number, route) in routes().iter().enumerate() {
        if route.is_page() || route.is_guard() {
            continue;
        }
        let (method, path) = (route.method.as_str(), route.path.replace("{id}", "x"));
        let anonymous = server.request(method.parse().unwrap(), &path, &[]).await.status;
        // A new user for each, because some of these end the session.
        let member = server.register("Ada", &format!("ada-{number}@example.com")).await;
        // A step-up without the password is answered with a challenge.
        let body = json!({"email": "guest@example.com", "password": "correct horse"});
        let signed_in = server.request_as(&member.token, method, &path, body).await.status;
        match route.may_call {
            MayCall::Anyone => assert_ne!(anonymous, 401, "{method} {path}"),
            MayCall::SignedIn => {
                assert_eq!(anonymous, 401, "{method} {path}");
                assert_ne!(signed_in, 401, "{method} {path}");
            }
            MayCall::Inviter => {
                assert_eq!(anonymous, 401, "{method} {path}");
                // Nobody may, by default.
                assert_eq!(signed_in, 403, "{method} {path}");
            }
            MayCall::Admin(_) | MayCall::Fresh(_) => {
                assert_eq!(anonymous, 401, "{method} {path}");
                assert_eq!(signed_in, 401, "{method} {path}");
            }
            MayCall::Operator => {
                assert_eq!(anonymous, 404, "{method} {path}");
                assert_eq!(signed_in, 404, "{method} {path}");
            }
            MayCall::Client => {
                assert_eq!(anonymous, 401, "{method} {path}");
                assert_eq!(signed_in, 401, "{method} {path}");
            }
        }
    }
}
