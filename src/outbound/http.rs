//! A small HTTP/1 client: one request per connection, a time limit for the whole exchange, a limited body, no
//! redirects.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{HeaderMap, Method, Request, Uri, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use rustls::{CertificateError, ClientConfig, pki_types::CertificateDer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

use super::{ConnectError, connect, tls};

/// The most bytes of a body.
const MAX_BODY: usize = 1 << 20;

/// An answer, and the connection that it came on.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The address of this end of the connection.
    pub local: SocketAddr,
    /// The certificates of the server, its own first; empty without TLS.
    pub certificates: Vec<CertificateDer<'static>>,
}

impl HttpResponse {
    /// The value of a header, if it is text.
    pub fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Why there is no answer. The text names the step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a URL of HTTP.
    #[error("{0} is not a URL")]
    Url(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The system trusts no issuer, so no certificate can be verified.
    #[error("this system has no trusted certificates")]
    NoIssuers,
    /// TLS cannot be used.
    #[error("TLS cannot be used: {0}")]
    Setup(#[from] rustls::Error),
    /// The certificate is not accepted.
    #[error("{address}: the certificate is not valid: {cause}")]
    Certificate { address: SocketAddr, cause: CertificateError },
    /// The server does not speak TLS.
    #[error("{address}: no TLS: {error}")]
    Tls { address: SocketAddr, error: io::Error },
    /// The server does not speak HTTP.
    #[error("{address}: no HTTP: {error}")]
    Http { address: SocketAddr, error: hyper::Error },
    /// The body is too long or incomplete.
    #[error("{address}: the answer is longer than {MAX_BODY} bytes or incomplete")]
    Body { address: SocketAddr },
    /// The time is up.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
}

/// Asks a URL. The certificate must be for its host and of an issuer that the system trusts.
///
/// # Errors
/// If there is no answer within `limit`.
#[cfg(any(test, feature = "cli"))]
pub async fn get(
    url: &str,
    headers: &[(&str, &str)],
    limit: Duration,
) -> Result<HttpResponse, Error> {
    ask(url, Method::GET, headers, Bytes::new(), limit).await
}

/// Sends something to a URL, as [`get`].
///
/// # Errors
/// If there is no answer within `limit`.
pub async fn post(url: &str, body: Bytes, limit: Duration) -> Result<HttpResponse, Error> {
    let headers = [("content-type", "text/plain; charset=utf-8")];
    ask(url, Method::POST, &headers, body, limit).await
}

async fn ask(
    url: &str,
    method: Method,
    headers: &[(&str, &str)],
    body: Bytes,
    limit: Duration,
) -> Result<HttpResponse, Error> {
    let asking = async {
        let url_parts = RequestUrl::parse(url)?;
        let request = url_parts.request(method, headers, body)?;
        let config = match (url_parts.is_tls, tls::system_issuers()) {
            (false, _) => None,
            (true, issuers) if issuers.is_empty() => return Err(Error::NoIssuers),
            (true, issuers) => Some(tls::verified(issuers)?),
        };
        let (stream, address) = connect(&url_parts.host, url_parts.port, limit).await?;
        exchange(stream, address, &url_parts.host, config, request, limit).await
    };
    timeout(limit, asking).await.unwrap_or(Err(Error::Timeout(limit)))
}

/// Asks the Doorward server of this machine at the address that it listens on.
///
/// Its certificate is not verified. It is for the public name and not for this address, its issuer need not be known here, and
/// the file in `tls.certificate` may be newer than the certificate in force. So no caller chooses what is sent, and the connection
/// ends with the answer.
///
/// # Errors
/// If there is no answer within `limit`.
#[cfg(feature = "cli")]
pub async fn get_from_own_server(
    scheme: &str,
    address: SocketAddr,
    path: &'static str,
    limit: Duration,
) -> Result<HttpResponse, Error> {
    let asking = async {
        let url_parts = RequestUrl::parse(&format!("{scheme}://{address}{path}"))?;
        let request = url_parts.request(Method::GET, &[], Bytes::new())?;
        let config = if url_parts.is_tls { Some(tls::unverified()?) } else { None };
        let connected = TcpStream::connect(address).await;
        let stream = connected.map_err(|error| ConnectError::Connect { address, error })?;
        exchange(stream, address, &url_parts.host, config, request, limit).await
    };
    timeout(limit, asking).await.unwrap_or(Err(Error::Timeout(limit)))
}

/// The server and the request that a URL stands for.
struct RequestUrl {
    uri: Uri,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    is_tls: bool,
}

impl RequestUrl {
    fn parse(url: &str) -> Result<Self, Error> {
        let invalid = || Error::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid()),
        };
        let host = uri.host().ok_or_else(invalid)?.trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self { uri, host, port, is_tls })
    }

    fn request(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, authority)
            .header(header::USER_AGENT, concat!("doorward/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Full::new(body)).map_err(|_| Error::Url(self.uri.to_string()))
    }
}

async fn exchange(
    stream: TcpStream,
    address: SocketAddr,
    host: &str,
    config: Option<ClientConfig>,
    request: Request<Full<Bytes>>,
    limit: Duration,
) -> Result<HttpResponse, Error> {
    let local = stream.local_addr().map_err(|error| ConnectError::Connect { address, error })?;
    let Some(mut config) = config else {
        return send(stream, address, local, Vec::new(), request).await;
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = tls::handshake(Arc::new(config), host, stream, limit).await;
    let stream = stream.map_err(|error| tls_error(address, error))?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
    send(stream, address, local, certificates, request).await
}

fn tls_error(address: SocketAddr, error: io::Error) -> Error {
    match error.get_ref().and_then(|cause| cause.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(cause)) => {
            Error::Certificate { address, cause: cause.clone() }
        }
        _ => Error::Tls { address, error },
    }
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    address: SocketAddr,
    local: SocketAddr,
    certificates: Vec<CertificateDer<'static>>,
    request: Request<Full<Bytes>>,
) -> Result<HttpResponse, Error> {
    let failed = |error| Error::Http { address, error };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // Ends when the sender is dropped.
    tokio::spawn(connection);
    let (head, body) = sender.send_request(request).await.map_err(failed)?.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await;
    let body = body.map_err(|_| Error::Body { address })?.to_bytes();
    let (status, headers) = (head.status.as_u16(), head.headers);
    Ok(HttpResponse { status, headers, body, local, certificates })
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

    const LONG: Duration = Duration::from_secs(30);
    const SHORT: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn an_answer_is_read_and_a_redirect_is_not_followed() {
        let url = serve(
            b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 2\r\n\r\nhi"
                .to_vec(),
        );
        let answer = get(&url, &[("x-probe", "1")], LONG).await.unwrap();
        assert_eq!((answer.status, &answer.body[..]), (302, &b"hi"[..]));
        assert_eq!(answer.header("location"), Some("http://192.0.2.1/"));
        assert!(answer.certificates.is_empty() && answer.local.ip().is_loopback());
    }

    #[tokio::test]
    async fn a_long_answer_and_a_silent_server_are_errors() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", MAX_BODY + 1);
        let mut answer = head.into_bytes();
        answer.resize(answer.len() + MAX_BODY + 1, b'x');
        let error = get(&serve(answer), &[], LONG).await.unwrap_err();
        assert!(matches!(error, Error::Body { .. }), "{error}");
        let error = get(&serve(Vec::new()), &[], SHORT).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 1 s");
        let error = get("nonsense", &[], SHORT).await.unwrap_err();
        assert!(matches!(error, Error::Url(_)), "{error}");
    }
}
