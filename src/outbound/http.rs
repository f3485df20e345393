//! A small HTTP/1 client: one request per connection, a time limit for the whole exchange, a limited head and body, no
//! redirects.

use std::{
    fmt, io,
    net::{Ipv6Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use chrono::DateTime;
use http_body_util::{BodyExt, Full};
pub use hyper::Method;
use hyper::{HeaderMap, Request, Uri, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use rustls::{CertificateError, ClientConfig, RootCertStore, pki_types::CertificateDer};
use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

pub use super::dialler::Reach;
use super::{
    ConnectError,
    dialler::{connect_to_any, resolve},
    tls,
};
use crate::clock::Timestamp;

/// The most bytes of a body, where the caller does not say.
const MAX_BODY: usize = 1 << 20;
/// The most bytes of the status line and the headers of an answer.
const MAX_HEAD: usize = 32 << 10;

/// A request, whom it may reach, and what bounds the answer.
pub struct Call<'a> {
    pub method: Method,
    pub url: &'a str,
    /// Besides `Host`, which comes from the URL.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: Bytes,
    /// The time for everything, from the look-up of the host to the last byte of the answer.
    pub limit: Duration,
    pub max_body: usize,
    pub reach: Reach<'a>,
    pub plain: Plain,
    /// Issuers that are trusted besides those of the system, in PEM format. The file is read at each call.
    pub ca_file: Option<&'a Path>,
}

/// Whether a request may go without TLS, if its URL begins with `http:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// To this machine: every address of the host is a loopback address.
    Loopback,
    Any,
}

/// An answer, and the connection that it came on.
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

    /// The time of the server, if it says so.
    pub fn date(&self) -> Option<Timestamp> {
        let date = DateTime::parse_from_rfc2822(self.header(header::DATE)?).ok()?;
        Some(Timestamp::from_millis(date.timestamp_millis()))
    }

    /// The body, if it is JSON of this form.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// Headers and body may be secret.
impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Why there is no answer. The text names the step, and neither the URL, whose query may be secret, nor what was answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a URL that can be asked.
    #[error("the URL {0}")]
    Url(&'static str),
    /// A header of the request has characters that no header may have.
    #[error("a header of the request has forbidden characters")]
    Header,
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// TLS is required.
    #[error("{host} is not asked without TLS: use https")]
    Plain { host: String },
    /// The file with issuers cannot be used.
    #[error("{0}")]
    CaFile(String),
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
    /// The server does not speak HTTP, or ends in the middle of it.
    #[error("{address}: no HTTP: {error}")]
    Http { address: SocketAddr, error: hyper::Error },
    /// The body is too long.
    #[error("{address}: the answer is longer than {max_body} bytes")]
    Long { address: SocketAddr, max_body: usize },
    /// The time is up.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
}

/// Asks a URL that the operator has chosen, also without TLS.
///
/// # Errors
/// As [`send`].
#[cfg(any(test, feature = "cli"))]
pub async fn get(
    url: &str,
    headers: &[(&str, &str)],
    limit: Duration,
) -> Result<HttpResponse, Error> {
    let (method, body, plain) = (Method::GET, Bytes::new(), Plain::Any);
    let (max_body, reach) = (MAX_BODY, Reach::Named);
    send(Call { method, url, headers, body, limit, max_body, reach, plain, ca_file: None }).await
}

/// Sends a text to a URL that the operator has chosen.
///
/// # Errors
/// As [`send`].
pub async fn post(url: &str, body: Bytes, limit: Duration) -> Result<HttpResponse, Error> {
    let headers = &[("content-type", "text/plain; charset=utf-8")];
    let (method, plain) = (Method::POST, Plain::Loopback);
    let (max_body, reach) = (MAX_BODY, Reach::Named);
    send(Call { method, url, headers, body, limit, max_body, reach, plain, ca_file: None }).await
}

/// Sends a request, once. The certificate must be for the host of the URL and of an issuer that is trusted. A redirect is an
/// answer as any other.
///
/// # Errors
/// If the URL leads to where it may not, or if there is no answer within the limits.
pub async fn send(call: Call<'_>) -> Result<HttpResponse, Error> {
    let limit = call.limit;
    let sending = async {
        let url = RequestUrl::parse(call.url)?;
        let request = url.request(call.method, call.headers, call.body)?;
        let config = if url.is_tls { Some(trusting(call.ca_file)?) } else { None };
        let addresses = resolve(&url.host, url.port, call.reach, limit).await?;
        if !url.is_tls && !call.plain.admits(&addresses) {
            return Err(Error::Plain { host: url.host });
        }
        let connected = connect_to_any(&url.host, &addresses, limit).await?;
        exchange(connected, &url.host, config, request, limit, call.max_body).await
    };
    timeout(limit, sending).await.unwrap_or(Err(Error::Timeout(limit)))
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
        let url = RequestUrl::parse(&format!("{scheme}://{address}{path}"))?;
        let request = url.request(Method::GET, &[], Bytes::new())?;
        let config = if url.is_tls { Some(tls::unverified()?) } else { None };
        let connected = connect_to_any(&url.host, &[address], limit).await?;
        exchange(connected, &url.host, config, request, limit, MAX_BODY).await
    };
    timeout(limit, asking).await.unwrap_or(Err(Error::Timeout(limit)))
}

