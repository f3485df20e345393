//! The OpenAPI document matches the service: every operation, status and member.

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use doorward::{
    Settings,
    internals::http::{paths::SEGMENT, routes::routes},
};
use serde_json::{Value, json};

use crate::support::{TestServer, with_mail};

/// The operations of the document: path, method and description.
async fn operations(server: &TestServer) -> Vec<(String, String, Value)> {
    let document = server.get("/openapi.json").await.json();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            // Parameters of every method stand beside the methods.
            if method == "parameters" {
                continue;
            }
            operations.push((path.clone(), method.to_uppercase(), operation.clone()));
        }
    }
    operations
}

fn documented(operation: &Value, status: StatusCode) -> bool {
    operation["responses"].get(status.as_str()).is_some()
}

/// A path with values for its parameters.
fn filled_in(path: &str) -> String {
    let known = path.replace("{id}", "5089354e-80af-4353-8ef8-5cc431a60c77");
    known.replace('{', "nobody-has-").replace('}', "")
}

#[tokio::test]
async fn every_operation_answers_every_caller_as_documented() {
    let server = TestServer::open().await;
    let operations = operations(&server).await;
    assert!(operations.len() > 20);
    for (path, method, operation) in &operations {
        let token =
            server.register("Ada", &format!("{}@example.com", uuid::Uuid::new_v4())).await.token;
        // A new one for each, because some of these end the session.
        let admin = server.register("Ada", &format!("{}@example.com", uuid::Uuid::new_v4())).await;
        server.doorward.grant_role(admin.id.parse().unwrap(), "admin").await.unwrap();
        let authorizations = [
            None,
            Some(format!("Bearer {token}")),
            Some(format!("Bearer {}", admin.token)),
            Some("Bearer nonsense".into()),
        ];
        for authorization in authorizations {
            for body in [
                "",
                "{}",
                "nonsense",
                r#"{"name": 5, "email": "a@b.co", "password": "x", "new": "y"}"#,
            ] {
                let mut request = Request::builder().method(method.as_str()).uri(filled_in(path));
                request = request.header(header::CONTENT_TYPE, "application/json");
                if let Some(authorization) = &authorization {
                    request = request.header(header::AUTHORIZATION, authorization);
                }
                let answer = server.send(request.body(Body::from(body)).unwrap()).await;
                let status = answer.status;
                assert!(documented(operation, status), "{method} {path} with {body}: {status}");
                assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            }
        }
        if path.starts_with("/api/admin/") {
            let status = server.operator(method, &filled_in(path), json!({})).await.status;
            assert!(documented(operation, status), "{method} {path} as the operator: {status}");
        }
    }
}

#[tokio::test]
async fn every_operation_that_changes_something_refuses_other_sites_as_documented() {
    let server = TestServer::open().await;
    let operations = operations(&server).await;
    let is_unsafe = |(_, method, operation): &&(String, String, Value)| {
        method != "GET" && operation["tags"] != json!(["Guards"])
    };
    let operations: Vec<_> = operations.iter().filter(is_unsafe).collect();
    assert!(operations.len() > 15);
    for (path, method, operation) in operations {
        let request = Request::builder().method(method.as_str()).uri(filled_in(path));
        let request = request.header("sec-fetch-site", "cross-site").body(Body::from("{}"));
        let answer = server.send(request.unwrap()).await;
        assert_eq!(answer.status, 403, "{method} {path}");
        assert!(documented(operation, answer.status), "{method} {path}");
    }
}

