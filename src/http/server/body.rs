//! The bodies of requests and answers, which report their progress to the connection.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::connections::Connection;

/// The body of a request. At its end, the connection changes from reading to answering. Until then the connection counts as
/// reading, because the client can still send: while no handler reads the body, and while the answer is sent already.
pub(super) struct RequestBody {
    body: Incoming,
    connection: Arc<Connection>,
    has_ended: bool,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        connection.body_begun();
        connection.mark_body_buffered();
        Self { body, connection, has_ended: false }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if !self.has_ended {
            self.connection.body_abandoned();
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        // A body of unknown length has ended only when there is no further frame.
        let is_last =
            matches!(frame, Poll::Ready(None)) || frame.is_ready() && self.body.is_end_stream();
        if is_last && !self.has_ended {
            self.has_ended = true;
            self.connection.body_ended();
        } else if frame.is_ready() {
            self.connection.body_progressed();
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

/// The body of an answer. hyper drops it as soon as it has buffered all of it.
pub(super) struct AnswerBody {
    body: axum::body::Body,
    connection: Arc<Connection>,
}

impl AnswerBody {
    pub(super) fn new(body: axum::body::Body, connection: Arc<Connection>) -> Self {
        Self { body, connection }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.connection.answer_buffered();
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
