use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::{NOT_FOUND, TestServer};

#[tokio::test]
async fn anybody_can_look_up_a_name_by_id() {
    let server = TestServer::open().await;
    let member = server
        .register_with(json!({"name": " Ada \"λ\" Lovelace ", "email": "ada@example.com"}))
        .await;
    let answer = server.get(&format!("/api/user/{}?token=x", member.id)).await;
    let expected = format!(r#"{{"id":"{}","name":"Ada \"λ\" Lovelace"}}"#, member.id);
    assert_eq!(answer.status_and_body(), (200, &*expected));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let head = server.request(Method::HEAD, &format!("/api/user/{}", member.id), &[]).await;
    assert_eq!((head.status, &*head.body), (StatusCode::OK, ""));
}

#[tokio::test]
async fn an_unknown_id_and_no_id_at_all_get_the_same_answer() {
    let server = TestServer::open().await;
    for id in [
        "00000000-0000-4000-8000-000000000000",
        "1",
        "x",
        "%00",
        "%zz",
        "%ff",
        "' OR 1=1 --",
        "..%2f..%2fetc%2fpasswd",
        "{00000000-0000-4000-8000-000000000000}",
    ] {
        let answer = server.get(&format!("/api/user/{}", id.replace([' ', '{', '}'], "%20"))).await;
        assert_eq!(answer.status_and_body(), (404, NOT_FOUND), "{id}");
    }
}
