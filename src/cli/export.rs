//! `doorward export [FILE]`: writes all users, with their password hashes, as of one moment, or everything that is stored about one
//! of them.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::{anyhow, bail};

use super::{block_on, counted, print_json, progress::ProgressLine, run, unexpected_reply};
use crate::{
    Settings,
    backup::output::{Output, UnfinishedFile},
    control::{Command, CommandRunner, ExportError, Reply, UserRef},
};

#[derive(clap::Args)]
pub(super) struct Export {
    /// File to create, readable only by you [default: standard output]
    file: Option<PathBuf>,
    /// Write what is stored about this user, without the password hash, as `GET /api/me/export` does: e-mail address or id
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

pub(super) const EXAMPLES: &str = "Examples:
  doorward export users.jsonl
  doorward export --user ada@example.com ada.json
  doorward export | age -r age1… > users.jsonl.age";

impl Export {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let file = self.file.filter(|file| file != Path::new("-"));
        match &file {
            Some(file) => check_name(file)?,
            None if self.user.is_none() && io::stdout().is_terminal() => {
                bail!("an export contains password hashes: name a file, or redirect the output")
            }
            None => {}
        }
        let unwritten = |error: io::Error| not_written(file.as_deref(), &error);
        if let Some(user) = self.user {
            let command = Command::ExportPerson(UserRef(user));
            let Reply::Person(person) = block_on(run(settings, command))? else {
                return Err(unexpected_reply());
            };
            let Some(file) = &file else { return print_json(&person) };
            let mut output = Output::File(UnfinishedFile::create(file, false).map_err(unwritten)?);
            let json = serde_json::to_string_pretty(&person)?;
            output.write_all(format!("{json}\n").as_bytes()).map_err(unwritten)?;
            return output.finish().map_err(unwritten);
        }
        let users = block_on(async {
            let runner = CommandRunner::open(settings).await?;
            let mut output = match &file {
                Some(file) => Output::File(UnfinishedFile::create(file, false).map_err(unwritten)?),
                None => Output::Stdout(io::stdout()),
            };
            let mut progress = ProgressLine::new();
            let mut report = |done, total| progress.set("exporting", done, total);
            let users = match runner.export_users(&mut output, &mut report).await {
                Err(ExportError::Output(error)) => return Err(unwritten(error)),
                exported => exported?,
            };
            output.finish().map_err(unwritten)?;
            Ok(users)
        })?;
        if let Some(file) = &file {
            let users = usize::try_from(users).unwrap_or(usize::MAX);
            eprint_line!("{} in {}", counted(users, "user", "users"), file.display());
        }
        Ok(())
    }
}

/// Refuses a name that cannot be written, before the database is read.
fn check_name(file: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_dir() => bail!("{} is a folder: name a file", file.display()),
        Ok(_) => bail!("{} exists: name another file, or remove it", file.display()),
        Err(_) => Ok(()),
    }
}

fn not_written(file: Option<&Path>, error: &io::Error) -> anyhow::Error {
    match file {
        Some(file) => anyhow!("{}: {error}: no file was created", file.display()),
        None => anyhow!("standard output: {error}: the export is not complete"),
    }
}
