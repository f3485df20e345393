//! `doorward doctor`: looks for mistakes in the set-up. Each group of checks has a file.

mod backup;
mod certificate;
mod clock;
mod database;
mod disk;
mod files;
mod finding;
mod guards;
mod hashing;
mod logins;
mod mail;
mod port;
mod public_url;
mod server;
mod settings;
mod trail;

use std::path::Path;

use self::finding::{Kind, Report, Severity};
use super::{Output, block_on, counted, exit_code::Negative, print_json};
use crate::{
    OpenError, Settings,
    account::status::Status,
    clock::Clock,
    config::{DatabaseUrl, Origins, Sources, reachable},
    control::{self, AdminClient},
    data_folder::{DataFolder, DoctorReport},
    store::DatabaseReport,
};

/// Look for mistakes in the set-up and say what to do; sends no mail
#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward doctor
  doorward doctor --verbose
  doorward doctor --json --config /etc/doorward/doorward.toml")]
pub(super) struct Doctor {
    /// Also list what was checked
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    output: Output,
}

impl Doctor {
    pub(super) fn run(self, sources: Sources) -> anyhow::Result<()> {
        let (mut report, mut folder) = (Report::default(), None);
        if let Some((settings, origins)) = settings::read(&mut report, sources) {
            folder = settings.folder().filter(|folder| folder.is_dir()).map(Path::to_owned);
            block_on(examine(&mut report, settings, &origins))?;
        }
        report.finish();
        if let Some(folder) = folder {
            record(&folder, &report);
        }
        if self.output.json {
            print_json(&report)?;
        } else {
            self.print(&report);
        }
        if report.findings().is_empty() { Ok(()) } else { Err(Negative.into()) }
    }

    fn print(&self, report: &Report) {
        for finding in report.findings() {
            print_line!("{finding}");
        }
        report.notes().iter().for_each(|note| print_line!("note: {note}"));
        if self.verbose {
            report.checks().iter().for_each(|check| print_line!("checked: {check}"));
        }
        let (errors, warnings) = (report.count(Severity::Error), report.count(Severity::Warning));
        if errors + warnings == 0 {
            print_line!("no problems found");
        } else {
            let errors = counted(errors, "error", "errors");
            print_line!("{errors}, {}", counted(warnings, "warning", "warnings"));
        }
    }
}

/// Keeps the report for the page of administrators.
fn record(folder: &Path, report: &Report) {
    let kept = DoctorReport {
        at: Clock::system().now(),
        findings: report.findings().iter().map(ToString::to_string).collect(),
    };
    if let Err(error) = DataFolder::record_doctor_report(folder, &kept) {
        eprint_line!(
            "the page of administrators shows an older report: {}: {error}",
            folder.display()
        );
    }
}

async fn examine(report: &mut Report, settings: Settings, origins: &Origins) -> anyhow::Result<()> {
    let database = match &settings.database {
        DatabaseUrl::Sqlite(file) => Some(file.as_path()),
        DatabaseUrl::Postgres(_) | DatabaseUrl::Memory(_) => None,
    };
    let now = Clock::system().now();
    if let Some(folder) = settings.folder() {
        files::check_data(report, folder, database);
        clock::check_files(report, folder, database, now);
        disk::check(report, folder, database.is_some());
        backup::check(report, folder, database, now);
        if database.is_some_and(Path::exists) && settings.key_file.is_none() {
            database::check_key(report, folder, now);
        }
    }
    files::check_secrets(report, &settings, origins);
    server::check_exposure(report, &settings);
    server::check_proxies(report, &settings);
    settings::check_lifetimes(report, &settings);
    settings::check_passkeys(report, &settings);
    hashing::check(report, &settings).await?;
    let opened = open(report, &settings).await;
    let running = match &opened {
        Some(Opened { client, status, database: database_report }) => {
            database::check(report, &settings, database_report, status.clock);
            guards::check(report, &settings, client).await;
            trail::check(report, &settings, client.is_server().then_some(status));
            if client.is_server() {
                settings::compare(report, &settings, status);
                server::check(report, status, &settings).await;
                if let (Some(folder), Some(_)) = (settings.folder(), database) {
                    disk::check_reserve(report, folder);
                }
            }
            client.is_server().then_some(client)
        }
        None => None,
    };
    // A server on PostgreSQL without a data folder has no command socket.
    let has_no_socket = settings.folder().is_none();
    let is_stopped = !has_no_socket
        && match &opened {
            Some(opened) => !opened.client.is_server(),
            None => settings.database.is_missing(),
        };
    port::check(report, &settings, is_stopped).await;
    if has_no_socket {
        let address = reachable(settings.listen);
        server::answers(report, settings.scheme(), address, false).await;
    }
    if running.is_some() || has_no_socket {
        public_url::check(report, &settings, running, Clock::system().now()).await;
    } else if opened.is_some() {
        report.add(
            Kind::ServerNotRunning,
            format!("no server is running on {}", settings.database),
            "start it (doorward serve): what needs a running server was not checked",
        );
    }
    logins::check(report, &settings, Clock::system().now()).await;
    mail::check(report, &settings, opened.as_ref().map(|opened| &opened.client)).await;
    Ok(())
}

/// The running server or the opened database, and what it knows.
struct Opened {
    client: AdminClient,
    status: Status,
    /// What the database says, or why it says nothing.
    database: Result<DatabaseReport, String>,
}

/// Finds the running server or opens the database, and asks it what it knows.
async fn open(report: &mut Report, settings: &Settings) -> Option<Opened> {
    let asked = async {
        let client = AdminClient::open(settings.clone()).await?;
        let status = client.get("/api/admin/status").await?;
        let database = client.get("/api/admin/status/database").await;
        let database = database.map_err(|error| error.to_string());
        Ok::<_, control::Error>(Opened { client, status, database })
    };
    match asked.await {
        Ok(opened) => Some(opened),
        Err(error) => {
            let (kind, advice) = match error {
                control::Error::NoDatabase(_) if settings.database.is_missing() => {
                    (Kind::ServerNotRunning, "the server creates the database at its first start")
                }
                control::Error::Unreachable { .. } => (
                    Kind::ServerUnreachable,
                    "run this command as the user that the server runs as, or restart it",
                ),
                control::Error::Refused { .. } | control::Error::Io(_) => {
                    (Kind::ServerUnreachable, "restart the server: it may have another version")
                }
                control::Error::Open(
                    OpenError::AuditSecretMissing(_) | OpenError::AuditSecretReplaced(_),
                ) => (
                    Kind::AuditSecret,
                    "restore audit-secret from a backup: the new name is for when there is none",
                ),
                control::Error::Open(OpenError::Store { ref error, .. })
                    if error.is_older_schema() =>
                {
                    (
                        Kind::SchemaOld,
                        "make a backup, and start the server: what is in the database was not checked",
                    )
                }
                control::Error::Open(OpenError::Data(ref error)) if error.is_read_only() => {
                    if report.has(Kind::DiskReadOnly) {
                        return None;
                    }
                    (Kind::DiskReadOnly, disk::READ_ONLY)
                }
                _ => (Kind::DatabaseUnavailable, database::advice(settings)),
            };
            report.add(kind, error.to_string(), advice);
            None
        }
    }
}
