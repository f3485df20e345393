//! The socket in the data folder: one command and one reply per connection, each a line of JSON. A backup or an export follows its
//! reply. Buffers are wiped, because some commands carry a password.

use std::{
    convert::Infallible,
    fs::{self, Permissions},
    io,
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt,
    panic::AssertUnwindSafe,
    path::Path,
    sync::Arc,
    time::Duration,
};

use axum::body::Body;
use futures_util::FutureExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::JoinSet,
    time::timeout,
};
use tracing::Instrument;
use zeroize::Zeroizing;

use super::{Command, Reply, execute, operator::Operator, sender, spool::Content};
use crate::{
    Doorward,
    config::ReadSettings,
    data_folder::{DataFolder, SocketPath},
    http::{self, App, admin},
    supervisor,
};

/// The most bytes of a command. A command never outgrows a buffer of this size: reallocating it would leave an unwiped
/// copy.
const MAX_COMMAND_BYTES: usize = 64 << 10;
/// The most time for receiving, executing and answering a command, each.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// The most commands that are executed at a time. Others wait until they can connect.
const MAX_COMMANDS: usize = 8;

/// Where a running server receives commands. The socket file is removed when this is dropped.
pub(super) struct CommandSocket {
    listener: UnixListener,
    path: SocketPath,
}

impl CommandSocket {
    /// Listens in the data folder. This process has locked the folder, so a socket file in it is stale.
    pub(super) fn listen(folder: &DataFolder) -> io::Result<Self> {
        let path = DataFolder::socket(folder.path())?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Executes commands for as long as the future is polled, each in a task of its own.
    pub(super) async fn serve(&self, doorward: &Doorward, read: &Arc<ReadSettings>) {
        let service = http::service(doorward.clone());
        // Ends the commands that are being executed when the future is dropped.
        let mut commands = JoinSet::new();
        loop {
            while commands.len() >= MAX_COMMANDS {
                commands.join_next().await;
            }
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (doorward, read) = (doorward.clone(), Arc::clone(read));
                    let service = service.clone();
                    commands.spawn(async move {
                        if let Err(error) = serve_one(stream, &doorward, &service, &read).await {
                            tracing::debug!(%error, "the connection of a command failed");
                        }
                    });
                }
                Err(error) => {
                    tracing::error!(%error, "cannot accept commands");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

impl Drop for CommandSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn serve_one(
    mut stream: UnixStream,
    doorward: &Doorward,
    service: &http::Service,
    read: &Arc<ReadSettings>,
) -> io::Result<()> {
    let operator = Operator::at(&stream)?;
    let mut first = [0];
    in_time(stream.read_exact(&mut first)).await??;
    // A command is an object or a text. Everything else is HTTP.
    if !matches!(first, [b'{' | b'"']) {
        return serve_http(first, stream, service, read, &operator).await;
    }
    let rest = in_time(read_line((&mut stream).take(MAX_COMMAND_BYTES as u64))).await??;
    let line = Zeroizing::new([&first[..], &rest].concat());
    let span = operator.span(name(&line));
    if let Some(content) = Content::requested_by(&line) {
        return span.in_scope(|| sender::serve(stream.into_std()?, doorward.clone(), content));
    }
    let reply = match serde_json::from_slice::<Command>(&line) {
        Ok(command) => {
            let executing = async {
                tracing::info!("command received");
                execute(doorward, &**read, &command, &operator.administrator()).await
            };
            let executing = AssertUnwindSafe(executing.instrument(span.clone())).catch_unwind();
            let failed = |cause: String| {
                let advice = "check whether the command took effect, and repeat it if not";
                Reply::Failed(format!("the running server {cause}: {advice}"))
            };
            match in_time(executing).await {
                Ok(Ok(reply)) => reply,
                Ok(Err(panic)) => {
                    let cause = supervisor::message(&*panic);
                    span.in_scope(|| tracing::error!(cause, "a command has panicked"));
                    failed("has failed, and its log has the cause".into())
                }
                Err(_) => {
                    let limit = COMMAND_TIMEOUT.as_secs();
                    failed(format!("did not finish within {limit} seconds"))
                }
            }
        }
        Err(error) => {
            Reply::Failed(format!("the running server does not know this command: {error}"))
        }
    };
    in_time(stream.write_all(&to_line(&reply))).await?
}

/// Answers the requests of the operator on this connection. `first` is the byte that was read already.
async fn serve_http(
    first: [u8; 1],
    stream: UnixStream,
    service: &http::Service,
    read: &Arc<ReadSettings>,
    operator: &Operator,
) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let stream = tokio::io::join((&first[..]).chain(reader), writer);
    let span = operator.span("");
    let operator = admin::Operator {
        administrator: operator.administrator(),
        read_settings: Arc::clone(read),
    };
    let answer = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(operator.clone());
        let answer = service.answer(request, (Ipv4Addr::LOCALHOST, 0).into());
        let answer = answer.instrument(span.clone());
        async { Ok::<_, Infallible>(answer.await) }
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    serving.await.map_err(io::Error::other)
}

/// The name of a command, which is the first text of its line. What follows may be a secret.
fn name(line: &[u8]) -> &str {
    let text = line.split(|byte| *byte == b'"').nth(1).unwrap_or_default();
    str::from_utf8(text).unwrap_or_default()
}

async fn in_time<T>(work: impl Future<Output = T>) -> io::Result<T> {
    timeout(COMMAND_TIMEOUT, work).await.map_err(io::Error::from)
}

/// Sends a command to the server that runs on this data folder, and waits for its reply.
pub(super) async fn send(folder: &Path, command: &Command) -> io::Result<Reply> {
    let socket = DataFolder::socket(folder)?;
    let mut stream = UnixStream::connect(&socket).await?;
    stream.write_all(&to_line(command)).await?;
    let reply = read_line(stream).await?;
    if reply.is_empty() {
        return Err(io::Error::other("it stopped before it answered"));
    }
    serde_json::from_slice(&reply).map_err(io::Error::from)
}

/// Reads up to the end of a line or of the stream.
async fn read_line(mut reader: impl AsyncRead + Unpin) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_COMMAND_BYTES));
    while !line.ends_with(b"\n") && reader.read_buf(&mut *line).await? > 0 {}
    Ok(line)
}

fn to_line(message: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_COMMAND_BYTES));
    serde_json::to_writer(&mut *line, message).expect("commands and replies are valid JSON");
    line.push(b'\n');
    line
}
