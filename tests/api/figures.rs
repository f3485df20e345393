//! Two services in one process have separate figures.

use std::future;

use axum::{body::Body, http::Request};
use doorward::internals::http::{
    self,
    server::{self, Limits, Listeners},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
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

#[tokio::test]
async fn two_services_in_one_process_count_their_connections_separately() {
    let (asked, other) = (TestServer::open().await, TestServer::open().await);
    let mut addresses = Vec::new();
    for (service, connections) in [(&asked, 20), (&other, 30)] {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(socket.local_addr().unwrap());
        let listeners = Listeners::public(&service.doorward, vec![socket], None);
        let app = http::service(service.doorward.clone());
        let limits = Limits { connections, ..Limits::default() };
        tokio::spawn(server::serve(listeners, app, limits, future::pending()));
    }
    let mut client = TcpStream::connect(addresses[0]).await.unwrap();
    client.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    client.read_u8().await.unwrap();
    for (service, count, limit) in [(&asked, 1, 20), (&other, 0, 30)] {
        let metrics = metrics(service).await;
        for line in [
            format!("doorward_connections {count}"),
            format!("doorward_connections_accepted_total {count}"),
            format!("doorward_connections_limit {limit}"),
        ] {
            assert!(metrics.lines().any(|shown| shown == line), "{line}\n{metrics}");
        }
    }
}
