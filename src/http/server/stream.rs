//! The byte stream of one connection. It reports the connection's phase, refuses heads with bare line feeds, and gives
//! hyper's own answers to malformed requests the body that every answer has.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::http::StatusCode;
use rustix::io::ioctl_fionread;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;
use zeroize::Zeroize;

use super::{
    connections::{Connection, Phase},
    line_ends::{BareLineFeed, LineEnds},
};
use crate::{
    http::{answer::REQUEST_ID, error::plain_body},
    request_id::RequestId,
};

/// The bytes of HTTP: on a TCP stream, or inside of TLS.
pub(super) enum Transport {
    Plain(PacedStream<TcpStream>),
    Tls(Box<TlsStream<PacedStream<TcpStream>>>),
}

impl Transport {
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Whether the kernel has bytes of the client, whatever the runtime knows of them.
    fn has_unread(&self) -> bool {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        ioctl_fionread(&stream.stream).is_ok_and(|bytes| bytes > 0)
    }
}

/// Calls a method of the stream that this is.
macro_rules! forward {
    ($transport:expr, $method:ident, $($argument:expr),+) => {
        match &mut *$transport {
            Transport::Plain(stream) => Pin::new(stream).$method($($argument),+),
            Transport::Tls(stream) => Pin::new(stream).$method($($argument),+),
        }
    };
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        forward!(self, poll_read, cx, buf)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        forward!(self, poll_write, cx, buf)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        forward!(self, poll_write_vectored, cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, poll_flush, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, poll_shutdown, cx)
    }
}

/// A TCP stream that reports whether writes wait for the client. It is below TLS, whose own buffer would hide that.
pub(super) struct PacedStream<S> {
    stream: S,
    connection: Arc<Connection>,
    pace: ReadPace,
}

/// Whether the client reads answers as fast as they are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadPace {
    KeepsUp,
    /// A write of the current answer had to wait.
    Behind,
    /// An answer that had to wait has been written completely.
    CatchingUp,
    /// The writes after that did not have to wait.
    CaughtUp,
}

impl<S: AsyncRead + AsyncWrite + Unpin> PacedStream<S> {
    pub(super) fn new(stream: S, connection: Arc<Connection>) -> Self {
        Self { stream, connection, pace: ReadPace::KeepsUp }
    }

    pub(super) fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    fn record_write(&mut self, outcome: &Poll<io::Result<usize>>) {
        match (outcome, self.connection.phase()) {
            (Poll::Pending, Phase::Writing) => {}
            (Poll::Pending, _) => {
                self.pace = ReadPace::Behind;
                self.connection.enter(Phase::Writing);
            }
            (Poll::Ready(written), Phase::Writing) => {
                self.connection.bytes_read_by_client(written.as_ref().copied().unwrap_or(0));
                self.connection.resume();
            }
            (Poll::Ready(_), _) if self.pace == ReadPace::CatchingUp => {
                self.pace = ReadPace::CaughtUp
            }
            (Poll::Ready(_), _) => {}
        }
    }

