//! The database: whether it is sound, its clock, its connections and its standbys; and the age of the signing key.

use std::{path::Path, time::Duration};

use super::{
    clock::written_at,
    finding::{Kind, Report},
};
use crate::{
    Settings, clock::Timestamp, config::DatabaseUrl, data_folder::DataFolder, store::DatabaseReport,
};

/// A server keeps the log below this; SQLite shrinks it when checkpoints succeed.
const LARGE_LOG: u64 = 64 << 20;
const MAX_CLOCK_DIFFERENCE: i64 = 5_000;
/// A key of this age should be replaced: the longer it lives, the more copies of it exist in backups.
const OLD_KEY: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Judges what the database says, or why it says nothing. `clock` is that of the server.
pub(super) fn check(
    report: &mut Report,
    settings: &Settings,
    database: &Result<DatabaseReport, String>,
    clock: Timestamp,
) {
    let database = match database {
        Ok(database) => database,
        Err(error) => {
            report.add(
                Kind::DatabaseUnavailable,
                format!("{}: {error}", settings.database),
                advice(settings),
            );
            return;
        }
    };
    report.checked(format!("database: {}", database.version));
    judge(report, settings, database, clock);
}

/// What to do if a database cannot be used.
pub(super) fn advice(settings: &Settings) -> &'static str {
    match settings.database {
        DatabaseUrl::Sqlite(_) | DatabaseUrl::Memory(_) => {
            "the message says what to do; otherwise restore a backup"
        }
        DatabaseUrl::Postgres(_) => {
            "check that PostgreSQL runs and that database_url, the password and pg_hba.conf allow this user"
        }
    }
}

fn judge(report: &mut Report, settings: &Settings, database: &DatabaseReport, clock: Timestamp) {
    if let Some(first) = database.damage.first() {
        report.add(
            Kind::DatabaseDamaged,
            format!("the database file is damaged: {first}"),
            "stop the server, keep a copy of the data folder, and restore a backup",
        );
    }
    if database.is_check_unfinished {
        report.checked(
            "database: too large to check for damage within 5 s; check a backup of it instead",
        );
    }
    if database.is_superuser == Some(true) {
        report.add(
            Kind::DatabaseSuperuser,
            "the role of database_url is a superuser of PostgreSQL: whoever takes over this server takes over all its databases",
            "as another superuser: ALTER ROLE name NOSUPERUSER; the first role of a server (postgres, or POSTGRES_USER of the image) has \
             to stay one: make another role with a database, and move there with `doorward backup` and `doorward restore` \
             (docs/postgres.md)",
        );
    }
    if let Some(bytes) = database.log_bytes.filter(|bytes| *bytes > LARGE_LOG) {
        report.add(
            Kind::DatabaseLog,
            format!("the write-ahead log of the database has {} MiB", bytes >> 20),
            "checkpoints fail: the log of the server tells why; free disk space, or restart the server",
        );
    }
    if let Some(ahead) = database.clock.map(|database| database - clock.millis())
        && ahead.abs() > MAX_CLOCK_DIFFERENCE
    {
        let way = if ahead > 0 { "behind" } else { "ahead of" };
        report.add(
            Kind::ClockDatabase,
            format!(
                "the clock of the server is {} s {way} that of the database",
                ahead.abs() / 1000
            ),
            "synchronise both clocks (systemd-timesyncd, chrony)",
        );
    }
    if let (Some(used), Some(max)) = (database.connections, database.max_connections) {
        report.checked(format!("database: {used} of {max} connections are used"));
        // Reads and change polling take three more.
        let own = settings.postgres.connections as u64 + 3;
        if own * 2 > max {
            report.add(
                Kind::DatabaseConnections,
                format!("one instance may use {own} of the {max} connections that PostgreSQL accepts"),
                "lower database.connections or raise max_connections: a restart needs connections for two instances",
            );
        } else if used * 10 > max * 9 {
            report.add(
                Kind::DatabaseConnections,
                format!("{used} of the {max} connections that PostgreSQL accepts are used"),
                "raise max_connections, or put a pooler such as PgBouncer in front",
            );
        }
    }
    if let Some(names) = database.synchronous_standbys.as_deref().filter(|names| !names.is_empty())
    {
        report.checked(format!("database: commits wait for the standbys {names}"));
        if database.standbys == Some(0) {
            report.add(
                Kind::StandbyMissing,
                format!("PostgreSQL waits for the standbys {names}, and none is connected: every write hangs"),
                "start the standby, or remove synchronous_standby_names",
            );
        }
    } else if let Some(count) = database.standbys.filter(|count| *count > 0) {
        report.checked(format!("database: {count} standbys are connected"));
    }
}

/// Checks that the signing key is in the data folder, and its age.
pub(super) fn check_key(report: &mut Report, folder: &Path, now: Timestamp) {
    let path = DataFolder::signing_key_in(folder);
    let Some(written) = written_at(&path) else {
        report.add(
            Kind::KeyMissing,
            format!("the signing key {} is missing: a server that runs signs on, and none starts again", path.display()),
            "put the file back from a copy or a backup, or restart the server once with --new-signing-key, which signs everybody out",
        );
        return;
    };
    let age = now.duration_since(written);
    let days = age.as_secs() / (24 * 60 * 60);
    report.checked(format!("signing key: {days} days old"));
    if age > OLD_KEY {
        report.add(
            Kind::KeyOld,
            format!("the signing key {} is {days} days old", path.display()),
            "replace it: doorward keys rotate (nobody has to log in again)",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(database: &DatabaseReport) -> String {
        let mut report = Report::default();
        judge(&mut report, &Settings::default(), database, Timestamp::from_seconds(1000));
        report.names().join(" ")
    }

    #[test]
    fn a_sound_database_has_no_findings() {
        let report = DatabaseReport {
            log_bytes: Some(4 << 20),
            clock: Some(1_004_000),
            connections: Some(20),
            max_connections: Some(100),
            standbys: Some(1),
            synchronous_standbys: Some("*".into()),
            ..DatabaseReport::default()
        };
        assert_eq!(found(&report), "");
        assert_eq!(found(&DatabaseReport::default()), "");
    }

    #[test]
    fn each_trouble_is_found() {
        let with = |change: fn(&mut DatabaseReport)| {
            let mut report = DatabaseReport::default();
            change(&mut report);
            found(&report)
        };
        assert_eq!(with(|report| report.damage.push("page 7".into())), "database-damaged");
        assert_eq!(with(|report| report.log_bytes = Some(65 << 20)), "database-log");
        assert_eq!(with(|report| report.is_superuser = Some(true)), "database-superuser");
        assert_eq!(with(|report| report.clock = Some(900_000)), "clock-database");
        assert_eq!(with(|report| report.clock = Some(1_010_000)), "clock-database");
        let connections = |report: &mut DatabaseReport| {
            (report.connections, report.max_connections) = (Some(95), Some(100));
        };
        assert_eq!(with(connections), "database-connections");
        let few = |report: &mut DatabaseReport| {
            (report.connections, report.max_connections) = (Some(1), Some(20));
        };
        assert_eq!(with(few), "database-connections");
        let lonely = |report: &mut DatabaseReport| {
            (report.standbys, report.synchronous_standbys) = (Some(0), Some("one".into()));
        };
        assert_eq!(with(lonely), "standby-missing");
    }
}
