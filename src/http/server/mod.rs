//! The TCP server: accepts connections, limits and times them, and drains them on shutdown. It is independent of the routes.

mod body;
mod connections;
mod line_ends;
mod stream;
mod tls;

use std::{convert::Infallible, io, iter, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, Request, StatusCode, header::CONNECTION},
};
use futures_util::{FutureExt as _, future::join_all};
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    time::{Instant, sleep_until, timeout},
};

pub use self::tls::{Tls, expiry_in_file};
use self::{
    body::{AnswerBody, RequestBody},
    connections::{Connection, Connections, Phase, Slot},
    stream::{ConnectionStream, PacedStream, Transport},
};
use super::{app::App, read_buffer::wipe};
use crate::{Doorward, doorward::ConnectionCounts, supervisor::supervise};

/// The limits of a server and of each connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of connections. A new one replaces the one that has been silent longest.
    pub connections: usize,
    /// Time from the first byte of a request, or from the start of the connection, to the end of the head.
    pub head: Duration,
    /// Time between two requests.
    pub idle: Duration,
    /// Time that an answer may wait for the client to read. Each byte that the client reads adds a millisecond, up to
    /// this time.
    pub write: Duration,
    /// Time in which idle connections can send one more request when the server stops. Its answer says that it is the last one. It
    /// counts from the last answer. Meanwhile new connections are accepted, and have what is left of it for their request.
    pub grace: Duration,
    /// Time for running requests to finish after that.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write: Duration::from_secs(10),
            grace: Duration::from_secs(2),
            drain: Duration::from_secs(10),
        }
    }
}

const MAX_HEAD_BYTES: usize = 16 << 10;
const MAX_HEADER_FIELDS: usize = 64;
/// The buffer of a connection in each direction. hyper's default of 400 KiB would let clients that never read take too
/// much memory.
const MAX_BUFFER_BYTES: usize = 32 << 10;

/// Time at least for a handshake, and for the head of a request, that arrives while the server stops; how often the end of the
/// head, and a request that has arrived, are looked for.
const LAST_HEAD: Duration = Duration::from_secs(1);
const LAST_HEAD_CHECK: Duration = Duration::from_millis(20);

/// Time to tell a client with TLS that the connection ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// Where connections come from, with what they are encrypted, and where they are counted.
pub struct Listeners {
    sockets: Vec<TcpListener>,
    tls: Option<Tls>,
    counts: Arc<ConnectionCounts>,
}

impl Listeners {
    /// The public sockets of a service, for plain HTTP, or with TLS for HTTPS. The metrics of the service show their
    /// connections.
    pub fn public(doorward: &Doorward, sockets: Vec<TcpListener>, tls: Option<Tls>) -> Self {
        Self { sockets, tls, counts: Arc::clone(&doorward.counts().connections) }
    }
}

/// Plain HTTP. No metrics show the connections.
impl From<Vec<TcpListener>> for Listeners {
    fn from(sockets: Vec<TcpListener>) -> Self {
        Self { sockets, tls: None, counts: Arc::default() }
    }
}

/// How connections are served. There is no HTTP/2: behind a proxy it gains nothing, and each of its streams would be one
/// more answer that a client can leave unread.
struct Protocol {
    http: http1::Builder,
    tls: Option<Tls>,
}

impl Protocol {
    fn new(tls: Option<Tls>) -> Self {
        let mut http = http1::Builder::new();
        http.max_header_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADER_FIELDS)
            .max_buf_size(MAX_BUFFER_BYTES)
            .half_close(true);
        Self { http, tls }
    }
}

