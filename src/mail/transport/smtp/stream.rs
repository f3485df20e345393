//! The stream that lettre speaks SMTP on: plain or encrypted.

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

/// A connection to a mail server.
#[derive(Debug)]
pub(super) struct SmtpStream {
    /// What is read before the connection.
    replayed: Vec<u8>,
    connection: Connection,
}

#[derive(Debug)]
enum Connection {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl SmtpStream {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self { replayed: Vec::new(), connection: Connection::Plain(stream) }
    }

    /// An encrypted connection. `greeting` is read first: lettre waits for one, and after STARTTLS the server sends none.
    pub(super) fn encrypted(stream: TlsStream<TcpStream>, greeting: Vec<u8>) -> Self {
        Self { replayed: greeting, connection: Connection::Encrypted(Box::new(stream)) }
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
        match &mut self.connection {
            Connection::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Connection::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for SmtpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
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
