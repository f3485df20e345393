use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::{House, NOT_FOUND};

#[tokio::test]
async fn anybody_can_look_up_a_name_by_id() {
    let house = House::open().await;
    let member = house
        .register_with(json!({"name": " Ada \"λ\" Lovelace ", "email": "ada@example.com"}))
        .await;
    let answer = house.get(&format!("/api/user/{}?token=x", member.id)).await;
    let expected = format!(r#"{{"id":"{}","name":"Ada \"λ\" Lovelace"}}"#, member.id);
    assert_eq!(answer.told(), (200, &*expected));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let head = house.ask(Method::HEAD, &format!("/api/user/{}", member.id), &[]).await;
    assert_eq!((head.status, &*head.body), (StatusCode::OK, ""));
}

#[tokio::test]
async fn an_unknown_id_and_no_id_at_all_get_the_same_answer() {
    let house = House::open().await;
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
        let answer = house.get(&format!("/api/user/{}", id.replace([' ', '{', '}'], "%20"))).await;
        assert_eq!(answer.told(), (404, NOT_FOUND), "{id}");
    }
}
