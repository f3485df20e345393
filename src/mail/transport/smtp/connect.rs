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
use rustls::{ClientConfig, RootCertStore};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::client::TlsStream;
use zeroize::Zeroizing;

use super::{
    Failure, Redaction, Session, Smtp, Step, TransportError,
    stream::{MAX_REPLY_BYTES, SmtpStream, too_long},
};
use crate::{
    mail::{Encryption, SmtpServer},
    outbound::{self, ConnectError, Reach, tls},
};

/// The issuers whose certificates are accepted. Those of the system are read at the first connection.
pub(super) struct Issuers {
    own: RootCertStore,
    config: OnceLock<Arc<ClientConfig>>,
}

impl Issuers {
    /// Those in this file, besides those of the system.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, TransportError> {
        let own = match file {
            Some(file) => {
                tls::issuers_in(file).map_err(|cause| TransportError::new("mail.ca_file", cause))?
            }
            None => RootCertStore::empty(),
        };
        Ok(Self { own, config: OnceLock::new() })
    }

    fn config(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let issuers = tls::system_issuers_and(&self.own);
        if issuers.is_empty() {
            return Err("the system has no certificates: install them, or set mail.ca_file".into());
        }
        let config = tls::verified(issuers).map_err(|error| error.to_string())?;
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
    }
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
        let SmtpServer { host, port, .. } = &self.server;
        let connected = outbound::connect(host, *port, Reach::Named, self.timeouts.connect).await;
        let (stream, address) = connected.map_err(|error| {
            let step = match error {
                ConnectError::Connect { .. } => Step::Connect,
                ConnectError::Resolve { .. } | ConnectError::NotPublic { .. } => Step::Resolve,
            };
            Failure::new(step, error.to_string())
        })?;
        // Commands are short and wait for replies.
        let _ = stream.set_nodelay(true);
        self.report(&format!("connected to {address}"));
        Ok((stream, address))
    }

    async fn handshake(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, Failure> {
        let refuse = |text: String| Failure::new(Step::Tls, text);
        let config = self.issuers.config().map_err(refuse)?;
        let stream = tls::handshake(config, &self.server.host, stream, self.timeouts.connect).await;
        let stream = stream.map_err(|error| refuse(error.to_string()))?;
        let version = stream.get_ref().1.protocol_version();
        let version = version.and_then(|version| version.as_str()).unwrap_or("TLS");
        self.report(&format!("encrypted with {}", version.replace('_', ".")));
        Ok(stream)
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
