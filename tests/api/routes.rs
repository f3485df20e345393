//! The table of routes: who may call each, reserved guard names, and the same answers in the server and in an app that
//! embeds the service.

use std::{net::SocketAddr, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::ConnectInfo,
    http::{Request, header},
};
use doorward::{
    Settings,
    internals::{
        access::{guard::RESERVED_NAMES, scope::Scope},
        http::{
            paths::{GUARD_PREFIX, SEGMENT},
            routes::{MayCall, routes},
        },
    },
};
use serde_json::json;
use tower::ServiceExt;

use crate::support::{Answer, NOT_FOUND, REFUSED, TestServer};

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
            // The app answers other paths with its own body. A challenge for a passkey is random.
            let is_random = path == "/api/auth/login/passkey" && method == "POST";
            if path.starts_with(GUARD_PREFIX) && path != GUARD_PREFIX && !is_random {
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

/// An operation for administrators.
struct Operation {
    method: &'static str,
    /// With values for its parameters.
    path: String,
    may_call: MayCall,
}

fn admin_operations() -> Vec<Operation> {
    let operations = routes().into_iter().filter(|route| {
        !route.is_page()
            && matches!(route.may_call, MayCall::Admin(_) | MayCall::Fresh(_) | MayCall::Operator)
    });
    let operations: Vec<_> = operations
        .map(|route| Operation {
            method: route.method.as_str(),
            path: route.path.replace('{', "a").replace('}', "z"),
            may_call: route.may_call,
        })
        .collect();
    assert!(operations.len() >= 18);
    operations
}

/// A role for each scope, which has that scope alone, and has its name.
fn with_narrowed_admins(settings: Settings) -> Settings {
    let role = |scope: &Scope| format!("[admin.\"{scope}\"]\nscopes = [\"{scope}\"]\n");
    settings.with_toml(&Scope::ALL.iter().map(role).collect::<String>())
}

/// The token of a new user with a role.
async fn token_with_role(server: &TestServer, role: &str) -> String {
    let email = format!("{}@example.com", uuid::Uuid::new_v4());
    let member = server.register("Ada", &email).await;
    server.doorward.grant_role(member.id.parse().unwrap(), role).await.unwrap();
    member.token
}

async fn call(server: &TestServer, operation: &Operation, token: &str) -> Answer {
    server.request_as(token, operation.method, &operation.path, json!({})).await
}

#[tokio::test]
async fn an_admin_operation_refuses_everybody_without_its_scope() {
    let server = TestServer::open_with(with_narrowed_admins).await;
    let user = server.register("Ada", "ada@example.com").await.token;
    let mut narrowed = Vec::new();
    for scope in Scope::ALL {
        narrowed.push((*scope, token_with_role(&server, scope.name()).await));
    }
    let admin = token_with_role(&server, "admin").await;
    for operation in admin_operations() {
        let Operation { method, path, may_call } = &operation;
        let nobody = server.request(method.parse().unwrap(), path, &[]).await;
        let user = call(&server, &operation, &user).await;
        match may_call {
            MayCall::Admin(needed) | MayCall::Fresh(needed) => {
                assert_eq!(nobody.status_and_body(), REFUSED, "{method} {path}");
                assert_eq!(user.status_and_body(), REFUSED, "{method} {path}");
                for (scope, token) in narrowed.iter().filter(|(scope, _)| scope != needed) {
                    let answer = call(&server, &operation, token).await;
                    assert_eq!(answer.status_and_body(), REFUSED, "{method} {path} with {scope}");
                    let challenge = answer.header(header::WWW_AUTHENTICATE).unwrap();
                    assert!(challenge.ends_with("insufficient_scope\""), "{challenge}");
                }
            }
            _ => {
                // As if there were no such route.
                for answer in [nobody, user, call(&server, &operation, &admin).await] {
                    assert_eq!(answer.status_and_body(), (404, NOT_FOUND), "{method} {path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_admin_operation_admits_everybody_with_its_scope() {
    let long = Duration::from_secs(11 * 60);
    for operation in admin_operations() {
        let Operation { method, path, may_call } = &operation;
        // A new one for each, because one of them ends all sessions.
        let server = TestServer::open_with(with_narrowed_admins).await;
        let scope = match may_call {
            MayCall::Admin(scope) | MayCall::Fresh(scope) => scope,
            _ => {
                let operator = server.operator(method, path, json!({})).await.status;
                assert!(operator != 404 && operator != 401, "{method} {path}: {operator}");
                continue;
            }
        };
        let narrowed = token_with_role(&server, scope.name()).await;
        let admin = token_with_role(&server, "admin").await;
        let stale = [&narrowed, &admin];
        server.let_pass(long);
        for token in stale {
            let answer = call(&server, &operation, token).await;
            let is_refused = answer.header(header::WWW_AUTHENTICATE).is_some_and(|challenge| {
                challenge.ends_with("error=\"insufficient_user_authentication\"")
            });
            let needs_fresh = matches!(may_call, MayCall::Fresh(_));
            assert_eq!(is_refused, needs_fresh, "{method} {path}: {}", answer.body);
            assert_eq!(answer.status == 401, needs_fresh, "{method} {path}: {}", answer.body);
        }
        for role in [scope.name(), "admin"] {
            let token = token_with_role(&server, role).await;
            let answer = call(&server, &operation, &token).await;
            assert_ne!(answer.status, 401, "{method} {path} as {role}: {}", answer.body);
        }
        let operator = server.operator(method, path, json!({})).await.status;
        assert_ne!(operator, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn the_condition_of_a_role_narrows_when_and_where_it_administers() {
    let file = r#"
        [admin.support]
        scopes = ["status:read", "guards:read"]
        allow = 'request.address.inNetwork("10.0.0.0/8") && session.strength >= 1'
        [admin.admin]
        scopes = ["guards:read"]
    "#;
    let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
    let support = token_with_role(&server, "support").await;
    let admin = token_with_role(&server, "admin").await;
    let status = async |token: &str, path: &str, from: [u8; 4]| {
        let peer = ConnectInfo(SocketAddr::from((from, 9)));
        let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
        server.send(request.extension(peer).body(Body::empty()).unwrap()).await.status
    };
    let (office, elsewhere) = ([10, 1, 2, 3], [192, 0, 2, 7]);
    for path in ["/api/admin/status", "/api/admin/guards"] {
        assert_eq!(status(&support, path, office).await, 200, "{path}");
        assert_eq!(status(&support, path, elsewhere).await, 401, "{path}");
    }
    assert_eq!(status(&support, "/api/admin/mail", office).await, 401);
    // A declared admin has what is declared.
    assert_eq!(status(&admin, "/api/admin/guards", elsewhere).await, 200);
    assert_eq!(status(&admin, "/api/admin/status", elsewhere).await, 401);
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
            MayCall::Client | MayCall::Admin(_) | MayCall::Fresh(_) => {
                assert_eq!(anonymous, 401, "{method} {path}");
                assert_eq!(signed_in, 401, "{method} {path}");
            }
            MayCall::Operator => {
                assert_eq!(anonymous, 404, "{method} {path}");
                assert_eq!(signed_in, 404, "{method} {path}");
            }
        }
    }
}
