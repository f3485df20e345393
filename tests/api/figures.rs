//! Two services in one process have separate figures.

use axum::{body::Body, http::Request};
use doorward::internals::http;
use tower::ServiceExt;

use crate::support::TestServer;

async fn metrics(server: &TestServer) -> String {
    let app = http::operations(server.doorward.clone(), None, false);
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let response = app.oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn two_services_in_one_process_count_their_requests_separately() {
    let (asked, other) = (TestServer::open().await, TestServer::open().await);
    asked.get("/api/user/unknown").await;
    let route = "http_route=\"/api/user/{id}\"";
    assert!(metrics(&asked).await.contains(route));
    assert!(!metrics(&other).await.contains(route));
}
