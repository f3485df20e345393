//! Answers that are made as a whole before they are sent: backups and exports. A thread of low priority writes one into a file
//! without a name in the data folder, from one consistent read. So a slow receiver does not keep the write-ahead log from being
//! reset, and a failure has a status of its own.

use std::{
    fs::File,
    io::{self, Read, Seek},
    pin::Pin,
    thread,
};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use tokio::{runtime::Handle, sync::oneshot, task::spawn_blocking};
use tracing::Span;

use super::{answer::NO_STORE, error::Error};
use crate::{Doorward, data_folder::Spool};

/// One JSON value in each line.
pub(super) const JSON_LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");
/// Less than that of everything that people wait for.
const NICENESS: i32 = 10;
/// The bytes that are read from the file at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// What writes the content. It returns the number of users, for the log, or why there is no content.
pub(super) type Writing<'a> = Pin<Box<dyn Future<Output = Result<u64, String>> + Send + 'a>>;

/// Makes the content and answers with it. `name` is that of the content in the log.
pub(super) async fn answer(
    doorward: &Doorward,
    name: &'static str,
    write: impl for<'a> FnOnce(&'a Doorward, &'a mut Spool<'_>) -> Writing<'a> + Send + 'static,
) -> Result<Response, Error> {
    let (doorward, runtime, span) = (doorward.clone(), Handle::current(), Span::current());
    let (done, made) = oneshot::channel();
    let spawned = thread::Builder::new().name(name.into()).spawn(move || {
        // Names the operator.
        let _entered = span.entered();
        if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            tracing::debug!(%error, "the priority of a backup or an export cannot be lowered");
        }
        let _ = done.send(runtime.block_on(make(&doorward, name, write)));
    });
    let failed = |cause: String| Error::NotDone(StatusCode::SERVICE_UNAVAILABLE, cause);
    spawned.map_err(|error| failed(error.to_string()))?;
    let made = made.await.map_err(|_| failed(format!("the thread of the {name} has panicked")))?;
    let file = made.map_err(failed)?;
    let bytes = file.metadata().map_err(|error| failed(error.to_string()))?.len();
    let headers = [
        (header::CONTENT_TYPE, JSON_LINES),
        (header::CONTENT_LENGTH, HeaderValue::from(bytes)),
        (header::CACHE_CONTROL, NO_STORE),
    ];
    Ok((headers, Body::from_stream(chunks(file))).into_response())
}

async fn make(
    doorward: &Doorward,
    name: &'static str,
    write: impl for<'a> FnOnce(&'a Doorward, &'a mut Spool<'_>) -> Writing<'a>,
) -> Result<File, String> {
    let folder = doorward.folder().ok_or("the server has no data folder")?;
    let in_folder = |error: io::Error| format!("{}: {error}", folder.path().display());
    let mut spool = Spool::new(folder).map_err(in_folder)?;
    let written = write(doorward, &mut spool).await;
    match &written {
        Ok(users) => tracing::info!(users, content = name, "a backup or an export was made"),
        Err(cause) => tracing::error!(cause, content = name, "a backup or an export failed"),
    }
    written?;
    let mut file = spool.into_file();
    file.rewind().map_err(in_folder)?;
    Ok(file)
}

/// The content of a file.
fn chunks(file: File) -> impl stream::Stream<Item = io::Result<Bytes>> {
    stream::try_unfold(file, async |mut file| {
        let read = spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK_BYTES);
            (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
            Ok::<_, io::Error>((Bytes::from(chunk), file))
        });
        let (chunk, file) = read.await.map_err(io::Error::other)??;
        Ok(if chunk.is_empty() { None } else { Some((chunk, file)) })
    })
}
