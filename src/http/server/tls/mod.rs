//! TLS: its configuration, the handshake, and the answer to a client that speaks plain HTTP.

mod certificates;

use std::{fmt, path::Path, pin::pin, sync::Arc};

use rustls::{ServerConfig, crypto::aws_lc_rs};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{Instant, sleep_until},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

pub use self::certificates::expiry_in_file;
use self::certificates::{Certificates, UnusableCertificate};
use super::{LAST_HEAD, MAX_BUFFER_BYTES, connections::Slot, stream::PacedStream};
use crate::{clock::Clock, metrics::Exposition};

/// What clients may choose. One that offers only other protocols fails in the handshake.
const PROTOCOL: &[u8] = b"http/1.1";

/// What a client hears that sends a plain request: browsers and `curl` show it.
const SPEAK_HTTPS: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    content-length: 61\r\n\r\nThis port speaks HTTPS: use https:// instead of http:// here\n";

/// Encrypts connections with a certificate that is read again when its files change.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificates: Arc<Certificates>,
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// If they cannot be read or do not belong together.
    pub fn open(certificate: &Path, key: &Path, clock: Clock) -> Result<Self, UnusableCertificate> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let certificates =
            Arc::new(Certificates::open(certificate, key, Arc::clone(&provider), clock)?);
        let broken = |error: rustls::Error| UnusableCertificate::new(certificate, &error);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(broken)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::<Certificates>::clone(&certificates));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // Clients resume sessions without a copy of each session in memory.
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(broken)?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificates })
    }

    /// Reads the files again if they have changed. A pair that cannot be used is logged, and the one in force stays.
    ///
    /// # Errors
    /// If the pair in the files cannot be used.
    pub fn reload(&self) -> Result<(), UnusableCertificate> {
        self.certificates.reload()
    }

    /// Reads the files again when they change, in a thread of its own: a file system that hangs must not stop the runtime.
    pub fn watch(&self) {
        certificates::watch(Arc::clone(&self.certificates));
    }

    pub(crate) fn write_metrics(&self, metrics: &mut Exposition<'_>) -> fmt::Result {
        let Some(expires) = self.certificates.expires() else { return Ok(()) };
        metrics.gauge(
            "doorward_tls_certificate_expiry_timestamp_seconds",
            "When the certificate in force expires, in seconds since 1970",
            expires.seconds().max(0).cast_unsigned(),
        )
    }

    /// The encrypted stream; none if the client does not complete the handshake before the connection has to close.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        slot: &Slot,
    ) -> Option<TlsStream<PacedStream<TcpStream>>> {
        let mut handshake = pin!(self.shake_hands(stream, slot));
        // When a handshake that arrives while the server stops has to be complete.
        let mut end: Option<Instant> = None;
        let accepted = loop {
            tokio::select! {
                biased;
                () = slot.close_requested() => {}
                accepted = &mut handshake => break accepted,
                () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => return None,
            }
            if !slot.is_closed_by_stop() {
                return None;
            }
            // The client may have begun before the stop, as with the head of a request. It has no more time with each order to close.
            let latest = Instant::now() + slot.time_for_head().max(LAST_HEAD);
            end = Some(end.map_or(latest, |end| end.min(latest)));
        };
        if end.is_some() {
            slot.request_close();
        }
        accepted
    }

    async fn shake_hands(
        &self,
        stream: TcpStream,
        slot: &Slot,
    ) -> Option<TlsStream<PacedStream<TcpStream>>> {
        let mut first = [0];
        stream.peek(&mut first).await.ok().filter(|length| *length > 0)?;
        // A handshake starts with 22. A method starts with a letter.
        if first[0].is_ascii_uppercase() {
            answer_in_plain_http(stream).await;
            return None;
        }
        let stream = PacedStream::new(stream, slot.connection());
        let limit = |session: &mut rustls::ServerConnection| {
            session.set_buffer_limit(Some(MAX_BUFFER_BYTES));
        };
        let shaken = self.acceptor.accept_with(stream, limit).await;
        shaken.inspect_err(|error| tracing::debug!(%error, "TLS handshake failed")).ok()
    }
}

async fn answer_in_plain_http(mut stream: TcpStream) {
    // Closing a socket with unread bytes resets the connection, and the client would lose the answer.
    let _ = stream.try_read(&mut [0; 16 << 10]);
    let _ = stream.try_write(SPEAK_HTTPS);
    let _ = stream.shutdown().await;
}
