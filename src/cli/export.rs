//! `doorward export [FILE]`: writes all users, with their password hashes, as of one moment.

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{block_on, counted, run, unexpected_reply};
use crate::{
    Settings, config,
    control::{Command, Reply, export_folder},
    private_file,
};

#[derive(clap::Args)]
pub(super) struct Export {
    /// File to create, readable only by you [default: standard output]
    file: Option<PathBuf>,
}

pub(super) const EXAMPLES: &str = "Examples:
  doorward export users.jsonl
  doorward export | age -r age1… > users.jsonl.age";

impl Export {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let file = self.file.filter(|file| file != Path::new("-"));
        match &file {
            Some(file) if file.exists() => {
                bail!("{}: the file exists: name another one, or remove it", file.display())
            }
            None if io::stdout().is_terminal() => {
                bail!("an export contains password hashes: name a file, or redirect the output")
            }
            _ => {}
        }
        let folder = settings.folder().map(config::absolute);
        let reply = block_on(run(settings, Command::ExportUsers))?;
        let Reply::Exported { file: written, users } = reply else {
            return Err(unexpected_reply());
        };
        // The server has written a private file, which holds one moment however long the copy takes.
        let written = RemovedAtEnd(export_folder(folder.as_deref()).join(written));
        let mut source = File::open(&written.0).with_context(|| written.0.display().to_string())?;
        match &file {
            None => copy(&mut source, &mut io::stdout().lock())?,
            Some(file) => {
                save(&mut source, file).with_context(|| file.display().to_string())?;
                eprintln!("{} in {}", counted(users, "user", "users"), file.display());
            }
        }
        Ok(())
    }
}

/// A file that is removed when this is dropped.
struct RemovedAtEnd(PathBuf);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes the file under another name first, so that it is never there in part.
fn save(source: &mut File, file: &Path) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    let part = RemovedAtEnd(PathBuf::from(name));
    // One that another user has created would be readable for them.
    let mut target = match private_file::options().create_new(true).open(&part.0) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(&part.0)?;
            private_file::options().create_new(true).open(&part.0)?
        }
        opened => opened?,
    };
    copy(source, &mut target)?;
    target.sync_all()?;
    fs::rename(&part.0, file)
}

fn copy(source: &mut File, target: &mut impl Write) -> io::Result<()> {
    io::copy(source, target)?;
    target.flush()
}
