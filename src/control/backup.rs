//! A backup of a running server with SQLite. A thread of low priority writes it into a file without a name in the data
//! folder, from one consistent read, and then sends it. So a slow receiver never keeps the write-ahead log from being reset.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Seek, Write},
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::{
    Doorward,
    backup::{self, Description},
    config::DatabaseUrl,
    data_folder::{self, DataFolder, Reserve},
    private_file,
    store::archive::KeySnapshot,
    token::key_store::KeyStore,
};

/// The line that asks for a backup. A version that does not know it answers with an error.
pub(super) const REQUEST: &[u8] = b"\"backup\"\n";
/// The name of the file before it loses it.
const SPOOL: &str = "unfinished-backup";
/// Disk space that the file leaves to the database.
const SPARE_BYTES: u64 = 64 << 20;
/// How long the receiver may read nothing.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Less than that of everything that people wait for.
const NICENESS: i32 = 10;

/// The first line of the answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// The backup follows.
    Backup {
        /// Its length in bytes.
        bytes: u64,
    },
    /// There is none, with the reason.
    Failed(String),
}

/// Makes a backup in a thread and sends it.
pub(super) fn serve(stream: UnixStream, doorward: Doorward) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(RECEIVE_TIMEOUT))?;
    let runtime = Handle::current();
    thread::Builder::new().name("backup".into()).spawn(move || {
        if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            tracing::debug!(%error, "the priority of the backup cannot be lowered");
        }
        if let Err(error) = make_and_send(&runtime, stream, &doorward) {
            tracing::warn!(%error, "a backup could not be sent");
        }
    })?;
    Ok(())
}

fn make_and_send(runtime: &Handle, mut stream: UnixStream, doorward: &Doorward) -> io::Result<()> {
    let (answer, spool) = match runtime.block_on(spool(doorward)) {
        Ok((spool, description)) => {
            let bytes = spool.metadata()?.len();
            let users = description.counts.users;
            tracing::info!(users, bytes, "a backup was made");
            (Answer::Backup { bytes }, Some(spool))
        }
        Err(cause) => {
            tracing::error!(%cause, "a backup failed");
            (Answer::Failed(cause), None)
        }
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    if let Some(mut spool) = spool {
        spool.rewind()?;
        io::copy(&mut spool, &mut stream)?;
    }
    Ok(())
}

/// Writes a backup into a file that has no name, so that a crash leaves nothing behind.
async fn spool(doorward: &Doorward) -> Result<(File, Description), String> {
    let (DatabaseUrl::Sqlite(database), Some(folder)) =
        (&doorward.settings().database, doorward.folder())
    else {
        return Err("run this command with the settings of the server: it uses PostgreSQL".into());
    };
    let needed = fs::metadata(database).map_or(0, |metadata| metadata.len()) + SPARE_BYTES;
    let reserve = folder.reserve();
    if let Some(available) = reserve.available().filter(|available| *available < needed) {
        return Err(format!(
            "{} has {} MiB of free space, and a backup needs {} MiB while it is made: free some space",
            folder.path().display(),
            available >> 20,
            needed >> 20
        ));
    }
    let in_folder = |error: io::Error| format!("{}: {error}", folder.path().display());
    let mut output =
        Spool { file: unnamed_file(folder.path()).map_err(in_folder)?, reserve, unchecked: 0 };
    let now = doorward.now();
    let snapshot = doorward.archive().snapshot().await.map_err(|error| error.to_string())?;
    // After the snapshot: the keys of all tokens in it are still there, unless they were revoked.
    let keys = keys(doorward, folder).await?;
    let written = backup::write(&snapshot, &keys, now, &mut output, &mut |_, _| {}).await;
    Ok((output.file, written.map_err(|error| error.to_string())?))
}

async fn keys(doorward: &Doorward, folder: &DataFolder) -> Result<KeySnapshot, String> {
    let in_store = |error: crate::token::key_store::KeyStoreError| error.to_string();
    let keys = doorward.keys().read_unchanged(folder).await.map_err(in_store)?;
    let cookie_secret = folder.stored_cookie_secret().await.map_err(in_store)?;
    Ok(KeySnapshot { keys, cookie_secret })
}

fn unnamed_file(folder: &Path) -> io::Result<File> {
    let path = folder.join(SPOOL);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = private_file::options().read(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A file that stops growing before the disk is full.
struct Spool<'a> {
    file: File,
    reserve: &'a Reserve,
    /// The bytes since the free space was last checked.
    unchecked: u64,
}

impl Write for Spool<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const CHECK_AFTER: u64 = 8 << 20;
        self.unchecked += bytes.len() as u64;
        if self.unchecked >= CHECK_AFTER {
            self.unchecked = 0;
            if self.reserve.available().is_some_and(|available| available < SPARE_BYTES) {
                let cause = "the disk of the data folder is nearly full: free some space";
                return Err(io::Error::new(io::ErrorKind::StorageFull, cause));
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A backup that a server sends.
pub struct SentBackup {
    /// The backup.
    pub stream: BufReader<UnixStream>,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Asks the server that runs on this data folder for a backup. Returns when the server has made it.
///
/// # Errors
/// If the server cannot be reached or cannot make a backup.
pub fn request_backup(folder: &Path) -> io::Result<SentBackup> {
    let socket = DataFolder::socket(folder)?;
    let mut stream = UnixStream::connect(&socket)?;
    stream.write_all(REQUEST)?;
    let mut stream = BufReader::with_capacity(256 << 10, stream);
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::Error::other("the server stopped"));
    }
    match serde_json::from_slice(&line)? {
        Answer::Backup { bytes } => Ok(SentBackup { stream, bytes }),
        Answer::Failed(cause) => Err(io::Error::other(cause)),
    }
}

/// Whether the error means that another process uses the data folder.
pub fn is_in_use(error: &crate::OpenError) -> bool {
    matches!(error, crate::OpenError::Data(data_folder::Error::InUse { .. }))
}
