//! The bytes of one connection: notes what they mean for the watch, and gives the answers that hyper makes by itself
//! the body that every answer has.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::http::StatusCode;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use zeroize::Zeroize;

use super::watch::{Connection, Phase};
use crate::http;

/// A TCP stream that knows what its connection is doing.
pub(super) struct Wire<S = TcpStream> {
    stream: S,
    connection: Arc<Connection>,
    /// What is written instead of a bare answer of hyper's, and how much of it has been.
    instead: Option<(Vec<u8>, usize)>,
    pace: Pace,
}

/// Whether the client takes answers as fast as they come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    KeepsUp,
    /// It has kept the answer waiting that is being written.
    Behind,
    /// It has taken all of an answer that it had kept waiting.
    CatchingUp,
    /// It has not kept waiting what was written after that.
    CaughtUp,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(super) fn new(stream: S, connection: Arc<Connection>) -> Self {
        Self { stream, connection, instead: None, pace: Pace::KeepsUp }
    }

    pub(super) fn into_stream(self) -> S {
        self.stream
    }

    fn note_write(&mut self, outcome: &Poll<io::Result<usize>>) {
        match (outcome, self.connection.phase()) {
            (Poll::Pending, Phase::Writing) => {}
            (Poll::Pending, _) => {
                self.pace = Pace::Behind;
                self.connection.enter(Phase::Writing);
            }
            (Poll::Ready(written), Phase::Writing) => {
                self.connection.written(written.as_ref().copied().unwrap_or(0));
                self.connection.enter(Phase::Idle);
            }
            (Poll::Ready(_), _) if self.pace == Pace::CatchingUp => self.pace = Pace::CaughtUp,
            (Poll::Ready(_), _) => {}
        }
    }

    /// Everything that was to be written has been.
    fn note_flush(&mut self) {
        match self.pace {
            Pace::KeepsUp | Pace::CatchingUp => {}
            Pace::Behind => self.pace = Pace::CatchingUp,
            Pace::CaughtUp => {
                self.connection.keeps_up();
                self.pace = Pace::KeepsUp;
            }
        }
    }

    /// Begins to write an answer of our own if this is a bare one of hyper's.
    fn replace_bare_answer(&mut self, head: &[u8]) {
        if self.instead.is_none()
            && let Some(status) = bare_answer(head)
        {
            self.instead = Some((closing_answer(status), 0));
        }
    }

    fn poll_write_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((answer, written)) = &mut self.instead {
            let more = ready!(Pin::new(&mut self.stream).poll_write(cx, &answer[*written..]))?;
            *written += more;
            if *written == answer.len() || more == 0 {
                self.instead = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A body may contain a password. Between two requests, and if it was not above 8 KiB, hyper offers the same
        // memory again, and nothing in it is needed any more.
        if self.connection.phase() == Phase::Idle && self.connection.take_body() {
            buf.initialize_unfilled().zeroize();
        }
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        // The first bytes after an answer begin the next head.
        if buf.filled().len() > before && self.connection.phase() == Phase::Idle {
            self.connection.enter(Phase::Head);
        }
        outcome
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.replace_bare_answer(buf);
        let outcome = if self.instead.is_some() {
            self.poll_write_instead(cx).map_ok(|()| buf.len())
        } else {
            Pin::new(&mut self.stream).poll_write(cx, buf)
        };
        self.note_write(&outcome);
        outcome
    }

    /// With this hyper does not copy bodies into a buffer of each connection, so that one body can be on its way to
    /// many of them.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        /// Up to here copying costs less than what the system does for several pieces.
        const SMALL: usize = 1024;
        self.replace_bare_answer(bufs.first().map_or(&[], |head| head));
        let length = bufs.iter().map(|buf| buf.len()).sum();
        let outcome = if self.instead.is_some() {
            self.poll_write_instead(cx).map_ok(|()| length)
        } else if length <= SMALL {
            let (mut whole, mut filled) = ([0; SMALL], 0);
            for buf in bufs {
                whole[filled..filled + buf.len()].copy_from_slice(buf);
                filled += buf.len();
            }
            Pin::new(&mut self.stream).poll_write(cx, &whole[..filled])
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
        };
        self.note_write(&outcome);
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.note_flush();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Recognises an answer that hyper made by itself because it could not read the request: an error without our
/// request id and without a body.
fn bare_answer(buf: &[u8]) -> Option<StatusCode> {
    let status = buf.strip_prefix(b"HTTP/1.1 4")?.get(..2)?;
    let text = str::from_utf8(buf).ok()?;
    let bare = text.contains("content-length: 0\r\n")
        && text.ends_with("\r\n\r\n")
        && !text.contains(http::REQUEST_ID.as_str());
    let code = 400 + str::from_utf8(status).ok()?.parse::<u16>().ok()?;
    bare.then(|| StatusCode::from_u16(code).ok()).flatten()
}

/// A whole answer after which the connection is closed, for requests that no handler will see.
pub(super) fn closing_answer(status: StatusCode) -> Vec<u8> {
    let body = http::plain_body(status);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n\
         cache-control: no-store\r\n{}: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        http::REQUEST_ID,
        http::RequestId::next(),
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::http::server::{Limits, watch::Connections};

    /// Sends answers of this size to a client that takes so many bytes a second. After how many seconds is it sent away?
    async fn sent_away_after(answer: usize, answers: usize, bytes_a_second: usize) -> Option<u64> {
        let connections = Connections::new(Limits::default());
        let seat = connections.seat();
        let (ours, mut theirs) = tokio::io::duplex(256);
        let mut wire = Wire::new(ours, seat.connection());
        let writing = tokio::spawn(async move {
            for _ in 0..answers {
                wire.write_all(&vec![b'x'; answer]).await.unwrap();
                wire.flush().await.unwrap();
            }
        });
        let mut taken = vec![0; bytes_a_second];
        for second in 1..600 {
            for _ in 0..2 {
                tokio::time::sleep(Duration::from_millis(500)).await;
                if connections.look_round() > 0 {
                    return Some(second);
                }
            }
            if writing.is_finished() {
                return None;
            }
            // The last answer may end before.
            let take = theirs.read_exact(&mut taken);
            let _ = tokio::time::timeout(Duration::from_millis(1), take).await;
        }
        panic!("neither sent away nor done");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_a_large_answer_byte_by_byte_is_sent_away() {
        assert_eq!(sent_away_after(50_000, 1, 1).await, Some(11));
        let seconds = sent_away_after(50_000, 1, 512).await.unwrap();
        assert!((15..25).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn neither_a_slow_phone_nor_a_quick_client_is_sent_away() {
        assert_eq!(sent_away_after(50_000, 1, 4096).await, None);
        assert_eq!(sent_away_after(50_000, 10, 100_000).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn several_large_answers_do_not_give_a_slow_client_more_time() {
        let seconds = sent_away_after(5_000, 100, 512).await.unwrap();
        assert!((15..25).contains(&seconds), "{seconds}");
    }
}
