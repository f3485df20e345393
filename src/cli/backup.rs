//! `doorward backup FILE` and `doorward backup verify FILE`.

use std::{
    cell::Cell,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{block_on, counted, print_json, progress::ProgressLine};
use crate::{
    Settings,
    backup::{
        self, Counts, Description, Reader,
        age::{self, Decryptor, Identities, Recipient},
        output::{Output, Target, UnfinishedFile},
    },
    clock::Clock,
    config::{DatabaseUrl, absolute},
    control::{self, Content, Sent},
    data_folder::DataFolder,
    doorward::open_database,
    store::archive::KeySnapshot,
};

const BUFFER_BYTES: usize = 256 << 10;

#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  doorward backup /var/backups/doorward/monday
  doorward backup monday.age --recipients-file /etc/doorward/recipients
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
    /// Encrypt for this public key of age, such as age1…; repeatable
    #[arg(long, value_name = "KEY")]
    recipient: Vec<String>,
    /// Encrypt for the public keys in this file, one a line
    #[arg(long, value_name = "FILE")]
    recipients_file: Vec<PathBuf>,
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
  doorward backup verify monday.age --identity backup-identity.txt --json")]
struct Verify {
    /// The backup, or - for standard input
    file: PathBuf,
    /// Decrypt with the identity in this file of age-keygen
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
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
        let recipients = self.recipients()?;
        let is_stdout = file == Path::new("-");
        if !is_stdout {
            check_name(file, self.force)?;
        }
        settings.database.ensure_exists()?;
        let in_file = || file.display().to_string();
        let description = block_on(async {
            let source = Source::open(&settings).await?;
            let target = match is_stdout {
                true => Target::Stdout(io::stdout()),
                false => {
                    let created = UnfinishedFile::create(file, self.force);
                    Target::File(created.with_context(in_file)?)
                }
            };
            let mut output = Output::new(target, &recipients).with_context(in_file)?;
            let description = source.write_to(&mut output).await?;
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

    fn recipients(&self) -> anyhow::Result<Vec<Recipient>> {
        let mut recipients: Vec<_> =
            self.recipient.iter().map(|key| Recipient::parse(key)).collect::<Result<_, _>>()?;
        for path in &self.recipients_file {
            let in_file = || path.display().to_string();
            let contents = fs::read_to_string(path).with_context(in_file)?;
            recipients.extend(Recipient::parse_file(&contents).with_context(in_file)?);
        }
        Ok(recipients)
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
    /// The server that runs.
    Server(Sent),
    /// The database, which no server uses or which is PostgreSQL.
    Database(Box<crate::doorward::OpenedDatabase>),
}

impl Source {
    async fn open(settings: &Settings) -> anyhow::Result<Self> {
        // A server on PostgreSQL does not need to be asked, and its data folder is locked.
        let without_folder = Settings { data_folder: None, ..settings.clone() };
        match (open_database(&without_folder).await, &settings.database) {
            (Ok(opened), _) => Ok(Self::Database(Box::new(opened))),
            (Err(error), DatabaseUrl::Sqlite(_)) if control::is_in_use(&error) => {
                let Some(folder) = settings.folder() else { return Err(error.into()) };
                let mut progress = ProgressLine::new();
                progress.set("waiting for the server", 0, 1);
                let sent = control::request(folder, Content::Backup);
                sent.with_context(|| {
                    format!("the server on {} made no backup", absolute(folder).display())
                })
                .map(Self::Server)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    async fn write_to(self, output: &mut Output) -> anyhow::Result<Description> {
        let mut progress = ProgressLine::new();
        match self {
            Self::Server(Sent { stream, bytes }) => {
                let copied = Cell::new(0);
                let tee = TeeReader { input: stream, output, copied: &copied };
                let receive = || {
                    let mut reader = Reader::open(BufReader::with_capacity(BUFFER_BYTES, tee))?;
                    while reader.next_page()?.is_some() {
                        progress.set("receiving KiB", copied.get() >> 10, bytes >> 10);
                    }
                    Ok::<_, backup::Error>(reader.finish()?.0)
                };
                receive().context("what the server sent")
            }
            Self::Database(opened) => {
                let installation = &opened.installation;
                let now = Clock::system().now();
                let mut snapshot = installation.archive.snapshot().await?;
                let keys = match snapshot.keys.take() {
                    Some(keys) => keys,
                    None => KeySnapshot {
                        keys: installation.key_store.stored_keys().await?,
                        cookie_secret: installation.key_store.stored_cookie_secret().await?,
                    },
                };
                let mut report = |done, total| progress.set("writing", done, total);
                Ok(backup::write(&snapshot, &keys, now, output, &mut report).await?)
            }
        }
    }
}

/// Writes everything that is read to the output.
struct TeeReader<'a, R> {
    input: R,
    output: &'a mut Output,
    copied: &'a Cell<u64>,
}

impl<R: Read> Read for TeeReader<'_, R> {
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
        let description = verify(&self.file, self.identity.as_deref())?;
        if self.json {
            return print_json(&Info::from(&description));
        }
        print_line!("{}: {}", self.file.display(), in_words(&description));
        Ok(())
    }
}

/// Reads a backup completely.
pub(super) fn verify(file: &Path, identity: Option<&Path>) -> anyhow::Result<Description> {
    let mut progress = ProgressLine::new();
    let mut report = |done| progress.set("verifying records", done, done);
    let verified = open_backup(file, identity).and_then(|reader| Ok(reader.verify(&mut report)?));
    verified.with_context(|| file.display().to_string())
}

/// Opens a backup, encrypted or not.
pub(super) fn open_backup(
    file: &Path,
    identity: Option<&Path>,
) -> anyhow::Result<Reader<Box<dyn BufRead>>> {
    let input: Box<dyn Read> = match file == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(file)?),
    };
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let is_encrypted = age::is_encrypted(input.fill_buf()?);
    let input: Box<dyn BufRead> = match identity {
        Some(path) if is_encrypted => {
            let in_file = || format!("--identity {}", path.display());
            let contents = Zeroizing::new(fs::read_to_string(path).with_context(in_file)?);
            let identities = Identities::parse_file(&contents).with_context(in_file)?;
            let decryptor = Decryptor::new(input, &identities).map_err(backup::Error::from)?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decryptor))
        }
        Some(_) => bail!("the backup is not encrypted: leave out --identity, if you trust it"),
        None => Box::new(input),
    };
    Ok(Reader::open(input)?)
}

/// What a backup contains, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    created_at: String,
    version: &'a str,
    database: &'a str,
    #[serde(flatten)]
    counts: Counts,
    sha256: &'a str,
}

impl<'a> From<&'a Description> for Info<'a> {
    fn from(description: &'a Description) -> Self {
        let Description { version, database, created_at, counts, sha256, keys: _ } = description;
        Self { created_at: created_at.to_string(), version, database, counts: *counts, sha256 }
    }
}

/// What a backup contains.
pub(super) fn in_words(description: &Description) -> String {
    let Description { version, database, created_at, counts, sha256: _, keys: _ } = description;
    let count =
        |number: u64, one, many| counted(usize::try_from(number).unwrap_or(usize::MAX), one, many);
    format!(
        "{}, {}, {}, made {created_at} by doorward {version} of {database}",
        count(counts.users, "user", "users"),
        count(counts.sessions, "session", "sessions"),
        count(counts.keys, "signing key", "signing keys"),
    )
}
