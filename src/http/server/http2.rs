//! HTTP/2: the streams of one connection, what they wait for, and how the connection ends. Handlers see requests as HTTP/1
//! has them.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::Body,
    http::{
        HeaderValue, Request, StatusCode, Uri,
        header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, X_CONTENT_TYPE_OPTIONS},
        uri::PathAndQuery,
    },
    response::{IntoResponse, Response},
};
use hyper::{
    body::{Body as _, Bytes, Frame, Incoming, SizeHint},
    server::conn::http2::Builder,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{
    App, MAX_HEAD_BYTES, MAX_HEADER_FIELDS,
    connections::{Connection, Phase, Slot},
    stream::Transport,
};
use crate::http::{
    answer::{CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN},
    error::plain_body,
    request_id::{REQUEST_ID, RequestId},
};

/// Requests of one connection at a time. Each may hold a chunk of its answer.
const MAX_STREAMS: u32 = 64;
/// What a client may send before handlers read it: on one stream, and on all together. It is the protocol's default.
const WINDOW: u32 = 65_535;
/// Answers are handed over in chunks of this size, so that a client that does not read leaves no more than that in memory.
const CHUNK: usize = 8 << 10;
/// Requests that a client may cancel before they are looked at ("rapid reset"), and streams that its mistakes may end. Then
/// the connection closes.
const MAX_CANCELLED: usize = 20;
const MAX_FAULTS: usize = 100;
/// Time for a client without a request in progress to acknowledge the end of the connection.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) type Http2 = Builder<TokioExecutor>;

pub(super) fn builder() -> Http2 {
    let mut http = Builder::new(TokioExecutor::new());
    http.max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(CHUNK)
        .max_pending_accept_reset_streams(MAX_CANCELLED)
        .max_local_error_reset_streams(MAX_FAULTS);
    http
}

/// Serves one connection to its end.
pub(super) async fn serve(
    stream: Transport,
    peer: SocketAddr,
    slot: Slot,
    app: Arc<dyn App>,
    http: Http2,
) {
    let streams = Arc::new(Streams::new(slot.connection(), slot.write_limit()));
    let opened = Arc::clone(&streams);
    let service = service_fn(move |request: Request<Incoming>| {
        let open = OpenStream::new(&opened);
        let app = Arc::clone(&app);
        async move {
            let mut request = request.map(|body| RequestBody::wrap(body, &open.streams));
            let response = match translate(&mut request) {
                Ok(()) => app.answer(request, peer).await,
                Err(status) => refusal(status),
            };
            Ok::<_, Infallible>(response.map(|body| AnswerBody::new(body, open)))
        }
    });
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut closing = None;
    loop {
        let deadline = streams.deadline(closing);
        tokio::select! {
            biased;
            // After success or an error, there is nothing left to send.
            _ = &mut serving => return,
            () = slot.close_requested() => match slot.connection().phase() {
                Phase::Writing | Phase::Body if !slot.is_shutting_down() => return,
                // The client is told to open no more streams. Those in progress are answered.
                _ => {
                    closing.get_or_insert_with(Instant::now);
                    serving.as_mut().graceful_shutdown();
                }
            },
            () = streams.changed.notified() => {}
            // Answers that made progress, or ended, have moved it meanwhile.
            () = wait_until(deadline) => {
                if streams.deadline(closing).is_some_and(|deadline| deadline <= Instant::now()) {
                    return;
                }
            }
        }
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Gives the request the form that it would have in HTTP/1, which all other code expects.
fn translate(request: &mut Request<Body>) -> Result<(), StatusCode> {
    let uri = request.uri();
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let authority = uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    let authority = authority.transpose().map_err(|_| StatusCode::BAD_REQUEST)?;
    let headers = request.headers_mut();
    if let Some(authority) = authority {
        let mut hosts = headers.get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            (None, _) => {
                headers.insert(HOST, authority);
            }
            (Some(host), None) if !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()) => {
                return Err(StatusCode::BAD_REQUEST);
            }
            // Two are refused for every request.
            _ => {}
        }
    }
    // Clients send each cookie by itself, so that it is compressed by itself.
    if headers.get_all(COOKIE).iter().nth(1).is_some() {
        let cookies: Vec<_> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        let cookies = HeaderValue::from_bytes(&cookies.join(&b"; "[..]));
        headers.insert(COOKIE, cookies.map_err(|_| StatusCode::BAD_REQUEST)?);
    }
    if headers.len() > MAX_HEADER_FIELDS {
        return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    *request.uri_mut() = Uri::from(path);
    Ok(())
}

/// The answer to a request that no handler receives.
fn refusal(status: StatusCode) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN),
        (REQUEST_ID, RequestId::next().header()),
    ];
    (status, headers, plain_body(status)).into_response()
}

