//! The OpenAPI document matches the service: every operation, status and member.

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use doorward::internals::routes::{ROUTES, SEGMENT};
use serde_json::{Value, json};

use crate::support::House;

/// The operations of the document: path, method and description.
async fn operations(house: &House) -> Vec<(String, String, Value)> {
    let document = house.get("/openapi.json").await.json();
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
async fn every_operation_answers_as_documented_whoever_asks() {
    let house = House::open().await;
    let operations = operations(&house).await;
    assert!(operations.len() > 20);
    for (path, method, operation) in &operations {
        let token =
            house.register("Ada", &format!("{}@example.com", uuid::Uuid::new_v4())).await.token;
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
                let answer = house.send(request.body(Body::from(body)).unwrap()).await;
                let status = answer.status;
                assert!(documented(operation, status), "{method} {path} with {body}: {status}");
                assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn the_answers_of_success_have_the_documented_members() {
    let house = House::open().await;
    let document = house.get("/openapi.json").await.json();
    let ada = house.register("Ada", "ada@example.com").await;
    let as_ada = async |path: &str| house.ask_as(&ada.token, "GET", path, Value::Null).await.json();
    let export = as_ada("/api/me/export").await;
    let answers = [
        ("Me", as_ada("/api/me").await),
        ("Session", as_ada("/api/sessions").await[0].clone()),
        ("Session", export["sessions"][0].clone()),
        ("Export", export),
        ("Profile", as_ada(&format!("/api/user/{}", ada.id)).await),
        ("Error", house.get("/nowhere").await.json()),
        ("FieldErrors", house.post("/api/user", &json!({})).await.json()),
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
    let document = House::open().await.get("/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "http://127.0.0.1:3000"}]));
    let house = House::open_with(|s| s.with_public_url("https://auth.example.com/")).await;
    let document = house.get("/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "https://auth.example.com"}]));
}

#[tokio::test]
async fn the_document_has_exactly_the_routes_of_the_service() {
    let house = House::open().await;
    let segment = house.doorward.settings().designated_segment();
    let mut routes: Vec<_> = ROUTES
        .iter()
        .map(|route| (route.path.replace(SEGMENT, segment), route.method.as_str().to_owned()))
        .collect();
    let operations = operations(&house).await;
    let mut documented: Vec<_> =
        operations.into_iter().map(|(path, method, _)| (path, method)).collect();
    routes.sort();
    documented.sort();
    assert_eq!(documented, routes);
}
