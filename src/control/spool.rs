//! A backup or an export on its way: how it is asked for, the file without a name that holds it, and how it is received.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    data_folder::{DataFolder, Reserve},
    private_file,
};

/// The name of the file before it loses it.
const NAME: &str = "unfinished-backup";
/// Disk space that the file leaves to the database.
pub(super) const SPARE_BYTES: u64 = 64 << 20;

/// What a server sends as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Backup,
    /// All users.
    Export,
}

impl Content {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Export => "export",
        }
    }

    /// The line that asks for it. A version that does not know it answers with an error.
    fn request(self) -> String {
        format!("\"{}\"\n", self.name())
    }

    pub(super) fn requested_by(line: &[u8]) -> Option<Self> {
        [Self::Backup, Self::Export]
            .into_iter()
            .find(|content| content.request().as_bytes() == line)
    }
}

/// The first line of what the server sends.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FirstLine {
    /// The content follows.
    Content {
        /// Its length in bytes.
        bytes: u64,
    },
    /// There is none, with the reason.
    Failed(String),
}

/// A file that has no name, so that a crash leaves nothing behind.
fn unnamed_file(folder: &Path) -> io::Result<File> {
    // One at a time, because they have the same name until they lose it.
    static CREATION: Mutex<()> = Mutex::new(());
    let _one_at_a_time = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = private_file::options().read(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A file that stops growing before the disk is full.
pub(super) struct Spool<'a> {
    pub(super) file: File,
    reserve: &'a Reserve,
    /// The bytes since the free space was last checked.
    unchecked: u64,
}

impl<'a> Spool<'a> {
    pub(super) fn new(folder: &'a DataFolder) -> io::Result<Self> {
        let (file, reserve) = (unnamed_file(folder.path())?, folder.reserve());
        Ok(Self { file, reserve, unchecked: 0 })
    }
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

/// What a server sends.
pub struct Sent {
    pub stream: BufReader<UnixStream>,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Asks the server that runs on this data folder for a backup or an export. Returns when the server has made it.
///
/// # Errors
/// If the server cannot be reached or cannot make it.
pub fn request(folder: &Path, content: Content) -> io::Result<Sent> {
    let socket = DataFolder::socket(folder)?;
    let mut stream = UnixStream::connect(&socket)?;
    stream.write_all(content.request().as_bytes())?;
    let mut stream = BufReader::with_capacity(256 << 10, stream);
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::Error::other("the server stopped"));
    }
    match serde_json::from_slice(&line)? {
        FirstLine::Content { bytes } => Ok(Sent { stream, bytes }),
        FirstLine::Failed(cause) => Err(io::Error::other(cause)),
    }
}