#[tokio::test]
async fn the_answers_of_success_have_the_documented_members() {
    let server = TestServer::open_with(with_mail).await;
    let document = server.get("/openapi.json").await.json();
    let ada = server.register("Ada", "ada@example.com").await;
    let pending = json!({"email": "ada@new.example", "password": "correct horse"});
    let changed = server.request_as(&ada.token, "PATCH", "/api/me", pending).await;
    assert_eq!(changed.status, StatusCode::OK);
    let as_ada =
        async |path: &str| server.request_as(&ada.token, "GET", path, Value::Null).await.json();
    let export = as_ada("/api/me/export").await;
    let path = format!("/api/admin/users/{}/export", ada.id);
    let by_operator = server.operator("GET", &path, Value::Null).await.json();
    let answers = [
        ("Me", as_ada("/api/me").await),
        ("Session", as_ada("/api/sessions").await[0].clone()),
        ("Session", export["sessions"][0].clone()),
        ("Export", export),
        ("PersonExport", by_operator),
        ("Profile", as_ada(&format!("/api/user/{}", ada.id)).await),
        ("Message", server.get("/nowhere").await.json()),
        ("FieldErrors", server.post("/api/user", &json!({})).await.json()),
    ];
    for (schema, answer) in answers {
        let members = |value: &Value| Vec::from_iter(value.as_object().unwrap().keys().cloned());
        let properties = &document["components"]["schemas"][schema]["properties"];
        assert_eq!(members(&answer), members(properties), "{schema}");
    }
}

/// With `DOORWARD_WRITE_OPENAPI=1` it writes the file.
#[expect(clippy::disallowed_methods, reason = "the environment says whether to write the file")]
#[tokio::test]
async fn the_committed_document_is_that_of_a_service_with_default_settings() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    let document = TestServer::open().await.get("/openapi.json").await.body;
    if std::env::var_os("DOORWARD_WRITE_OPENAPI").is_some() {
        std::fs::write(path, &document).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    let differs = document.lines().zip(committed.lines()).find(|(made, kept)| made != kept);
    assert!(document == committed, "{differs:?}: CONTRIBUTING.md says how to write it anew");
}

#[tokio::test]
async fn every_component_of_the_document_is_used() {
    let answer = TestServer::open().await.get("/openapi.json").await;
    let document = answer.json();
    for kind in ["parameters", "headers", "schemas", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let reference = format!("\"#/components/{kind}/{name}\"");
            assert!(answer.body.contains(&reference), "{reference}");
        }
    }
}

#[tokio::test]
async fn the_document_has_the_settings_of_the_service() {
    let document = TestServer::open().await.get("/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "http://localhost:3000"}]));
    let password = &document["components"]["schemas"]["NewPassword"];
    assert_eq!((&password["minLength"], &password["maxLength"]), (&json!(8), &json!(128)));

    let set = |settings: Settings| {
        let settings = settings.with("public_url", "https://auth.example.com/");
        let settings = settings.with("password.min_length", "12").with("password.max_length", "64");
        settings.with("designated.name", "Billie \"Lady\" Day").with("designated.segment", "lady")
    };
    let server = TestServer::open_with(set).await;
    let document = server.get("/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "https://auth.example.com"}]));
    let password = &document["components"]["schemas"]["NewPassword"];
    assert_eq!((&password["minLength"], &password["maxLength"]), (&json!(12), &json!(64)));
    assert!(document["paths"].get("/api/auth/miles").is_none());
    assert!(document["paths"].get("/api/auth/lady").is_some());
    let greeting = &document["components"]["responses"]["Designated"]["content"];
    let greeting = &greeting["application/json"]["schema"]["const"];
    assert_eq!(greeting, "You are Billie \"Lady\" Day.");
}

#[tokio::test]
async fn the_document_has_exactly_the_routes_of_the_service() {
    let server = TestServer::open().await;
    let segment = server.doorward.settings().designated_segment();
    // OpenAPI cannot say "any other method". `HEAD` belongs to `GET`.
    let every_method = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE"];
    let mut routes: Vec<_> = routes()
        .into_iter()
        // Pages are for people.
        .filter(|route| !route.is_page())
        .flat_map(|route| {
            let methods = match route.is_guard() {
                true => every_method.to_vec(),
                false => vec![route.method.as_str()],
            };
            let path = route.path.replace(SEGMENT, segment);
            methods.into_iter().map(move |method| (path.clone(), method.to_owned()))
        })
        .collect();
    let operations = operations(&server).await;
    let mut documented: Vec<_> =
        operations.into_iter().map(|(path, method, _)| (path, method)).collect();
    routes.sort();
    documented.sort();
    assert_eq!(documented, routes);
}
