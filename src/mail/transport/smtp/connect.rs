//! Opens a connection to a mail server: address, TCP, TLS, login. STARTTLS is negotiated here and not by lettre, which would
//! take what somebody on the way adds to the plain reply for a reply of the encrypted session.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{Arc, OnceLock},
};

use lettre::transport::smtp::{
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::AsyncSmtpConnection,
    commands::{Ehlo, Starttls},
    extension::{Extension, ServerInfo},
    response::Response,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use zeroize::Zeroizing;

use super::{
    Failure, Redaction, Session, Smtp, Step, TransportError,
    stream::{MAX_REPLY_BYTES, SmtpStream, too_long},
};
use crate::mail::Encryption;

/// The certificates that servers are checked with. Those of the system are read at the first connection.
pub(super) struct Certificates {
    own: Vec<CertificateDer<'static>>,
    config: OnceLock<Arc<ClientConfig>>,
}

impl Certificates {
    pub(super) fn new(file: Option<&Path>) -> Result<Self, TransportError> {
        let own = file.map(read_certificates).transpose()?.unwrap_or_default();
        Ok(Self { own, config: OnceLock::new() })
    }

    fn config(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.own.iter().cloned());
        if roots.is_empty() {
            return Err("the system has no certificates: install them, or set mail.ca_file".into());
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
    }
}

fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let refuse = |cause: &dyn std::fmt::Display| {
        TransportError::new("mail.ca_file", format!("{}: {cause}", file.display()))
    };
    let text = fs::read(file).map_err(|error| refuse(&error))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| refuse(&error))?;
    if certificates.is_empty() {
        return Err(refuse(&"contains no certificate (PEM)"));
    }
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| refuse(&error))?;
    }
    Ok(certificates)
}

impl Smtp {
    /// A connection on which mail can be sent.
    pub(super) async fn connect(&self) -> Result<Session, Failure> {
        let (stream, peer) = self.connect_tcp().await?;
        let is_local = peer.ip().to_canonical().is_loopback();
        let (stream, is_encrypted) = match self.server.encryption {
            Encryption::Implicit => {
                (SmtpStream::encrypted(self.handshake(stream).await?, Vec::new()), true)
            }
            Encryption::StartTls => {
                let (stream, greeting) = self.start_tls(stream).await?;
                (SmtpStream::encrypted(self.handshake(stream).await?, greeting), true)
            }
            Encryption::None if is_local => (SmtpStream::plain(stream), false),
            // The name stands for this machine, but its address is another one.
            Encryption::None => {
                let text =
                    format!("{peer} is not this machine, and the connection is not encrypted");
                return Err(Failure::new(Step::Connect, text));
            }
        };
        let hello = AsyncSmtpConnection::connect_with_transport(Box::new(stream), &self.hello);
        let connection = self.in_time(self.timeouts.command, hello).await;
        let mut connection =
            connection.map_err(|error| error.failure(Step::Hello, &Redaction::default()))?;
        self.report(&format!("EHLO {}: accepted", self.hello));
        let login = match &self.user {
            Some((user, password_file)) => {
                debug_assert!(is_encrypted || is_local);
                self.log_in(&mut connection, user, password_file).await?
            }
            None => Redaction::default(),
        };
        Ok(Session { connection, login })
    }

