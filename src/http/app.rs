//! What a server serves: Doorward's own service, or any router.

use std::{net::SocketAddr, pin::Pin};

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    response::Response,
};
use futures_util::FutureExt;
use tower_service::Service;

/// What a server serves. The server knows it only as `dyn App`, so that hyper is compiled once.
pub trait App: Send + Sync + 'static {
    /// Answers a request from this peer.
    fn answer(&self, request: Request, peer: SocketAddr) -> ResponseFuture;
}

/// A response in progress.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

impl App for Router {
    fn answer(&self, mut request: Request, peer: SocketAddr) -> ResponseFuture {
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = self.clone().call(request);
        Box::pin(answer.map(|Ok(response)| response))
    }
}
