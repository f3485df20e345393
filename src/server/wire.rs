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
use crate::api;

/// A TCP stream that knows what its connection is doing.
pub(super) struct Wire {
    stream: TcpStream,
    connection: Arc<Connection>,
    /// What is written instead of a bare answer of hyper's, and how much of it has been.
    instead: Option<(Vec<u8>, usize)>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, connection: Arc<Connection>) -> Self {
        Self { stream, connection, instead: None }
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    fn note_write<T>(&self, outcome: &Poll<io::Result<T>>) {
        match (outcome, self.connection.phase()) {
            (Poll::Pending, Phase::Writing) => {}
            (Poll::Pending, _) => self.connection.enter(Phase::Writing),
            (Poll::Ready(_), Phase::Writing) => self.connection.enter(Phase::Idle),
            (Poll::Ready(_), _) => {}
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

impl AsyncRead for Wire {
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

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none()
            && let Some(status) = bare_answer(buf)
        {
            self.instead = Some((closing_answer(status), 0));
        }
        let outcome = if self.instead.is_some() {
            self.poll_write_instead(cx).map_ok(|()| buf.len())
        } else {
            Pin::new(&mut self.stream).poll_write(cx, buf)
        };
        self.note_write(&outcome);
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
        && !text.contains(api::REQUEST_ID.as_str());
    let code = 400 + str::from_utf8(status).ok()?.parse::<u16>().ok()?;
    bare.then(|| StatusCode::from_u16(code).ok()).flatten()
}

/// A whole answer after which the connection is closed, for requests that no handler will see.
pub(super) fn closing_answer(status: StatusCode) -> Vec<u8> {
    let body = api::plain_body(status);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         {}: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        api::REQUEST_ID,
        api::RequestId::next(),
        body.len(),
    );
    [head.into_bytes(), body].concat()
}