impl Plain {
    fn admits(self, addresses: &[SocketAddr]) -> bool {
        match self {
            Self::Loopback => {
                addresses.iter().all(|address| address.ip().to_canonical().is_loopback())
            }
            Self::Any => true,
        }
    }
}

/// The host of a URL that can be asked, in lower case and without the brackets of an IPv6 address.
pub fn host_of(url: &str) -> Option<String> {
    RequestUrl::parse(url).ok().map(|url| url.host.to_ascii_lowercase())
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
        let invalid = || Error::Url("is not one of http or https with a host");
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid()),
        };
        let authority = uri.authority().ok_or_else(invalid)?;
        if authority.as_str().contains('@') {
            return Err(Error::Url("has a user name"));
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") if is_tls => 443,
            Some("") => 80,
            _ => authority.port_u16().filter(|port| *port > 0).ok_or_else(invalid)?,
        };
        let host = authority.host();
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) if address.parse::<Ipv6Addr>().is_err() => return Err(invalid()),
            Some(address) => address.to_owned(),
            None => host.to_owned(),
        };
        if host.is_empty() { Err(invalid()) } else { Ok(Self { uri, host, port, is_tls }) }
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
        request.body(Full::new(body)).map_err(|_| Error::Header)
    }
}

/// The issuers of the system are shared, so a configuration costs little. Each connection has its own: none skips the
/// verification by resuming an earlier one.
fn trusting(ca_file: Option<&Path>) -> Result<ClientConfig, Error> {
    let own = match ca_file {
        Some(file) => tls::issuers_in(file).map_err(Error::CaFile)?,
        None => RootCertStore::empty(),
    };
    let issuers = tls::system_issuers_and(&own);
    if issuers.is_empty() { Err(Error::NoIssuers) } else { Ok(tls::verified(issuers)?) }
}

