//! The socket in the data folder, on which a running server answers the operator's requests to the admin API.

use std::{
    convert::Infallible,
    fs::{self, Permissions},
    io,
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt,
    sync::Arc,
    time::Duration,
};

use axum::body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinSet,
};
use tracing::Instrument;

use super::operator::Operator;
use crate::{
    Doorward,
    config::ReadSettings,
    data_folder::{DataFolder, SocketPath},
    http::{self, App, admin, read_buffer::wipe},
};

/// The most time until a client has sent the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The most connections at a time. Others wait until they can connect. It is more than anybody runs commands: whoever receives a
/// backup or an export slowly keeps no other command waiting.
const MAX_COMMANDS: usize = 64;

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
                    let (service, read) = (service.clone(), Arc::clone(read));
                    commands.spawn(async move {
                        if let Err(error) = serve_one(stream, &service, &read).await {
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

/// Answers the requests of the operator on this connection.
async fn serve_one(
    stream: UnixStream,
    service: &http::Service,
    read: &Arc<ReadSettings>,
) -> io::Result<()> {
    let operator = Operator::at(&stream)?;
    let span = operator.span();
    if !operator.may_give_orders() {
        span.in_scope(|| tracing::warn!("a command of another user of this machine was refused"));
        return Ok(());
    }
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
    // A connection is for one request: an idle one would keep others waiting.
    let mut serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        // hyper would otherwise look for the end of the stream while the request is answered, in another read buffer. The first
        // one could then not be wiped.
        .half_close(true)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    let served = (&mut serving).await;
    // The body of a command may have been a password.
    wipe(serving.into_parts().read_buf);
    served.map_err(io::Error::other)
}