/// Serves `app` on these listeners until `shutdown` resolves. Then each connection ends with its next answer, which says so, or
/// when no request has come for [`Limits::grace`]. What has arrived by then is answered within [`Limits::drain`].
pub async fn serve(
    listeners: impl Into<Listeners>,
    app: impl App,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let Listeners { sockets, tls, counts } = listeners.into();
    let connections = Connections::new(limits, counts);
    let protocol = Arc::new(Protocol::new(tls));
    let app: Arc<dyn App> = Arc::new(app);
    let until_stopped = async {
        shutdown.await;
        connections.let_go().await;
    };
    let accepting = sockets
        .iter()
        .map(|socket| supervise("accept", || accept(socket, &connections, &app, &protocol)));
    let enforcing = supervise("connection timeouts", || connections.enforce_timeouts());
    tokio::select! {
        _ = join_all(accepting) => {}
        () = enforcing => {}
        () = until_stopped => {}
    }
    // Closes the sockets, so that the kernel refuses new clients at once instead of queueing them.
    for socket in sockets {
        for (stream, peer) in queued(socket) {
            let slot = connections.take_slot();
            let (app, protocol) = (Arc::clone(&app), Arc::clone(&protocol));
            tokio::spawn(serve_connection(stream, peer, slot, app, protocol));
        }
    }
    connections.close_all();
    if timeout(limits.drain, connections.all_closed()).await.is_err() {
        tracing::warn!(left = connections.count(), "stopping with unanswered requests");
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Connections>,
    app: &Arc<dyn App>,
    protocol: &Arc<Protocol>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let slot = connections.take_slot();
                tokio::spawn(serve_connection(
                    stream,
                    peer,
                    slot,
                    Arc::clone(app),
                    Arc::clone(protocol),
                ));
            }
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                // Out of descriptors or memory: connections must close first.
                tracing::error!(%error, "cannot accept connections");
                connections.evict_silent();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The connections that the kernel has accepted. Closing the socket would reset them.
fn queued(socket: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    /// More than the queue can have.
    const MAX: usize = 8192;
    // The runtime may not know of them yet, and would not ask.
    let Ok(socket) = socket.into_std() else { return Vec::new() };
    let accept = || {
        let (stream, peer) = socket.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, peer))
    };
    iter::from_fn(accept).take(MAX).collect()
}

fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Serves one connection to its end.
async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
    app: Arc<dyn App>,
    protocol: Arc<Protocol>,
) {
    let _ = stream.set_nodelay(true);
    let Some(tls) = &protocol.tls else {
        let stream = Transport::Plain(PacedStream::new(stream, slot.connection()));
        return serve_http1(stream, peer, slot, app, &protocol.http).await;
    };
    // In a box, because most of its memory is needed only until the handshake is done.
    let Some(stream) = Box::pin(tls.accept(stream, &slot)).await else { return };
    // The first request has as much time as the handshake.
    slot.connection().enter(Phase::Head);
    let stream = Transport::Tls(Box::new(stream));
    serve_http1(stream, peer, slot, app, &protocol.http).await;
}

async fn serve_http1(
    stream: Transport,
    peer: SocketAddr,
    slot: Slot,
    app: Arc<dyn App>,
    http: &http1::Builder,
) {
    let is_encrypted = stream.is_encrypted();
    let stream = ConnectionStream::new(stream, slot.connection());
    let service = service_fn(|request: Request<Incoming>| {
        let connection = slot.connection();
        connection.answer_begun();
        let answer = app.answer(request.map(|body| request_body(body, &connection)), peer);
        let slot = &slot;
        async move {
            let mut response = answer.await;
            // A request that is answered before its body has arrived is the last one: nobody knows where the next one begins.
            let is_last = connection.closes_after_answer() || connection.is_body_open();
            if is_last || slot.is_stopping() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| AnswerBody::new(body, connection)))
        }
    });
    let mut serving = http.serve_connection(TokioIo::new(stream), service);
    // While the server stops: since when a request arrives, and when to look again.
    let (mut arriving, mut look_at): (Option<Instant>, Option<Instant>) = (None, None);
    loop {
        tokio::select! {
            biased;
            // After success or an error, there is nothing left to send.
            _ = &mut serving => break,
            () = slot.close_requested() => {}
            () = sleep_until(look_at.unwrap_or_else(Instant::now)), if look_at.is_some() => {}
        }
        look_at = None;
        let connection = slot.connection();
        let phase = connection.phase();
        let is_last = slot.is_closed_by_stop();
        match phase {
            Phase::Head | Phase::Idle if is_last => {
                let left = match phase {
                    Phase::Idle => slot.time_for_last_request(),
                    _ => slot.time_for_head(),
                };
                if !left.is_zero() {
                    look_at = Some(Instant::now() + left);
                    continue;
                }
                if phase == Phase::Idle {
                    connection.look_for_unread();
                    if (&mut serving).now_or_never().is_some() {
                        break;
                    }
                    if connection.phase() == Phase::Idle && !connection.has_unread() {
                        Pin::new(&mut serving).graceful_shutdown();
                        continue;
                    }
                }
                // The client has sent its request before the connection could close, or may be about to.
                if arriving.get_or_insert_with(Instant::now).elapsed() > LAST_HEAD {
                    return;
                }
                look_at = Some(Instant::now() + LAST_HEAD_CHECK);
            }
            // hyper closes the connection when everything that belongs to a request in progress is read and written.
            _ if slot.is_shutting_down() => {
                arriving = None;
                Pin::new(&mut serving).graceful_shutdown();
            }
            // The answer says that the connection ends.
            _ if is_last => {}
            // The answer is still sent.
            Phase::Answering => Pin::new(&mut serving).graceful_shutdown(),
            Phase::Head if slot.connection().is_answer_open() => return,
            Phase::Head => {
                let stream = serving.into_parts().io.into_inner();
                answer_and_close(stream.into_inner(), StatusCode::REQUEST_TIMEOUT).await;
                return;
            }
            // Without this, a client with TLS could not tell the end from an attack.
            Phase::Idle if is_encrypted => {
                Pin::new(&mut serving).graceful_shutdown();
                let _ = timeout(FAREWELL, serving).await;
                return;
            }
            _ => return,
        }
    }
    if slot.connection().take_body_mark() {
        wipe(serving.into_parts().read_buf);
    }
}