async fn exchange(
    (stream, address): (TcpStream, SocketAddr),
    host: &str,
    config: Option<ClientConfig>,
    request: Request<Full<Bytes>>,
    limit: Duration,
    max_body: usize,
) -> Result<HttpResponse, Error> {
    let local = stream.local_addr().map_err(|error| ConnectError::Connect { address, error })?;
    let Some(mut config) = config else {
        return converse(stream, address, local, request, limit, max_body).await;
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = tls::handshake(Arc::new(config), host, stream, limit).await;
    let stream = stream.map_err(|error| tls_error(address, error))?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
    let response = converse(stream, address, local, request, limit, max_body).await?;
    Ok(HttpResponse { certificates, ..response })
}

fn tls_error(address: SocketAddr, error: io::Error) -> Error {
    match error.get_ref().and_then(|cause| cause.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(cause)) => {
            Error::Certificate { address, cause: cause.clone() }
        }
        _ => Error::Tls { address, error },
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    address: SocketAddr,
    local: SocketAddr,
    request: Request<Full<Bytes>>,
    limit: Duration,
    max_body: usize,
) -> Result<HttpResponse, Error> {
    let failed = |error| Error::Http { address, error };
    let mut http = http1::Builder::new();
    let (mut sender, connection) =
        http.max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // Ends when the sender is dropped. This limit, which is never reached before that of the caller, is for a server that does not
    // let the connection close.
    tokio::spawn(timeout(2 * limit, connection));
    let (head, mut frames) = sender.send_request(request).await.map_err(failed)?.into_parts();
    // Copied, because a frame of one byte keeps the whole buffer that it was read into.
    let mut body = Vec::new();
    while let Some(frame) = frames.frame().await {
        let data = frame.map_err(failed)?.into_data().unwrap_or_default();
        if data.len() > max_body - body.len() {
            return Err(Error::Long { address, max_body });
        }
        body.extend_from_slice(&data);
    }
    Ok(HttpResponse {
        status: head.status.as_u16(),
        headers: head.headers,
        body: body.into(),
        local,
        certificates: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        process::Command,
        sync::mpsc,
        thread,
    };

    use rustls::{
        ServerConfig, ServerConnection, StreamOwned,
        pki_types::{PrivateKeyDer, pem::PemObject},
    };

    use super::*;

    const LONG: Duration = Duration::from_secs(30);
    const SHORT: Duration = Duration::from_secs(1);

    /// Passes one request, and the connection on which to answer, to `answer`. Returns the port.
    fn serve(answer: impl FnOnce(String, &mut TcpStream) + Send + 'static) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = read_head(&mut stream);
            answer(head, &mut stream);
            // Keeps the connection open until the client closes it.
            let _ = stream.read(&mut [0]);
        });
        port
    }

    fn read_head(stream: &mut impl Read) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        String::from_utf8(head).unwrap()
    }

    /// Sends `head`, and `part` again and again until the client has closed the connection. Returns the port and what tells the end.
    fn serve_endlessly(head: &str, part: &str, pause: Duration) -> (u16, mpsc::Receiver<()>) {
        let (head, part, (ended, end)) = (head.to_owned(), part.to_owned(), mpsc::channel());
        let port = serve(move |_, stream| {
            let mut sent = stream.write_all(head.as_bytes());
            while !part.is_empty() && sent.is_ok() {
                thread::sleep(pause);
                sent = stream.write_all(part.as_bytes());
            }
            let _ = ended.send(());
        });
        (port, end)
    }

    fn call(url: &str) -> Call<'_> {
        Call {
            method: Method::GET,
            url,
            headers: &[],
            body: Bytes::new(),
            limit: LONG,
            max_body: 1000,
            reach: Reach::Named,
            plain: Plain::Loopback,
            ca_file: None,
        }
    }

    #[tokio::test]
    async fn an_answer_is_read_and_a_redirect_is_not_followed() {
        let port = serve(|head, stream| {
            assert!(head.starts_with("GET /x?y HTTP/1.1\r\nhost: 127.0.0.1:"), "{head}");
            assert!(head.contains("\r\nx-probe: 1\r\n"), "{head}");
            let answer =
                "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 2\r\n\r\nhi";
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let url = format!("http://127.0.0.1:{port}/x?y");
        let answer = get(&url, &[("x-probe", "1")], LONG).await.unwrap();
        assert_eq!((answer.status, &answer.body[..]), (302, &b"hi"[..]));
        assert_eq!(answer.header("location"), Some("http://192.0.2.1/"));
        assert!(answer.certificates.is_empty() && answer.local.ip().is_loopback());
        assert_eq!(format!("{answer:?}"), "HttpResponse { status: 302, .. }");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_answer_takes_more_memory_than_allowed() {
        let ok = "HTTP/1.1 200 OK\r\n";
        let header = format!("x: {}\r\n", "y".repeat(1000));
        let long = "answer is longer than 1000 bytes";
        for (head, part, expected) in [
            ("Content-Length: 67108864\r\n\r\n", "0123456789", long),
            ("Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", long),
            ("Connection: close\r\n\r\n", "0123456789", long),
            ("", &header, "no HTTP"),
            ("", "x: y\r\n", "no HTTP"),
        ] {
            let (port, end) = serve_endlessly(&format!("{ok}{head}"), part, Duration::ZERO);
            let error = send(call(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            end.recv_timeout(LONG).unwrap();
        }
        // As long as it may be.
        let port = serve(|_, stream| {
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{:1000}", "");
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let answer = send(call(&format!("http://127.0.0.1:{port}/"))).await.unwrap();
        assert_eq!(answer.body.len(), 1000);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_answer_takes_more_time_than_allowed() {
        let ok = "HTTP/1.1 200 OK\r\n";
        let (pause, none) = (Duration::from_millis(50), Duration::ZERO);
        for (head, part, pause) in [
            ("", "", pause),
            (ok, "x", pause),
            (&format!("{ok}Content-Length: 1000\r\n\r\n"), "x", pause),
            (&format!("{ok}Transfer-Encoding: chunked\r\n\r\n"), "1\r\nx\r\n", pause),
            ("", "HTTP/1.1 103 Early Hints\r\n\r\n", none),
        ] {
            let (port, end) = serve_endlessly(head, part, pause);
            let url = format!("http://127.0.0.1:{port}/");
            let error = send(Call { limit: SHORT, ..call(&url) }).await.unwrap_err();
            assert_eq!(error.to_string(), "no answer within 1 s", "{head}{part}");
            end.recv_timeout(LONG).unwrap();
        }
    }

    #[tokio::test]
    async fn without_tls_only_this_machine_is_asked() {
        for plain in [Plain::Loopback, Plain::Any] {
            for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
                let port = serve(|_, stream| {
                    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                });
                let url = format!("http://{host}:{port}/");
                let answer = send(Call { plain, ..call(&url) }).await.unwrap();
                assert_eq!(answer.status, 204);
            }
        }
        // Refused before a connection is tried.
        let error = send(call("http://192.0.2.1/")).await.unwrap_err();
        assert_eq!(error.to_string(), "192.0.2.1 is not asked without TLS: use https");
        let reach = Reach::Public { allowed: &[] };
        let error = send(Call { reach, ..call("http://localhost/") }).await.unwrap_err();
        assert!(matches!(error, Error::Connect(ConnectError::NotPublic { .. })), "{error}");
    }

    #[tokio::test]
    async fn a_url_that_cannot_be_asked_is_refused_and_not_repeated() {
        for (url, expected) in [
            ("https://ada:geheim@a.example/", "the URL has a user name"),
            ("https://127.0.0.1:1@a.example/", "the URL has a user name"),
            ("geheim", "the URL is not one of http or https with a host"),
            ("ftp://a.example/geheim", "the URL is not one of http or https with a host"),
            ("https://:443/?geheim", "the URL is not one of http or https with a host"),
            ("https://[geheim]/", "the URL is not one of http or https with a host"),
            ("https://a.example:0/?geheim", "the URL is not one of http or https with a host"),
            ("https://a.example:99999/?geheim", "the URL is not one of http or https with a host"),
            ("https://a.example/ geheim", "the URL is not one of http or https with a host"),
            ("http://a.invalid/?geheim", "a.invalid has no address"),
            ("http://127.0.0.1:1/?geheim", "127.0.0.1:1: Connection refused"),
        ] {
            let error = send(call(url)).await.unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
        }
        let headers = &[("authorization", "geheim\n")];
        let error = send(Call { headers, ..call("http://127.0.0.1:1/") }).await.unwrap_err();
        assert_eq!(
            format!("{error} {error:?}"),
            "a header of the request has forbidden characters Header"
        );
    }

    #[test]
    fn the_host_of_a_url_is_what_is_connected_to() {
        for (url, host) in [
            ("https://A.example/x", Some("a.example")),
            ("https://a.example:8443", Some("a.example")),
            ("http://[::1]:80/", Some("::1")),
            ("https://a.example?x", Some("a.example")),
            ("https://a.example@evil.example/", None),
            ("https://a.example\\evil.example/", None),
            ("https://[::1", None),
            ("nonsense", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    /// A certificate for `localhost` that is its own issuer, and a server with it that says by which name it was asked.
    fn serve_tls(folder: &Path) -> u16 {
        let made = Command::new("openssl")
            .current_dir(folder)
            .args(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=a"
                    .split(' '),
            )
            .args(
                "-addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE".split(' '),
            )
            .args("-keyout key.pem -out certificate.pem".split(' '))
            .output();
        assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
        let certificate = CertificateDer::from_pem_file(folder.join("certificate.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_err() {
                    continue;
                }
                let host = read_head(&mut stream).to_lowercase();
                let host = host.split("\r\nhost: ").nth(1).unwrap().split("\r\n").next().unwrap();
                let text = format!("{} {host}", stream.conn.server_name().unwrap());
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
                stream.write_all((head + &text).as_bytes()).unwrap();
            }
        });
        port
    }

    #[tokio::test]
    async fn a_certificate_is_verified_for_the_name_of_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let port = serve_tls(folder.path());
        let file = folder.path().join("certificate.pem");
        let (by_name, by_address) =
            (format!("https://localhost:{port}/"), format!("https://127.0.0.1:{port}/"));
        let ca_file = Some(file.as_path());
        let answer =
            send(Call { ca_file, plain: Plain::Loopback, ..call(&by_name) }).await.unwrap();
        assert_eq!(answer.body, format!("localhost localhost:{port}"));
        assert_eq!(answer.certificates.len(), 1);
        let error = send(Call { ca_file, ..call(&by_address) }).await.unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Certificate { cause: CertificateError::NotValidForNameContext { .. }, .. }
            ),
            "{error}"
        );
        let error = send(call(&by_name)).await.unwrap_err();
        let is_unknown = matches!(
            &error,
            Error::NoIssuers | Error::Certificate { cause: CertificateError::UnknownIssuer, .. }
        );
        assert!(is_unknown, "{error}");
        fs::write(&file, "geheim").unwrap();
        let error = send(Call { ca_file, ..call(&by_name) }).await.unwrap_err().to_string();
        assert!(error.ends_with("certificate.pem: contains no certificate (PEM)"), "{error}");
    }
}
