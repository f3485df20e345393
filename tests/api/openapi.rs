//! The OpenAPI document matches the service: every operation, status and member.

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use doorward::internals::routes::{ROUTES, SEGMENT, Target};
use serde_json::{Value, json};

use crate::support::{TestServer, with_mail};

/// The operations of the document: path, method and description.
async fn operations(server: &TestServer) -> Vec<(String, String, Value)> {
    let document = server.get("/openapi.json").await.json();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
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
    path.replace("{id}", "5089354e-80af-4353-8ef8-5cc431a60c77").replace("{guard}", "nobody-has-it")
}

#[tokio::test]
async fn every_operation_answers_every_caller_as_documented() {
    let server = TestServer::open().await;
    let operations = operations(&server).await;
    assert!(operations.len() > 20);
    for (path, method, operation) in &operations {
        let token =
            server.register("Ada", &format!("{}@example.com", uuid::Uuid::new_v4())).await.token;
        let authorizations =
            [None, Some(format!("Bearer {token}")), Some("Bearer nonsense".into())];
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
    let answers = [
        ("Me", as_ada("/api/me").await),
        ("Session", as_ada("/api/sessions").await[0].clone()),
        ("Session", export["sessions"][0].clone()),
        ("Export", export),
        ("Profile", as_ada(&format!("/api/user/{}", ada.id)).await),
        ("Error", server.get("/nowhere").await.json()),
        ("FieldErrors", server.post("/api/user", &json!({})).await.json()),
    ];
    for (schema, answer) in answers {
        let members = |value: &Value| -> Vec<String> {
            let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        let properties = &document["components"]["schemas"][schema]["properties"];
        assert_eq!(members(&answer), members(properties), "{schema}");
    }
}

#[tokio::test]
async fn the_document_names_the_public_url() {
    let document = TestServer::open().await.get("/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "http://127.0.0.1:3000"}]));
    let server = TestServer::open_with(|s| s.with_public_url("https://auth.example.com/")).await;
    let document = server.get("/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "https://auth.example.com"}]));
}

#[tokio::test]
async fn the_document_has_exactly_the_routes_of_the_service() {
    let server = TestServer::open().await;
    let segment = server.doorward.settings().designated_segment();
    let mut routes: Vec<_> = ROUTES
        .iter()
        // Pages are for people.
        .filter(|route| !matches!(route.target, Target::Page(_) | Target::ServerPage(_)))
        .map(|route| (route.path.replace(SEGMENT, segment), route.method.as_str().to_owned()))
        .collect();
    let operations = operations(&server).await;
    let mut documented: Vec<_> =
        operations.into_iter().map(|(path, method, _)| (path, method)).collect();
    routes.sort();
    documented.sort();
    assert_eq!(documented, routes);
}