/// The body for the handler. Most requests have none, and then there is no progress to report.
fn request_body(body: Incoming, connection: &Arc<Connection>) -> Body {
    if body.is_end_stream() {
        connection.enter(Phase::Answering);
        return Body::empty();
    }
    Body::new(RequestBody::new(body, Arc::clone(connection)))
}

async fn answer_and_close(stream: Transport, status: StatusCode) {
    let answer = stream::closing_answer(status);
    match stream {
        // Does not wait for a client that does not read: what does not fit into the socket's buffer is not sent.
        Transport::Plain(mut stream) => {
            let _ = stream.get_mut().try_write(&answer);
            let _ = stream.shutdown().await;
        }
        Transport::Tls(mut stream) => {
            let answering = async {
                stream.write_all(&answer).await?;
                stream.shutdown().await
            };
            let _ = timeout(FAREWELL, answering).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        body::Body,
        routing::{get, post},
    };
    use futures_util::StreamExt;
    use tokio::{io::AsyncReadExt, sync::oneshot};

    use super::*;
    use crate::supervisor::planted;

    const MALFORMED: &str = "GET / HTTP/9\r\n\r\n";

    /// Sends these bytes to an embedding app and returns everything that comes back.
    async fn exchange(requests: &str) -> String {
        const BODY_LIKE_AN_ANSWER: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        let streamed = async || {
            // The pause before each chunk makes hyper write it by itself.
            let chunks = futures_util::stream::iter([BODY_LIKE_AN_ANSWER; 2]).then(async |chunk| {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(chunk)
            });
            ([("content-length", "94")], Body::from_stream(chunks))
        };
        let app = Router::new()
            .route("/bad", get(async || StatusCode::BAD_REQUEST))
            .route("/forbidden", get(async || StatusCode::FORBIDDEN))
            .route("/length", post(async |body: String| body.len().to_string()))
            .route("/streamed", get(streamed));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(serve(vec![listener], app, Limits::default(), async {
            let _ = stopped.await;
        }));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(requests.as_bytes()).await.unwrap();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        drop(stop);
        server.await.unwrap();
        answers
    }

    #[tokio::test]
    async fn a_panic_while_accepting_or_timing_does_not_end_the_server() {
        for part in ["accept", "connection timeouts"] {
            planted::panic_in(part);
            let answers = exchange(&(get_request("/forbidden") + MALFORMED)).await;
            assert!(answers.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{part} {answers}");
            assert!(!planted::is_pending(), "{part}");
        }
    }

    fn get_request(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nhost: app.example\r\n\r\n")
    }

    /// The answers, without the date.
    fn split(answers: &str) -> Vec<String> {
        let lines = answers.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
        let without_date: String = lines.collect();
        without_date.split_inclusive("\r\n\r\n").map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn an_empty_error_of_an_embedding_app_is_sent_as_it_is() {
        for (path, status) in [
            ("/elsewhere", "404 Not Found"),
            ("/forbidden", "403 Forbidden"),
            ("/bad", "400 Bad Request"),
        ] {
            let requests = get_request(path) + MALFORMED;
            let answers = split(&exchange(&requests).await);
            assert_eq!(answers[0], format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"));
            assert!(answers[1].contains("content-type: application/json\r\n"), "{answers:?}");
        }
    }

    #[tokio::test]
    async fn a_body_that_looks_like_an_answer_of_hyper_is_sent_as_it_is() {
        let answers = split(&exchange(&(get_request("/streamed") + MALFORMED)).await);
        assert_eq!(answers[1], answers[2]);
        assert!(answers[1].starts_with("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n"));
        assert!(answers[3].contains("content-type: application/json\r\n"), "{answers:?}");
    }

    /// A proxy in front may read such a head in another way.
    #[tokio::test]
    async fn a_bare_line_feed_in_a_head_is_malformed() {
        for head in [
            "GET /forbidden HTTP/1.1\nhost: a\n\n",
            "GET /forbidden HTTP/1.1\r\nhost: a\n\r\n",
            "GET /forbidden HTTP/1.1\r\nhost: a\r\n\n",
            "GET /forbidden HTTP/1.1\r\na: b\nhost: c\r\n\r\n",
            "GET /forbidden\nHTTP/1.1\r\n\r\n",
            "\nGET /forbidden HTTP/1.1\r\nhost: a\r\n\r\n",
            "\r\n\r\nGET /forbidden HTTP/1.1\nhost: a\r\n\r\n",
        ] {
            let answers = split(&exchange(head).await);
            assert!(answers[0].starts_with("HTTP/1.1 400 Bad Request\r\n"), "{head:?} {answers:?}");
            assert!(answers[0].contains("content-type: application/json\r\n"), "{answers:?}");
            // The answer to a request before it is sent.
            let answers = split(&exchange(&(get_request("/forbidden") + head)).await);
            assert!(answers[0].starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answers:?}");
            assert!(!answers.iter().skip(1).any(|answer| answer.contains(" 403 ")), "{answers:?}");
        }
    }

    #[tokio::test]
    async fn a_body_may_have_bare_line_feeds() {
        let body = "{\n  \"a\": 1\n}\n";
        let length = body.len();
        let head = format!("POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
        let answers = exchange(&format!("{head}{body}")).await;
        assert!(answers.starts_with("HTTP/1.1 200 OK\r\n"), "{answers}");
        assert!(answers.contains("connection: close\r\n"), "{answers}");
        assert!(answers.ends_with(&format!("\r\n\r\n{length}")), "{answers}");
    }

    /// A server with a route that answers with what arrives, while it arrives, and the address.
    async fn echo_server(limits: Limits) -> (SocketAddr, oneshot::Sender<()>) {
        let echo = async |request: axum::extract::Request| {
            let begun = futures_util::stream::iter([Ok(axum::body::Bytes::from("begun\n"))]);
            Body::from_stream(begun.chain(request.into_body().into_data_stream()))
        };
        let app = Router::new()
            .route("/echo", post(echo))
            .route("/unread", post(async || "unread"))
            .route("/length", post(async |body: String| body.len().to_string()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(serve(vec![listener], app, limits, async {
            let _ = stopped.await;
        }));
        (address, stop)
    }

    /// Reads until this was read.
    async fn read_until(client: &mut TcpStream, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            assert_ne!(client.read_buf(&mut read).await.unwrap(), 0, "the connection has ended");
        }
        String::from_utf8(read).unwrap()
    }

    /// The content of chunks.
    fn unchunked(mut chunks: &str) -> String {
        let mut content = String::new();
        loop {
            let (length, rest) = chunks.split_once("\r\n").expect("a chunk has a length");
            let length = usize::from_str_radix(length, 16).expect("the length is a number");
            if length == 0 {
                assert_eq!(rest, "\r\n", "nothing follows the last chunk");
                return content;
            }
            content += &rest[..length];
            chunks = rest[length..].strip_prefix("\r\n").expect("a chunk has an end");
        }
    }

    const PARTS: [&str; 4] = ["a\nb\n\n", "\n", "{\n}\r\n\r\nGET / HTTP/1.1\n\n", "end"];

    #[tokio::test]
    async fn a_body_that_arrives_while_it_is_answered_is_not_changed() {
        let body: String = PARTS.concat();
        for is_chunked in [false, true] {
            let (address, _stop) = echo_server(Limits::default()).await;
            let mut client = TcpStream::connect(address).await.unwrap();
            let framing = match is_chunked {
                true => "transfer-encoding: chunked".to_owned(),
                false => format!("content-length: {}", body.len()),
            };
            let head = format!("POST /echo HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n");
            client.write_all(head.as_bytes()).await.unwrap();
            let begun = read_until(&mut client, "begun\n\r\n").await;
            assert!(begun.contains("connection: close\r\n"), "{begun}");
            let mut answer = begun.split_once("\r\n\r\n").unwrap().1.to_owned();
            for part in PARTS {
                let sent = match is_chunked {
                    true => format!("{:x}\r\n{part}\r\n", part.len()),
                    false => part.to_owned(),
                };
                client.write_all(sent.as_bytes()).await.unwrap();
                // So that each part arrives by itself.
                if part != "end" {
                    answer += &read_until(&mut client, &format!("{part}\r\n")).await;
                }
            }
            if is_chunked {
                client.write_all(b"0\r\n\r\n").await.unwrap();
            }
            client.read_to_string(&mut answer).await.unwrap();
            assert_eq!(unchunked(&answer), format!("begun\n{body}"), "chunked: {is_chunked}");
        }
    }

    /// The time for a head does not run while a body arrives, and nothing is written into its answer.
    #[tokio::test]
    async fn a_body_that_takes_longer_than_a_head_may_is_answered_to_its_end() {
        let short = Duration::from_millis(500);
        let limits = Limits { head: short, idle: short, ..Limits::default() };
        let (address, _stop) = echo_server(limits).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        let head = "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        let begun = read_until(&mut client, "begun\n\r\n").await;
        let mut answer = begun.split_once("\r\n\r\n").unwrap().1.to_owned();
        for part in ["a\n", "b\n"] {
            client.write_all(part.as_bytes()).await.unwrap();
            answer += &read_until(&mut client, &format!("{part}\r\n")).await;
            // Longer than every limit, each time.
            tokio::time::sleep(Duration::from_millis(1600)).await;
        }
        client.write_all(b"c\n").await.unwrap();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(unchunked(&answer), "begun\na\nb\nc\n");
    }

    /// Nobody knows where the next request begins.
    #[tokio::test]
    async fn a_request_that_is_answered_before_its_body_has_arrived_is_the_last_one() {
        for path in ["/unread", "/elsewhere"] {
            let next = "POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab";
            let smuggled = next.replacen("\r\n", "\n", 1);
            for next in [next, &smuggled] {
                let (address, _stop) = echo_server(Limits::default()).await;
                let mut client = TcpStream::connect(address).await.unwrap();
                let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n");
                client.write_all(format!("{head}abcd{next}").as_bytes()).await.unwrap();
                let mut answers = String::new();
                client.read_to_string(&mut answers).await.unwrap();
                assert!(answers.contains("connection: close\r\n"), "{answers}");
                assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{path} {next:?}: {answers}");
            }
        }
    }

    #[tokio::test]
    async fn a_connection_is_kept_after_a_body_that_was_read() {
        let (address, _stop) = echo_server(Limits::default()).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        let sized = "POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab";
        let chunked = "POST /length HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n";
        for request in [sized, chunked, sized, chunked] {
            client.write_all(request.as_bytes()).await.unwrap();
            let answer = read_until(&mut client, "\r\n\r\n2").await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(!answer.contains("connection: close"), "{answer}");
        }
        let expecting =
            "POST /length HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
        client.write_all(expecting.as_bytes()).await.unwrap();
        assert_eq!(read_until(&mut client, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
        client.write_all(b"ab").await.unwrap();
        assert!(read_until(&mut client, "\r\n\r\n2").await.starts_with("HTTP/1.1 200 OK\r\n"));
        // Two at once.
        client.write_all(format!("{sized}{sized}").as_bytes()).await.unwrap();
        let mut answers = read_until(&mut client, "\r\n\r\n2").await;
        while answers.matches("HTTP/1.1 200 OK").count() < 2 {
            answers += &read_until(&mut client, "\r\n\r\n2").await;
        }
    }

    #[tokio::test]
    async fn a_request_that_hyper_cannot_parse_gets_a_body_and_a_request_id() {
        let answers = split(&exchange(MALFORMED).await);
        assert!(answers[0].starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answers:?}");
        assert!(answers[0].contains("x-request-id: "), "{answers:?}");
        for header in [
            "cross-origin-resource-policy: same-origin",
            "cross-origin-opener-policy: same-origin",
            "x-frame-options: DENY",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(answers[0].contains(&format!("{header}\r\n")), "{header}: {answers:?}");
        }
        assert!(answers[1].starts_with("{\"message\":"), "{answers:?}");
    }
}
