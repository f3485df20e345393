//! Unknown fields are ignored, unless one looks like a misspelling of a missing field.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::support::{TestServer, malformed};

fn did_you_mean(field: &str) -> String {
    format!("Unrecognized key, did you mean {field}?")
}

#[tokio::test]
async fn a_misspelled_password_registers_nobody() {
    let server = TestServer::open().await;
    for key in ["passwrod", "passwd", "Password", "pass-word"] {
        let body = json!({"name": "Ada", "email": "ada@example.com", key: "correct horse"});
        let answer = server.post("/api/user", &body).await;
        let expected = malformed(&format!(r#"{{"{key}":"{}"}}"#, did_you_mean("password")));
        assert_eq!(answer.status_and_body(), (400, &*expected));
    }
    server.register("Ada", "ada@example.com").await;
}

#[tokio::test]
async fn all_faults_are_in_one_answer_and_a_missing_field_stays_required() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", "ada@example.com").await.token;
    let required = |field: &str| format!(r#""{field}":"Required""#);
    let meant = |key: &str, field: &str| format!(r#""{key}":"{}""#, did_you_mean(field));
    for (method, path, body, faults) in [
        (
            "POST",
            "/api/user",
            json!({"nmae": "Eve", "e-mail": "eve@example.com", "passwd": "x"}),
            vec![
                required("name"),
                required("email"),
                meant("e-mail", "email"),
                meant("nmae", "name"),
                meant("passwd", "password"),
            ],
        ),
        (
            "POST",
            "/api/auth/login",
            json!({"email": "ada@example.com", "pasword": "correct horse"}),
            vec![required("password"), meant("pasword", "password")],
        ),
        (
            "POST",
            "/api/auth/reset",
            json!({"Code": "x", "password": "short"}),
            vec![
                required("code"),
                r#""password":"String must contain at least 8 character(s)""#.into(),
                meant("Code", "code"),
            ],
        ),
        (
            "POST",
            "/api/me/password",
            json!({"curent": "correct horse", "new": "another horse"}),
            vec![required("current"), meant("curent", "current")],
        ),
        ("PATCH", "/api/me", json!({"nmae": "Eve"}), vec![meant("nmae", "name")]),
        ("PATCH", "/api/me", json!({"name": "Eve", "mail": "x"}), vec![meant("mail", "email")]),
        (
            "DELETE",
            "/api/me",
            json!({"passwrod": "correct horse"}),
            vec![required("password"), meant("passwrod", "password")],
        ),
    ] {
        let answer = server.request_as(&ada, method, path, body).await;
        let expected = malformed(&format!("{{{}}}", faults.join(",")));
        assert_eq!(answer.status_and_body(), (400, &*expected), "{method} {path}");
    }
    server.token_of("ada@example.com", "correct horse").await;
}

#[tokio::test]
async fn a_similar_field_beside_the_expected_one_is_ignored() {
    let server = TestServer::open().await;
    let body = json!({
        "name": "Ada", "email": "ada@example.com", "password": "correct horse",
        "password2": "correct horse", "Name": "x", "e-mail": 5, "username": "ada",
    });
    server.register_with(body).await;
    server.token_of("ada@example.com", "correct horse").await;
}

#[tokio::test]
async fn an_unknown_field_name_is_echoed_escaped_and_only_if_short() {
    let server = TestServer::open().await;
    let odd = "\"pass\u{7}word\"\\";
    let body = json!({"name": "Ada", "email": "ada@example.com", odd: "correct horse"});
    let answer = server.post("/api/user", &body).await;
    assert_eq!(answer.json()["error"], json!([{odd: did_you_mean("password")}]));

    // The letters alone would be a misspelling.
    let long = format!("password{}", "-".repeat(100));
    let body = json!({"name": "Ada", "email": "ada@example.com", long: "correct horse"});
    assert_eq!(server.post("/api/user", &body).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn the_number_of_compared_and_echoed_field_names_is_bounded() {
    let server = TestServer::open().await;
    let separators = |number: usize| {
        (0..10).map(move |bit| if number >> bit & 1 == 0 { '-' } else { '_' }).collect::<String>()
    };
    let mut body: Map<String, Value> =
        (0..98).map(|number| (format!("pass{}word", separators(number)), 1.into())).collect();
    body.insert("name".into(), "Ada".into());
    body.insert("email".into(), "ada@example.com".into());
    let answer = server.post("/api/user", &Value::Object(body)).await;
    assert_eq!(answer.json()["error"][0].as_object().unwrap().len(), 64);
}
