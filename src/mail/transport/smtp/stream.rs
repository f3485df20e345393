//! The stream that lettre speaks SMTP on: plain or encrypted, with a limit for the bytes of a reply. lettre reads a line to its
//! end before it looks at its length, and parses a reply from its beginning after each line.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// The most bytes of one reply. Servers send less than 2 KiB.
pub(super) const MAX_REPLY_BYTES: usize = 16 << 10;

/// The most lines of one reply. lettre's work grows with their square.
const MAX_REPLY_LINES: usize = 128;

/// The error for a longer reply.
pub(super) fn too_long() -> io::Error {
    let kib = MAX_REPLY_BYTES >> 10;
    io::Error::other(format!(
        "the reply of the server is longer than {kib} KiB or {MAX_REPLY_LINES} lines"
    ))
}

/// A connection to a mail server.
#[derive(Debug)]
pub(super) struct SmtpStream {
    /// What is read before the connection.
    replayed: Vec<u8>,
    connection: Connection,
    /// The bytes and the line ends that were read since the last command.
    received: usize,
    lines: usize,
}

#[derive(Debug)]
enum Connection {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl SmtpStream {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self::new(Connection::Plain(stream), Vec::new())
    }

    /// An encrypted connection. `greeting` is read first: lettre waits for one, and after STARTTLS the server sends none.
    pub(super) fn encrypted(stream: TlsStream<TcpStream>, greeting: Vec<u8>) -> Self {
        Self::new(Connection::Encrypted(Box::new(stream)), greeting)
    }

    fn new(connection: Connection, replayed: Vec<u8>) -> Self {
        Self { replayed, connection, received: 0, lines: 0 }
    }
}

impl AsyncTokioStream for SmtpStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.connection {
            Connection::Plain(stream) => stream.peer_addr(),
            Connection::Encrypted(stream) => stream.get_ref().0.peer_addr(),
        }
    }
}

impl AsyncRead for SmtpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.replayed.is_empty() {
            let length = self.replayed.len().min(buffer.remaining());
            buffer.put_slice(&self.replayed[..length]);
            self.replayed.drain(..length);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = match &mut self.connection {
            Connection::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Connection::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        let received = &buffer.filled()[before..];
        self.received += received.len();
        self.lines += received.iter().filter(|byte| **byte == b'\n').count();
        let is_too_long = self.received > MAX_REPLY_BYTES || self.lines > MAX_REPLY_LINES;
        if is_too_long { Poll::Ready(Err(too_long())) } else { read }
    }
}

impl AsyncWrite for SmtpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // What is read next answers this.
        (self.received, self.lines) = (0, 0);
        match &mut self.connection {
            Connection::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Connection::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.connection {
            Connection::Plain(stream) => Pin::new(stream).poll_flush(context),
            Connection::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.connection {
            Connection::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Connection::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
