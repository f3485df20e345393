//! `doorward backup FILE` and `doorward backup verify FILE`.

use std::{
    cell::Cell,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use axum::{
    body::Body,
    http::{Request, header},
};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::{block_on, counted, print_json, progress::ProgressLine};
use crate::{
    Settings,
    backup::{
        self, Description, Reader,
        output::{Output, UnfinishedFile},
    },
    clock::Clock,
    config::{DatabaseUrl, absolute},
    control::{self, AdminClient, Answer, BodyReader, succeed, this_operator},
    data_folder::DataFolder,
    doorward::open_database,
    event::{Event, EventKind},
    store::{
        OldSchema,
        archive::{KeySnapshot, RecordCounts, SESSIONS, USERS},
    },
    token::key_store::stored_secrets,
};

const BUFFER_BYTES: usize = 256 << 10;

#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  doorward backup /var/backups/doorward/monday
  doorward backup - | age -R /etc/doorward/recipients > monday.age
  doorward backup verify /var/backups/doorward/monday"
)]
pub(super) struct Backup {
    #[command(subcommand)]
    command: Option<BackupCommand>,

    /// File to write, or - for standard output
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum BackupCommand {
    /// Read a backup completely, check it and say what is in it
    Verify(Verify),
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward backup verify monday
  age --decrypt -i backup-identity.txt monday.age | doorward backup verify - --json")]
struct Verify {
    /// The backup, or - for standard input
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        if let Some(BackupCommand::Verify(verify)) = self.command {
            return verify.run();
        }
        let Some(file) = &self.file else { bail!("name the file to write") };
        let is_stdout = file == Path::new("-");
        if !is_stdout {
            check_name(file, self.force)?;
        }
        settings.database.ensure_exists()?;
        let in_file = || match is_stdout {
            true => "standard output".to_owned(),
            false => file.display().to_string(),
        };
        let description = block_on(async {
            let source = Source::open(&settings).await?;
            let output = match is_stdout {
                true => Output::Stdout(io::stdout()),
                false => {
                    let created = UnfinishedFile::create(file, self.force);
                    Output::File(created.with_context(in_file)?)
                }
            };
            let keys_in_file = settings.key_file.is_some();
            let (output, description) = source.write_to(output, in_file(), keys_in_file).await?;
            output.finish().with_context(in_file)?;
            Ok(description)
        })?;
        record_time(&settings, &description);
        if let Some(key_file) = &settings.key_file {
            eprint_line!(
                "doorward: the keys in {} (token.key_file) are not in the backup: save that file separately",
                key_file.display()
            );
        }
        match (is_stdout, self.json) {
            (true, true) => {
                eprint_line!("{}", serde_json::to_string_pretty(&Info::from(&description))?)
            }
            (true, false) => eprint_line!("{}", in_words(&description)),
            (false, true) => print_json(&Info::from(&description))?,
            (false, false) => print_line!("{}: {}", file.display(), in_words(&description)),
        }
        Ok(())
    }
}

/// Refuses a name that cannot be written, before the database is read.
fn check_name(file: &Path, force: bool) -> anyhow::Result<()> {
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_dir() => bail!("{} is a folder: name a file", file.display()),
        // The backup would take the place of the device or link itself.
        Ok(found) if !found.is_file() => bail!(
            "{} is not a regular file: name another one, or - for standard output",
            file.display()
        ),
        Ok(_) if !force => {
            bail!("{} exists: choose another name, or add --force to replace it", file.display())
        }
        _ => Ok(()),
    }
}

/// Where a backup comes from.
enum Source {
    /// What the server that runs sends.
    Server(Answer),
    /// The database, which no server uses or which is PostgreSQL.
    Database(Box<crate::doorward::OpenedDatabase>),
}

