//! The table of routes: reserved guard names, and the same answers in the server and in an app that embeds the service.

use std::net::SocketAddr;

use axum::{
    body::{Body, to_bytes},
    extract::ConnectInfo,
    http::{Request, header},
};
use doorward::internals::routes::{GUARD_PREFIX, ROUTES, SEGMENT, Target, reserved_guard_names};
use tower::ServiceExt;

use crate::support::TestServer;

#[tokio::test]
async fn the_server_and_an_embedding_app_answer_every_route_alike() {
    let file = "[guards.staff]\nallow = 'true'\n";
    let server = TestServer::open_with(|settings| settings.with_toml(file)).await;
    let embedded = server.doorward.routes().merge(server.doorward.pages());
    let mut paths: Vec<_> = ROUTES
        .iter()
        .filter(|route| !matches!(route.target, Target::Server(_) | Target::ServerPage(_)))
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
    let names = reserved_guard_names();
    for route in ROUTES.iter().filter(|route| !route.path.contains('{')) {
        if let Some(path) = route.path.strip_prefix(GUARD_PREFIX) {
            let name = path.split('/').next().unwrap();
            assert!(names.contains(&name), "{name}");
        }
    }
    for name in names {
        let declared = TestServer::settings_from(&format!("[guards.{name}]\nallow = 'true'\n"));
        assert!(declared.is_err(), "{name}");
        let designated =
            TestServer::settings_from(&format!("[designated]\nsegment = \"{name}\"\n"));
        assert!(designated.is_err(), "{name}");
    }
}