    /// Records that everything that was buffered above has been written.
    fn record_flush(&mut self) {
        match self.pace {
            ReadPace::KeepsUp | ReadPace::CatchingUp => {}
            ReadPace::Behind => self.pace = ReadPace::CatchingUp,
            ReadPace::CaughtUp => {
                self.connection.refill_write_budget();
                self.pace = ReadPace::KeepsUp;
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.record_write(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.record_write(&outcome);
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.record_flush();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The stream of an HTTP/1 connection.
pub(super) struct ConnectionStream {
    stream: Transport,
    connection: Arc<Connection>,
    line_ends: LineEnds,
    /// What is written in place of hyper's own answer, and how many bytes of it have been written.
    replacement: Option<(Vec<u8>, usize)>,
}

impl ConnectionStream {
    pub(super) fn new(stream: Transport, connection: Arc<Connection>) -> Self {
        Self { stream, connection, line_ends: LineEnds::new(), replacement: None }
    }

    pub(super) fn into_inner(self) -> Transport {
        self.stream
    }

    /// Starts a replacement if hyper writes its own answer, which it does for a request that it cannot parse. Answers of the
    /// service are not changed.
    fn replace_answer_of_hyper(&mut self, head: &[u8]) {
        if let Some(status) = client_error(head)
            && self.replacement.is_none()
            && !self.connection.is_answer_open()
        {
            self.replacement = Some((closing_answer(status), 0));
        }
    }

    fn poll_write_replacement(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((answer, written)) = &mut self.replacement {
            let more = ready!(Pin::new(&mut self.stream).poll_write(cx, &answer[*written..]))?;
            *written += more;
            if *written == answer.len() || more == 0 {
                self.replacement = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for ConnectionStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A body may contain a password. Between two requests, hyper passes the same memory again if the body had at most
        // 8 KiB, and its content is no longer needed.
        let phase = match self.connection.is_body_open() {
            true => Phase::Body,
            false => self.connection.phase(),
        };
        if phase == Phase::Idle && self.connection.take_body_mark() {
            buf.initialize_unfilled().zeroize();
        }
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        if outcome.is_pending() && self.connection.is_looking_for_unread() {
            self.connection.set_unread(self.stream.has_unread());
        }
        let new = &mut buf.filled_mut()[before..];
        // The first bytes after an answer start the next head.
        if !new.is_empty() && phase == Phase::Idle {
            self.connection.enter(Phase::Head);
        }
        match self.line_ends.find(new, phase) {
            BareLineFeed::None => {}
            // hyper refuses a head with this byte, wherever it is.
            BareLineFeed::InHead(at) => new[at] = 0,
            // What follows is not read: nobody knows yet whether it is a body or another head.
            BareLineFeed::AfterHead => self.connection.close_after_answer(),
        }
        outcome
    }
}

impl AsyncWrite for ConnectionStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.replace_answer_of_hyper(buf);
        if self.replacement.is_some() {
            self.poll_write_replacement(cx).map_ok(|()| buf.len())
        } else {
            Pin::new(&mut self.stream).poll_write(cx, buf)
        }
    }

    /// Keeps hyper from copying each body into a buffer of the connection, so that many connections can share one body.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        /// Up to this size, copying costs less than a vectored system call.
        const SMALL: usize = 1024;
        self.replace_answer_of_hyper(bufs.first().map_or(&[], |head| head));
        let length = bufs.iter().map(|buf| buf.len()).sum();
        if self.replacement.is_some() {
            self.poll_write_replacement(cx).map_ok(|()| length)
        } else if length <= SMALL {
            let (mut whole, mut filled) = ([0; SMALL], 0);
            for buf in bufs {
                whole[filled..filled + buf.len()].copy_from_slice(buf);
                filled += buf.len();
            }
            Pin::new(&mut self.stream).poll_write(cx, &whole[..filled])
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Everything that hyper had buffered has been written.
        self.connection.answer_flushed();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The status of a 4xx answer that consists of a head alone.
fn client_error(answer: &[u8]) -> Option<StatusCode> {
    const VERSION: &[u8] = b"HTTP/1.1 ";
    let status = answer.strip_prefix(VERSION)?;
    if !status.starts_with(b"4") || !answer.ends_with(b"\r\n\r\n") {
        return None;
    }
    StatusCode::from_bytes(status.get(..3)?).ok()
}

/// A whole answer after which the connection is closed, for a request that no handler receives. Whether a head is too large depends on
/// the cookies of its visitor, so a window with this answer tells another site no more than one with a page.
pub(super) fn closing_answer(status: StatusCode) -> Vec<u8> {
    let body = plain_body(status);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n\
         cross-origin-resource-policy: same-origin\r\ncross-origin-opener-policy: same-origin\r\nx-frame-options: DENY\r\n\
         content-security-policy: default-src 'none'\r\ncache-control: no-store\r\n{}: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        REQUEST_ID,
        RequestId::next(),
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::http::server::{Limits, connections::Connections};

    /// Sends answers of this size to a client that reads this many bytes per second. Returns the second in which the
    /// connection times out.
    async fn timed_out_after(
        answer: usize,
        answers: usize,
        bytes_per_second: usize,
    ) -> Option<u64> {
        let connections = Connections::new(Limits::default(), Arc::default());
        let slot = connections.take_slot();
        let (ours, mut theirs) = tokio::io::duplex(256);
        let mut stream = PacedStream::new(ours, slot.connection());
        let writing = tokio::spawn(async move {
            for _ in 0..answers {
                stream.write_all(&vec![b'x'; answer]).await.unwrap();
                stream.flush().await.unwrap();
            }
        });
        let mut read = vec![0; bytes_per_second];
        for second in 1..600 {
            for _ in 0..2 {
                tokio::time::sleep(Duration::from_millis(500)).await;
                if connections.close_timed_out() > 0 {
                    return Some(second);
                }
            }
            if writing.is_finished() {
                return None;
            }
            // The last answer may be shorter.
            let reading = theirs.read_exact(&mut read);
            let _ = tokio::time::timeout(Duration::from_millis(1), reading).await;
        }
        panic!("neither timed out nor done");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_large_answer_byte_by_byte_times_out() {
        assert_eq!(timed_out_after(50_000, 1, 1).await, Some(11));
        let seconds = timed_out_after(50_000, 1, 512).await.unwrap();
        assert!((15..25).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_phone_and_a_fast_client_do_not_time_out() {
        assert_eq!(timed_out_after(50_000, 1, 4096).await, None);
        assert_eq!(timed_out_after(50_000, 10, 100_000).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn several_large_answers_do_not_give_a_slow_client_more_time() {
        let seconds = timed_out_after(5_000, 100, 512).await.unwrap();
        assert!((15..25).contains(&seconds), "{seconds}");
    }
}