impl Source {
    async fn open(settings: &Settings) -> anyhow::Result<Self> {
        // A server on PostgreSQL does not need to be asked, and its data folder is locked.
        let without_folder = Settings { data_folder: None, ..settings.clone() };
        match (open_database(&without_folder, OldSchema::Refuse).await, &settings.database) {
            (Ok(opened), _) => Ok(Self::Database(Box::new(opened))),
            (Err(error), DatabaseUrl::Sqlite(_)) if error.is_in_use() => {
                let Some(folder) = settings.folder() else { return Err(error.into()) };
                let mut progress = ProgressLine::new();
                progress.set("waiting for the server", 0, 1);
                let sent = request(&AdminClient::running_on(folder)).await.map_err(|error| {
                    anyhow!("the server on {} made no backup: {error}", absolute(folder).display())
                });
                sent.map(Self::Server)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Writes the backup and returns its output. `name` is that of the output, for errors.
    async fn write_to(
        self,
        mut output: Output,
        name: String,
        keys_in_file: bool,
    ) -> anyhow::Result<(Output, Description)> {
        match self {
            Self::Server(answer) => {
                let length = answer.headers().get(header::CONTENT_LENGTH);
                let bytes = length.and_then(|bytes| bytes.to_str().ok()?.parse().ok());
                let body = BodyReader::new(answer);
                let receive = move || receive(body, bytes.unwrap_or_default(), output, &name);
                spawn_blocking(receive).await?
            }
            Self::Database(opened) => {
                let now = Clock::system().now();
                let kind = EventKind::BackupMade;
                let event = Event::by_administrator(&this_operator(), None, now, kind);
                // A full disk must not prevent a backup.
                if let Err(error) = opened.record(event).await {
                    eprint_line!("doorward: the audit trail does not tell of this backup: {error}");
                }
                let installation = &opened.installation;
                let mut snapshot = installation.store.snapshot().await?;
                let keys = match snapshot.keys.take() {
                    Some(keys) => keys,
                    None => KeySnapshot {
                        keys: installation.key_store.stored_keys().await?,
                        secrets: stored_secrets(&*installation.key_store).await?,
                    },
                };
                let mut progress = ProgressLine::new();
                let mut report = |done, total| progress.set("writing", done, total);
                let mut named = NamedOutput { output: &mut output, name: &name, has_failed: false };
                let written =
                    backup::write(&snapshot, &keys, keys_in_file, now, &mut named, &mut report);
                let description = written.await?;
                Ok((output, description))
            }
        }
    }
}

/// Asks the server for a backup. Returns when the server has made it.
async fn request(client: &AdminClient) -> Result<Answer, control::Error> {
    let request = Request::get("/api/admin/backup").body(Body::empty());
    succeed(client.send(request.expect("the path is valid")).await?).await
}

/// Copies the backup that a server sends, and checks it.
fn receive(
    body: BodyReader,
    bytes: u64,
    mut output: Output,
    name: &str,
) -> anyhow::Result<(Output, Description)> {
    let mut progress = ProgressLine::new();
    let (mut named, copied) =
        (NamedOutput { output: &mut output, name, has_failed: false }, Cell::new(0));
    let tee = TeeReader { input: body, output: &mut named, copied: &copied };
    let received = (|| {
        let mut reader = Reader::open(BufReader::with_capacity(BUFFER_BYTES, tee))?;
        while reader.next_page()?.is_some() {
            progress.set("receiving KiB", copied.get() >> 10, bytes >> 10);
        }
        Ok::<_, backup::Error>(reader.finish()?.0)
    })();
    let description = match received {
        Err(error) if named.has_failed => return Err(error.into()),
        received => received.context("what the server sent")?,
    };
    Ok((output, description))
}

/// An output whose errors name it.
struct NamedOutput<'a> {
    output: &'a mut Output,
    name: &'a str,
    has_failed: bool,
}

impl NamedOutput<'_> {
    fn named<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        written.map_err(|error| {
            self.has_failed = true;
            io::Error::new(error.kind(), format!("{}: {error}", self.name))
        })
    }
}

impl Write for NamedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.output.flush();
        self.named(flushed)
    }
}

/// Writes everything that is read to the output.
struct TeeReader<'a, R, W> {
    input: R,
    output: &'a mut W,
    copied: &'a Cell<u64>,
}

impl<R: Read, W: Write> Read for TeeReader<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.output.write_all(&buffer[..count])?;
        self.copied.set(self.copied.get() + count as u64);
        Ok(count)
    }
}

/// Records when the backup was made, where `doorward doctor` reads it. Without a data folder there is no such place.
fn record_time(settings: &Settings, description: &Description) {
    let Some(folder) = settings.folder() else { return };
    if let Err(error) = DataFolder::record_backup(folder, description.created_at) {
        let folder = folder.display();
        eprint_line!(
            "doorward: the backup is good, but its time cannot be recorded in {folder}: {error}"
        );
    }
}

impl Verify {
    fn run(self) -> anyhow::Result<()> {
        let mut progress = ProgressLine::new();
        let mut report = |done| progress.set("verifying records", done, done);
        let verified = open_backup(&self.file).and_then(|reader| Ok(reader.verify(&mut report)?));
        let description = verified.with_context(|| self.file.display().to_string())?;
        drop(progress);
        if self.json {
            return print_json(&Info::from(&description));
        }
        print_line!("{}: {}", self.file.display(), in_words(&description));
        Ok(())
    }
}

/// Opens a backup, or standard input if it is named `-`, and reads its first line.
pub(super) fn open_backup(file: &Path) -> anyhow::Result<Reader<Box<dyn BufRead>>> {
    let input: Box<dyn Read> = match file == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(file)?),
    };
    let input: Box<dyn BufRead> = Box::new(BufReader::with_capacity(BUFFER_BYTES, input));
    Ok(Reader::open(input)?)
}

/// What a backup contains, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    created_at: String,
    version: &'a str,
    schema: usize,
    database: &'a str,
    #[serde(flatten)]
    counts: &'a RecordCounts,
    keys: usize,
    sha256: &'a str,
}

impl<'a> From<&'a Description> for Info<'a> {
    fn from(description: &'a Description) -> Self {
        let Description { version, schema, database, created_at, counts, sha256, keys, .. } =
            description;
        let (created_at, keys) = (created_at.to_string(), keys.len());
        Self { created_at, version, schema: *schema, database, counts, keys, sha256 }
    }
}

/// What a backup contains.
pub(super) fn in_words(description: &Description) -> String {
    let Description { version, schema, database, created_at, counts, keys, .. } = description;
    let count = |table, one, many| {
        counted(usize::try_from(counts.of(table)).unwrap_or(usize::MAX), one, many)
    };
    format!(
        "{}, {}, {}, made {created_at} by doorward {version} (schema {schema}) of {database}",
        count(&USERS, "user", "users"),
        count(&SESSIONS, "session", "sessions"),
        counted(keys.len(), "signing key", "signing keys"),
    )
}
