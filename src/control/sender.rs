//! Sends a backup or an export of a running server. A thread of low priority writes it into a file without a name in the data
//! folder, from one consistent read, and then sends it. So a slow receiver keeps neither the write-ahead log from being
//! reset nor another command from being executed.

use std::{
    fs::File,
    io::{self, Seek, Write},
    os::unix::net::UnixStream,
    thread,
    time::Duration,
};

use tokio::runtime::Handle;
use tracing::Span;

use super::{
    backup,
    spool::{Content, FirstLine, Spool},
};
use crate::{Doorward, account::export};

/// How long the receiver may read nothing.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Less than that of everything that people wait for.
const NICENESS: i32 = 10;

/// Makes the content in a thread and sends it.
pub(super) fn serve(stream: UnixStream, doorward: Doorward, content: Content) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(RECEIVE_TIMEOUT))?;
    let (runtime, name) = (Handle::current(), content.name());
    // Names the operator.
    let span = Span::current();
    thread::Builder::new().name(name.into()).spawn(move || {
        let _entered = span.entered();
        if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            tracing::debug!(%error, "the priority of a backup or an export cannot be lowered");
        }
        let made = runtime.block_on(make(&doorward, content));
        // A slow receiver does not keep the database open.
        drop(doorward);
        if let Err(error) = send(stream, made) {
            tracing::warn!(%error, content = name, "a backup or an export could not be sent");
        }
    })?;
    Ok(())
}

fn send(mut stream: UnixStream, made: Result<File, String>) -> io::Result<()> {
    let (answer, file) = match made {
        Ok(file) => (FirstLine::Content { bytes: file.metadata()?.len() }, Some(file)),
        Err(cause) => (FirstLine::Failed(cause), None),
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    if let Some(mut file) = file {
        file.rewind()?;
        io::copy(&mut file, &mut stream)?;
    }
    Ok(())
}

async fn make(doorward: &Doorward, content: Content) -> Result<File, String> {
    let folder = doorward.folder().ok_or("the server has no data folder")?;
    let in_folder = |error: io::Error| format!("{}: {error}", folder.path().display());
    let mut spool = Spool::new(folder).map_err(in_folder)?;
    let users = match content {
        Content::Backup => backup::write(doorward, folder, &mut spool).await,
        Content::Export => export::write_users(doorward, &mut spool, &mut |_, _| {})
            .await
            .map_err(|error| error.to_string()),
    };
    match users {
        Ok(users) => {
            tracing::info!(users, content = content.name(), "a backup or an export was made")
        }
        Err(ref cause) => {
            tracing::error!(%cause, content = content.name(), "a backup or an export failed");
        }
    }
    users.map(|_| spool.file)
}
