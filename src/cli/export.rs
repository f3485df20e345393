//! `doorward export [FILE]`: writes all users, with their password hashes, as of one moment, or everything that is stored about one
//! of them.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};

use axum::{
    body::Body,
    http::{Request, header},
};

use super::{
    block_on, counted, print_json,
    progress::ProgressLine,
    user_arguments::{of_known_user, path_below},
};
use crate::{
    Settings,
    backup::output::{Output, UnfinishedFile},
    control::{AdminClient, Answer, next_part, succeed},
    http::{api::admin::person::PersonExport, paths::ADMIN_EXPORT},
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
            let person: PersonExport = block_on(async {
                let client = AdminClient::open(settings).await?;
                of_known_user(client.get(&path_below(&user, "export")).await)
            })?;
            let Some(file) = &file else { return print_json(&person) };
            let mut output = Output::File(UnfinishedFile::create(file, false).map_err(unwritten)?);
            let json = serde_json::to_string_pretty(&person)?;
            output.write_all(format!("{json}\n").as_bytes()).map_err(unwritten)?;
            return output.finish().map_err(unwritten);
        }
        let users = block_on(async {
            let client = AdminClient::open(settings).await?;
            let request = Request::get(ADMIN_EXPORT).body(Body::empty());
            let sent = client.send(request.expect("the path is valid")).await?;
            let sent = succeed(sent).await.context("no export was made")?;
            let mut output = match &file {
                Some(file) => Output::File(UnfinishedFile::create(file, false).map_err(unwritten)?),
                None => Output::Stdout(io::stdout()),
            };
            let users = receive(sent, &mut output, unwritten).await?;
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

/// Copies the users that are sent. Returns their number, which is that of lines.
async fn receive(
    sent: Answer,
    output: &mut Output,
    unwritten: impl Fn(io::Error) -> anyhow::Error,
) -> anyhow::Result<u64> {
    let bytes = sent.headers().get(header::CONTENT_LENGTH);
    let bytes = bytes.and_then(|bytes| bytes.to_str().ok()?.parse().ok());
    let (mut progress, mut received, mut users) = (ProgressLine::new(), 0, 0);
    let mut body = sent.into_body();
    while let Some(part) = next_part(&mut body).await? {
        output.write_all(&part).map_err(&unwritten)?;
        received += part.len() as u64;
        users += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        if let Some(bytes) = bytes {
            progress.set("exporting", received, bytes);
        }
    }
    output.flush().map_err(&unwritten)?;
    Ok(users)
}

/// Refuses a name that cannot be written, before the database is read.
pub(super) fn check_name(file: &Path) -> anyhow::Result<()> {
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