/// The streams of one connection.
struct Streams {
    connection: Arc<Connection>,
    /// How long an answer may wait for the client. Each byte that the client reads adds a millisecond, up to this time.
    write: Duration,
    state: Mutex<StreamState>,
    /// Wakes the connection's task to look at the deadline again.
    changed: Notify,
}

struct StreamState {
    open: usize,
    /// How many of them wait for the client: for the rest of a body, or for the client to read.
    waiting: usize,
    /// The answers that are being sent, and when each must have been read.
    sending: HashMap<u64, Instant>,
    last_id: u64,
    /// When the last stream ended.
    idle_since: Instant,
}

impl Streams {
    fn new(connection: Arc<Connection>, write: Duration) -> Self {
        let state = StreamState {
            open: 0,
            waiting: 0,
            sending: HashMap::new(),
            last_id: 0,
            idle_since: Instant::now(),
        };
        Self { connection, write, state: Mutex::new(state), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and reports the phase that follows from it.
    fn change(&self, change: impl FnOnce(&mut StreamState)) {
        let mut state = self.state();
        change(&mut state);
        let phase = match (state.open, state.waiting) {
            (0, _) => Phase::Idle,
            (open, waiting) if waiting >= open => Phase::Body,
            _ => Phase::Answering,
        };
        let before = self.connection.phase();
        // A write that waits ends by itself. Idle begins when the last stream ends.
        if before != Phase::Writing && (before != phase || phase == Phase::Idle) {
            self.connection.enter(phase);
        }
        drop(state);
    }

    /// When the connection must be dropped: an answer has waited for too long, or a client that was told to leave has not.
    fn deadline(&self, closing: Option<Instant>) -> Option<Instant> {
        let state = self.state();
        let farewell = closing.filter(|_| state.open == 0).map(|closing| {
            // The end of an answer may still wait for the client to read.
            let is_writing = self.connection.phase() == Phase::Writing;
            let began = if is_writing { Instant::now() } else { closing.max(state.idle_since) };
            began + FAREWELL
        });
        state.sending.values().copied().chain(farewell).min()
    }
}

/// A stream from its request to the end of its answer.
struct OpenStream {
    streams: Arc<Streams>,
}

impl OpenStream {
    fn new(streams: &Arc<Streams>) -> Self {
        streams.change(|state| state.open += 1);
        Self { streams: Arc::clone(streams) }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut was_last = false;
        self.streams.change(|state| {
            state.open -= 1;
            was_last = state.open == 0;
            if was_last {
                state.idle_since = Instant::now();
            }
        });
        if was_last {
            self.streams.changed.notify_one();
        }
    }
}

/// The body of a request. Until its end, the stream waits for the client.
struct RequestBody {
    body: Incoming,
    waiting: Option<Arc<Streams>>,
}

impl RequestBody {
    fn wrap(body: Incoming, streams: &Arc<Streams>) -> Body {
        if body.is_end_stream() {
            return Body::empty();
        }
        streams.change(|state| state.waiting += 1);
        Body::new(Self { body, waiting: Some(Arc::clone(streams)) })
    }

    fn end(&mut self) {
        if let Some(streams) = self.waiting.take() {
            streams.change(|state| state.waiting -= 1);
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.end();
    }
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || frame.is_ready() && self.body.is_end_stream() {
            self.end();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, in chunks. hyper takes the next chunk when the client has room for it.
struct AnswerBody {
    body: Body,
    rest: Bytes,
    id: u64,
    open: OpenStream,
}

impl AnswerBody {
    fn new(body: Body, open: OpenStream) -> Self {
        let deadline = Instant::now() + open.streams.write;
        let (mut id, mut was_first) = (0, false);
        open.streams.change(|state| {
            state.last_id += 1;
            id = state.last_id;
            state.waiting += 1;
            was_first = state.sending.is_empty();
            state.sending.insert(id, deadline);
        });
        if was_first {
            open.streams.changed.notify_one();
        }
        Self { body, rest: Bytes::new(), id, open }
    }

    /// Records that the client has had room for this many bytes.
    fn extend_deadline(&self, bytes: usize) {
        let earned = Duration::from_millis(bytes as u64);
        let most = Instant::now() + self.open.streams.write;
        if let Some(deadline) = self.open.streams.state().sending.get_mut(&self.id) {
            *deadline = (*deadline + earned).min(most);
        }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.open.streams.change(|state| {
            state.waiting -= 1;
            state.sending.remove(&self.id);
        });
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(CHUNK);
        let chunk = self.rest.split_to(length);
        self.extend_deadline(length);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, following) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(following.lower() + rest);
        if let Some(upper) = following.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request that a handler sees, or the status of the refusal.
    fn translated(uri: &str, headers: &[(&str, &str)]) -> Result<Request<Body>, u16> {
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        translate(&mut request).map_err(|status| status.as_u16())?;
        Ok(request)
    }

    #[test]
    fn the_authority_becomes_the_host_and_the_uri_a_path() {
        let request = translated("https://auth.example:8443/sign-in?for=x", &[]).unwrap();
        assert_eq!(request.headers()[HOST], "auth.example:8443");
        assert_eq!(request.uri(), "/sign-in?for=x");
        let both = [("host", "AUTH.example")];
        assert_eq!(translated("https://auth.example/", &both).unwrap().headers()[HOST], both[0].1);
    }

    #[test]
    fn another_host_than_the_authority_is_refused() {
        assert_eq!(translated("https://a.example/", &[("host", "b.example")]).unwrap_err(), 400);
        // The router refuses these, as in HTTP/1.
        let two = [("host", "a.example"), ("host", "b.example")];
        let request = translated("https://a.example/", &two).unwrap();
        assert_eq!(request.headers().get_all(HOST).iter().count(), 2);
    }

    #[test]
    fn cookies_that_were_sent_one_by_one_are_one_header() {
        let cookies = [("cookie", "a=1"), ("cookie", "b=2; c=3"), ("cookie", "d=4")];
        let request = translated("https://a.example/", &cookies).unwrap();
        let cookies: Vec<_> = request.headers().get_all(COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; b=2; c=3; d=4"]);
    }

    #[test]
    fn too_many_headers_are_refused_and_many_cookies_are_not() {
        let headers: Vec<_> = (0..70).map(|number| format!("x-{number}")).collect();
        let headers: Vec<_> = headers.iter().map(|name| (name.as_str(), "1")).collect();
        assert_eq!(translated("https://a.example/", &headers).unwrap_err(), 431);
        assert!(translated("https://a.example/", &[("cookie", "a=1"); 70]).is_ok());
    }

    fn slot() -> Slot {
        super::super::connections::Connections::new(super::super::Limits::default()).take_slot()
    }

    #[tokio::test(start_paused = true)]
    async fn the_phase_of_a_connection_follows_from_its_streams() {
        let slot = slot();
        let streams = Arc::new(Streams::new(slot.connection(), Duration::from_secs(10)));
        let phase = || slot.connection().phase();
        assert_eq!(phase(), Phase::Head);
        let (first, second) = (OpenStream::new(&streams), OpenStream::new(&streams));
        assert_eq!(phase(), Phase::Answering);
        streams.change(|state| state.waiting += 1);
        assert_eq!(phase(), Phase::Answering, "the other stream is being answered");
        drop(second);
        assert_eq!(phase(), Phase::Body, "the only stream waits for its body");
        streams.change(|state| state.waiting -= 1);
        assert_eq!(phase(), Phase::Answering);
        let answer = AnswerBody::new(Body::from("answer"), first);
        assert_eq!(phase(), Phase::Body, "the only stream waits for the client to read");
        drop(answer);
        assert_eq!(phase(), Phase::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_must_be_read_at_a_thousand_bytes_a_second() {
        use http_body_util::BodyExt;
        let slot = slot();
        let write = Duration::from_secs(10);
        let streams = Arc::new(Streams::new(slot.connection(), write));
        let open = OpenStream::new(&streams);
        assert_eq!(streams.deadline(None), None);
        let started = Instant::now();
        let mut answer = AnswerBody::new(Body::from(vec![b'x'; 3 * CHUNK]), open);
        assert_eq!(streams.deadline(None), Some(started + write));
        tokio::time::advance(Duration::from_secs(9)).await;
        let chunk = answer.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(chunk.len(), CHUNK);
        let earned = Duration::from_millis(CHUNK as u64);
        assert_eq!(streams.deadline(None), Some(started + write + earned));
        drop(answer);
        assert_eq!(streams.deadline(None), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_told_to_leave_may_finish_its_streams() {
        let slot = slot();
        let streams = Arc::new(Streams::new(slot.connection(), Duration::from_secs(10)));
        let open = OpenStream::new(&streams);
        let closing = Some(Instant::now());
        assert_eq!(streams.deadline(closing), None);
        tokio::time::advance(Duration::from_secs(5)).await;
        drop(open);
        assert_eq!(streams.deadline(closing), Some(Instant::now() + FAREWELL));
    }
}
