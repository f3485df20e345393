//! Connections: accepted, watched, limited, drained; no routes.

mod body;
mod watch;
mod wire;

use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode},
    response::Response,
};
use hyper::{
    body::{Body as _, Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tower_service::Service;

use self::{
    body::Watched,
    watch::{Connection, Connections, Phase, Seat},
    wire::Wire,
};

/// How much of everything a client gets.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at most. Beyond it, whoever has been silent longest is sent away.
    pub connections: usize,
    /// From the first byte of a request, or a connection's start, to the end of its head.
    pub head: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// For a client to take what is sent to it: so long without taking anything, or less than 1,000 bytes a second.
    pub write: Duration,
    /// For requests under way to finish when the server stops.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

/// Bytes of a request's head at most.
const HEAD_BYTES: usize = 16 << 10;
const HEADER_FIELDS: usize = 64;
/// What is held of a connection in each direction: hyper's own 400 KiB are memory for whoever asks and never reads.
const BUFFER_BYTES: usize = 32 << 10;

/// What hyper reads into at first.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// Answers requests: Doorward's own service, or any router.
pub trait App:
    Service<Request<Body>, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> App for S where
    S: Service<Request<Body>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Serves `app` on `listener` until `shutdown` resolves, and then until every request under way is answered or
/// their time is up.
pub async fn serve(
    listener: TcpListener,
    app: impl App,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let connections = Connections::new(limits);
    let mut http = http1::Builder::new();
    http.max_header_size(HEAD_BYTES)
        .max_headers(HEADER_FIELDS)
        .max_buf_size(BUFFER_BYTES)
        .half_close(true);
    tokio::select! {
        () = accept(&listener, &connections, &app, &http) => {}
        () = connections.watch() => {}
        () = shutdown => {}
    }
    // Whoever comes now is better told by the kernel than left waiting.
    drop(listener);
    connections.close_all();
    if timeout(limits.drain, connections.all_gone()).await.is_err() {
        tracing::warn!(left = connections.count(), "stopping with requests unanswered");
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Connections>,
    app: &impl App,
    http: &http1::Builder,
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let seat = connections.seat();
                tokio::spawn(attend(stream, peer, seat, app.clone(), http.clone()));
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                // Out of descriptors or memory: room comes only with time.
                tracing::error!(%error, "cannot accept connections");
                connections.make_room();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// One connection, from its first byte to its last.
async fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    seat: Seat,
    app: impl App,
    http: http1::Builder,
) {
    let _ = stream.set_nodelay(true);
    let wire = Wire::new(stream, seat.connection());
    let service = service_fn(|request: Request<Incoming>| {
        let connection = seat.connection();
        let mut app = app.clone();
        async move {
            let mut request = request.map(|body| watched(body, &connection));
            request.extensions_mut().insert(ConnectInfo(peer));
            let response = app.call(request).await;
            connection.enter(Phase::Idle);
            response
        }
    });
    let mut serving = http.serve_connection(TokioIo::new(wire), service);
    loop {
        tokio::select! {
            biased;
            // Whatever ends it (a reset, a malformed request, the end), the client has been told or is gone.
            _ = &mut serving => {
                if seat.connection().take_body() {
                    wipe(serving.into_parts().read_buf);
                }
                return;
            }
            () = seat.asked_to_leave() => {}
        }
        match seat.connection().phase() {
            // Whatever it was asked for, an answer that is being made is still sent.
            Phase::Answering => Pin::new(&mut serving).graceful_shutdown(),
            Phase::Body if seat.is_closing() => Pin::new(&mut serving).graceful_shutdown(),
            Phase::Head if !seat.is_closing() => {
                let wire = serving.into_parts().io.into_inner();
                tell_and_close(wire.into_stream(), StatusCode::REQUEST_TIMEOUT).await;
                return;
            }
            _ => return,
        }
    }
}

/// Overwrites a read buffer of hyper's: the last body in it may contain a password. One that somebody else holds or
/// that has grown stays as it is.
fn wipe(buffer: Bytes) {
    if let Ok(mut buffer) = buffer.try_into_mut()
        && buffer.try_reclaim(READ_BUFFER_BYTES)
    {
        buffer.resize(buffer.capacity(), 0);
    }
}

/// Most requests have no body, and nothing to watch.
fn watched(body: Incoming, connection: &Arc<Connection>) -> Body {
    if body.is_end_stream() {
        connection.enter(Phase::Answering);
        return Body::empty();
    }
    Body::new(Watched::new(body, Arc::clone(connection)))
}

async fn tell_and_close(mut stream: TcpStream, status: StatusCode) {
    // The client may be gone, or deaf: what does not fit into the socket at once is not sent.
    let _ = stream.try_write(&wire::closing_answer(status));
    let _ = stream.shutdown().await;
}
