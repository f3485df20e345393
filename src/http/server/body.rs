//! The body of a request, which tells the watch when it has arrived.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::watch::{Connection, Phase};

/// A body whose end turns its connection from reading to answering. Nobody reads some bodies; then the connection
/// counts as reading, which is what its client is still able to make it do.
pub(super) struct Watched {
    body: Incoming,
    connection: Arc<Connection>,
}

impl Watched {
    pub(super) fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        connection.enter(Phase::Body);
        connection.note_body();
        Self { body, connection }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        // The end of a body of unknown length is known only when there is nothing more.
        if matches!(frame, Poll::Ready(None)) || frame.is_ready() && self.body.is_end_stream() {
            self.connection.enter(Phase::Answering);
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
