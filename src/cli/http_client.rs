//! A small HTTP/1 client for commands: one GET per connection, a time limit for the whole exchange, a limited body, no
//! redirects. It accepts every certificate and returns it: its requests carry no secret, and `doorward doctor` judges the
//! certificate separately.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{HeaderMap, Request, Uri, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
};
use tokio_rustls::TlsConnector;

/// The most bytes of a body.
const MAX_BODY: usize = 1 << 20;

/// A client for one request after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// The time for the whole exchange.
    pub(super) limit: Duration,
    /// Connects here instead of to the host of the URL.
    pub(super) address: Option<SocketAddr>,
}

/// An answer, and the connection that it came on.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The address of this end of the connection.
    pub(super) local: SocketAddr,
    /// The certificates of the server, its own first; empty without TLS.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

impl Answer {
    pub(super) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Why there is no answer. The text names the step.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0} is not a URL")]
    Url(String),
    #[error("{host} has no address: {error}")]
    Resolve { host: String, error: io::Error },
    #[error("{address}: {error}")]
    Connect { address: SocketAddr, error: io::Error },
    #[error("{address}: no TLS: {error}")]
    Tls { address: SocketAddr, error: io::Error },
    #[error("{address}: no HTTP: {error}")]
    Http { address: SocketAddr, error: hyper::Error },
    #[error("{address}: the answer is longer than {MAX_BODY} bytes or incomplete")]
    Body { address: SocketAddr },
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
}

impl Client {
    pub(super) async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Error> {
        tokio::time::timeout(self.limit, self.try_get(url, headers))
            .await
            .unwrap_or(Err(Error::Timeout(self.limit)))
    }

    async fn try_get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Error> {
        let invalid = || Error::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else {
            return Err(invalid());
        };
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid()),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let mut request = Request::get(uri.path_and_query().map_or("/", |path| path.as_str()))
            .header(header::HOST, authority.as_str())
            .header(header::USER_AGENT, concat!("doorward/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Empty::new()).map_err(|_| invalid())?;
        let (stream, address) = self.connect(&host, port).await?;
        let local = stream.local_addr().map_err(|error| Error::Connect { address, error })?;
        if !is_tls {
            return exchange(stream, request, address, local, Vec::new()).await;
        }
        let tls = |error| Error::Tls { address, error };
        let config = tls_config().map_err(|error| tls(io::Error::other(error)))?;
        let name = ServerName::try_from(host).map_err(|_| invalid())?;
        let stream = TlsConnector::from(config).connect(name, stream).await.map_err(tls)?;
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
        exchange(stream, request, address, local, certificates).await
    }

    /// Connects to the first address that accepts.
    async fn connect(&self, host: &str, port: u16) -> Result<(TcpStream, SocketAddr), Error> {
        let addresses: Vec<_> = match self.address {
            Some(address) => vec![address],
            None => {
                let found = lookup_host((host, port)).await;
                let unknown = |error| Error::Resolve { host: host.to_owned(), error };
                found.map_err(unknown)?.collect()
            }
        };
        let error = io::ErrorKind::NotFound.into();
        let mut failure = Error::Resolve { host: host.to_owned(), error };
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok((stream, address)),
                Err(error) => failure = Error::Connect { address, error },
            }
        }
        Err(failure)
    }
}

fn tls_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Empty<Bytes>>,
    address: SocketAddr,
    local: SocketAddr,
    certificates: Vec<CertificateDer<'static>>,
) -> Result<Answer, Error> {
    let failed = |error| Error::Http { address, error };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // Ends when the sender is dropped.
    tokio::spawn(connection);
    let (head, body) = sender.send_request(request).await.map_err(failed)?.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await;
    let body = body.map_err(|_| Error::Body { address })?.to_bytes();
    let (status, headers) = (head.status.as_u16(), head.headers);
    Ok(Answer { status, headers, body, local, certificates })
}

/// Accepts every certificate. The signature of the handshake is still checked, so the server holds the key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
    };

    use super::*;

    /// Answers one request with these bytes, and returns the URL.
    fn serve(answer: Vec<u8>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x?y", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            assert!(head.starts_with(b"GET /x?y HTTP/1.1\r\n"));
            let _ = stream.write_all(&answer);
            // Keeps the connection open until the client closes it.
            let _ = stream.read(&mut [0]);
        });
        url
    }

    fn client(seconds: u64) -> Client {
        Client { limit: Duration::from_secs(seconds), address: None }
    }

    #[tokio::test]
    async fn an_answer_is_read_and_a_redirect_is_not_followed() {
        let url = serve(
            b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 2\r\n\r\nhi"
                .to_vec(),
        );
        let answer = client(30).get(&url, &[("x-probe", "1")]).await.unwrap();
        assert_eq!((answer.status, &answer.body[..]), (302, &b"hi"[..]));
        assert_eq!(answer.header("location"), Some("http://192.0.2.1/"));
        assert!(answer.certificates.is_empty() && answer.local.ip().is_loopback());
    }

    #[tokio::test]
    async fn a_long_answer_and_a_silent_server_are_errors() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", MAX_BODY + 1);
        let mut answer = head.into_bytes();
        answer.resize(answer.len() + MAX_BODY + 1, b'x');
        let error = client(30).get(&serve(answer), &[]).await.unwrap_err();
        assert!(matches!(error, Error::Body { .. }), "{error}");
        let error = client(1).get(&serve(Vec::new()), &[]).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 1 s");
        let error = client(1).get("nonsense", &[]).await.unwrap_err();
        assert!(matches!(error, Error::Url(_)), "{error}");
    }
}