    async fn connect_tcp(&self) -> Result<(TcpStream, SocketAddr), Failure> {
        let limit = self.timeouts.connect;
        let seconds = limit.as_secs();
        let host = &self.server.host;
        let found = timeout(limit, lookup_host((host.as_str(), self.server.port))).await;
        let addresses: Vec<_> = match found {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => {
                return Err(Failure::new(Step::Resolve, format!("{host} has no address: {error}")));
            }
            Err(_) => {
                let text = format!("no address of {host} within {seconds} s");
                return Err(Failure::new(Step::Resolve, text));
            }
        };
        let mut failure = Failure::new(Step::Resolve, format!("{host} has no address"));
        for address in addresses {
            let text = match timeout(limit, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Commands are short and wait for replies.
                    let _ = stream.set_nodelay(true);
                    self.report(&format!("connected to {address}"));
                    return Ok((stream, address));
                }
                Ok(Err(error)) => format!("{address}: {error}"),
                Err(_) => format!("{address}: no answer within {seconds} s"),
            };
            failure = Failure::new(Step::Connect, text);
        }
        Err(failure)
    }

    async fn handshake(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, Failure> {
        let refuse = |text: String| Failure::new(Step::Tls, text);
        let config = self.certificates.config().map_err(refuse)?;
        let name = ServerName::try_from(self.server.host.clone());
        let name = name.map_err(|error| refuse(error.to_string()))?;
        let limit = self.timeouts.connect;
        match timeout(limit, TlsConnector::from(config).connect(name, stream)).await {
            Ok(Ok(stream)) => {
                let version = stream.get_ref().1.protocol_version();
                let version = version.and_then(|version| version.as_str()).unwrap_or("TLS");
                self.report(&format!("encrypted with {}", version.replace('_', ".")));
                Ok(stream)
            }
            Ok(Err(error)) => Err(refuse(error.to_string())),
            Err(_) => Err(refuse(format!("no answer within {} s", limit.as_secs()))),
        }
    }

    /// Asks the server for TLS. Returns its greeting as well.
    async fn start_tls(&self, stream: TcpStream) -> Result<(TcpStream, Vec<u8>), Failure> {
        let mut stream = BufReader::new(stream);
        let greeting = self.read_reply(&mut stream, Step::Hello).await?;
        let hello = Ehlo::new(self.hello.clone()).to_string();
        let hello = self.command(&mut stream, &hello, Step::Hello).await?;
        let info = ServerInfo::from_response(&parse_reply(&hello, Step::Hello)?)
            .map_err(|error| Failure::new(Step::Hello, error.to_string()))?;
        if !info.supports_feature(Extension::StartTls) {
            let text = "the server does not offer it, and mail is not sent unencrypted";
            return Err(Failure::new(Step::StartTls, text));
        }
        self.command(&mut stream, &Starttls.to_string(), Step::StartTls).await?;
        if !stream.buffer().is_empty() {
            let text = "the server sent more than one reply before encryption";
            return Err(Failure::new(Step::StartTls, text));
        }
        self.report("STARTTLS: accepted");
        Ok((stream.into_inner(), greeting.into_bytes()))
    }

    /// Sends a command. Returns the reply if it is positive.
    async fn command(
        &self,
        stream: &mut BufReader<TcpStream>,
        command: &str,
        step: Step,
    ) -> Result<String, Failure> {
        let sent = timeout(self.timeouts.command, stream.write_all(command.as_bytes())).await;
        match sent {
            Ok(Ok(())) => self.read_reply(stream, step).await,
            Ok(Err(error)) => Err(Failure::new(step, error.to_string())),
            Err(_) => Err(self.no_answer(step)),
        }
    }

    /// Reads all lines of a reply. Returns it if it is positive.
    async fn read_reply(
        &self,
        stream: &mut BufReader<TcpStream>,
        step: Step,
    ) -> Result<String, Failure> {
        let read = async {
            let (mut reply, mut limited) = (String::new(), stream.take(MAX_REPLY_BYTES as u64));
            loop {
                let start = reply.len();
                let count = limited.read_line(&mut reply).await?;
                if limited.limit() == 0 {
                    return Err(too_long());
                }
                if count == 0 {
                    return Err(std::io::Error::other(
                        "the server closed the connection without an answer",
                    ));
                }
                // All lines but the last have a hyphen after the code.
                if reply.as_bytes().get(start + 3) != Some(&b'-') {
                    return Ok(reply);
                }
            }
        };
        match timeout(self.timeouts.command, read).await {
            Ok(Ok(reply)) => {
                parse_reply(&reply, step)?;
                Ok(reply)
            }
            Ok(Err(error)) => Err(Failure::new(step, error.to_string())),
            Err(_) => Err(self.no_answer(step)),
        }
    }

    fn no_answer(&self, step: Step) -> Failure {
        Failure::new(step, format!("no answer within {} s", self.timeouts.command.as_secs()))
    }

    /// Logs in. Returns what no reply may show.
    async fn log_in(
        &self,
        connection: &mut AsyncSmtpConnection,
        user: &str,
        password_file: &Path,
    ) -> Result<Redaction, Failure> {
        let password = fs::read_to_string(password_file).map(Zeroizing::new).map_err(|error| {
            let text = format!("mail.password_file: {}: {error}", password_file.display());
            Failure::new(Step::Auth, text)
        })?;
        let password = password.trim_end_matches(['\r', '\n']);
        let offered = connection.server_info().get_auth_mechanism(DEFAULT_MECHANISMS);
        let Some(mechanism) = offered else {
            let text = "the server offers no login by PLAIN or LOGIN on this connection";
            return Err(Failure::new(Step::Auth, text));
        };
        let credentials = Credentials::new(user.to_owned(), password.to_owned());
        let mechanisms = [mechanism];
        let login = connection.auth(&mechanisms, &credentials);
        let outcome = self.in_time(self.timeouts.command, login).await;
        let redaction = Redaction::for_login(user, password);
        outcome.map_err(|error| error.failure(Step::Auth, &redaction))?;
        self.report(&format!("AUTH {mechanism}: signed in as {user}"));
        Ok(redaction)
    }
}

/// The reply, if it is positive.
fn parse_reply(text: &str, step: Step) -> Result<Response, Failure> {
    let shown = || Redaction::default().apply(text);
    match text.parse::<Response>() {
        Ok(reply) if reply.is_positive() => Ok(reply),
        Ok(_) => Err(Failure::new(step, shown())),
        Err(_) => Err(Failure::new(step, format!("this is not a mail server: {}", shown()))),
    }
}
