//! Collects what the other rooms have counted, for a scrape by Prometheus.

mod exposition;
mod process;

use std::{fmt, fs, time::UNIX_EPOCH};

pub(crate) use self::exposition::{Exposition, Format, render};
use self::process::Process;
use crate::{
    Doorward,
    config::DatabaseUrl,
    count::Label,
    credential::password::Hasher,
    data_folder::DataFolder,
    doorward::{Answered, TrailPart},
    log,
    store::{Connectivity, NotReady, Sizes},
};

/// The labels of a metric of guards.
const GUARD_LABELS: [&str; 2] = ["guard", "decision"];

/// What a scrape shows and only a query can tell.
pub(crate) struct Snapshot {
    ready: Result<(), NotReady>,
    sizes: Option<Sizes>,
}

impl Snapshot {
    /// Asks the database. While it cannot be read, the sizes are the last ones that were.
    pub(crate) async fn take(doorward: &Doorward) -> Self {
        let ready = doorward.store().check().await;
        Self { ready, sizes: doorward.sizes().await }
    }
}

/// Writes all metrics of the service, without those of TLS.
pub(crate) fn write(
    doorward: &Doorward,
    snapshot: &Snapshot,
    metrics: &mut Exposition<'_>,
) -> fmt::Result {
    write_build(doorward, metrics)?;
    write_accounts(doorward, metrics)?;
    write_guards(doorward, metrics)?;
    write_requests(doorward, metrics)?;
    write_hashing(doorward, metrics)?;
    write_store(doorward, snapshot, metrics)?;
    write_mail(doorward, snapshot, metrics)?;
    write_backup(doorward, metrics)?;
    write_folder(doorward, metrics)?;
    write_trail(doorward, metrics)?;
    let dropped = log::dropped();
    metrics.counter(
        "doorward_log_lines_dropped",
        "Log lines that were dropped because the reader of the log was too slow",
        dropped,
    )?;
    metrics.fractional_gauge(
        "process_start_time_seconds",
        "When the service was opened, in seconds since 1970",
        doorward.opened_at().millis() as f64 / 1000.0,
    )?;
    Process::read().write(metrics)?;
    write_connections(doorward, metrics)
}

fn write_build(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let database = match doorward.settings().database {
        DatabaseUrl::Sqlite(_) => "sqlite",
        DatabaseUrl::Postgres(_) => "postgres",
        DatabaseUrl::Memory(_) => "memory",
    };
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("database", database)];
    metrics.gauges(
        "doorward_build_info",
        "The version that runs and its kind of database, always 1",
        [(labels, 1)],
    )
}

fn write_requests(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let routes = doorward.counts().requests.by_route();
    let times = routes.iter().flat_map(|(route, answered)| {
        answered.iter().map(|Answered { method, status_class, times }| {
            let labels = [
                ("http_request_method", *method),
                ("http_route", route.as_str()),
                ("http_response_status_class", *status_class),
            ];
            (labels, times)
        })
    });
    metrics.histograms(
        "http_server_request_duration_seconds",
        "Time to answer a request, by the pattern of the route. Requests to guards are in doorward_guard_decisions_total",
        times,
    )
}

fn write_accounts(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let counts = doorward.events().counts();
    let failed = counts.failed_logins.values();
    let logins = [("success", counts.sign_ins.value())].into_iter().chain(failed);
    metrics.counters(
        "doorward_logins",
        "Logins by result: success, or the reason why they failed",
        logins.map(|(result, count)| ([("result", result)], count)),
    )?;
    let by_login = counts.logins();
    metrics.counters(
        "doorward_external_sign_ins",
        "Sign-ins at other providers by login and result: success, or the reason why they failed",
        by_login.iter().flat_map(|(login, counts)| {
            let labelled =
                move |(result, count)| ([("login", login.as_str()), ("result", result)], count);
            counts.values().map(labelled)
        }),
    )?;
    metrics.counters(
        "doorward_registrations",
        "Registrations by result",
        counts.registrations.values().map(|(result, count)| ([("result", result)], count)),
    )?;
    metrics.counters(
        "doorward_throttle_refusals",
        "Refusals because a budget was spent, by budget",
        doorward
            .throttle()
            .refusals()
            .values()
            .map(|(budget, count)| ([("budget", budget)], count)),
    )
}

fn write_guards(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let (counts, declared) = (doorward.counts(), doorward.counts().declared_guards());
    let built_in = [
        ("guard", &counts.authenticated_guard),
        (&*doorward.settings().designated_segment, &counts.designated_guard),
    ];
    let declared = declared.iter().map(|(name, decisions)| (&**name, &**decisions));
    let [guard_label, decision_label] = GUARD_LABELS;
    let decisions = built_in.into_iter().chain(declared).flat_map(|(guard, decisions)| {
        decisions.values().map(move |(decision, count)| {
            ([(guard_label, guard), (decision_label, decision)], count)
        })
    });
    metrics.counters("doorward_guard_decisions", "Decisions by guard", decisions)?;
    let work = doorward.work_done();
    metrics.counter(
        "doorward_token_signature_checks",
        "Signatures of tokens that were checked because the token was not in the cache",
        work.signature_checks,
    )?;
    metrics.counter(
        "doorward_caller_lookups",
        "Queries for a user and session that were not in the cache",
        work.look_ups,
    )
}

fn write_hashing(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let (hasher, load) = (doorward.hasher(), doorward.hasher().load());
    metrics.gauge(
        "doorward_password_hash_queue",
        "Passwords that wait to be hashed",
        load.waiting as u64,
    )?;
    metrics.gauge(
        "doorward_password_hash_queue_limit",
        "How many passwords can wait to be hashed",
        Hasher::QUEUE_CAPACITY as u64,
    )?;
    metrics.gauge(
        "doorward_password_hashes_running",
        "Passwords that are being hashed",
        load.running as u64,
    )?;
    metrics.counters(
        "doorward_password_hash_refusals",
        "Passwords that were not hashed: the queue was full, or they had waited too long",
        [([("reason", "queue_full")], load.dropped), ([("reason", "too_late")], load.expired)],
    )?;
    metrics.histograms(
        "doorward_password_hash_seconds",
        "Time to hash or verify a password, without the time in the queue",
        [([], hasher.times())],
    )?;
    let load = hasher.foreign_load();
    metrics.gauge(
        "doorward_imported_hash_queue",
        "Failed logins and first logins of imported users that wait for an imported hash or its decoy",
        load.waiting as u64,
    )?;
    metrics.counters(
        "doorward_imported_hash_refusals",
        "Imported hashes and decoys that were not computed: the queue was full, or they had waited too long",
        [([("reason", "queue_full")], load.dropped), ([("reason", "too_late")], load.expired)],
    )?;
    metrics.histograms(
        "doorward_imported_hash_seconds",
        "Time to compute an imported hash or its decoy, without the time in the queue",
        [([], hasher.foreign_times())],
    )
}

fn write_store(
    doorward: &Doorward,
    snapshot: &Snapshot,
    metrics: &mut Exposition<'_>,
) -> fmt::Result {
    metrics.gauge(
        "doorward_ready",
        "Whether the database can be read and written, as /readyz says: 1 or 0",
        u64::from(snapshot.ready.is_ok()),
    )?;
    let connectivity = doorward.store().changes().connectivity();
    metrics.gauges(
        "doorward_database_connectivity",
        "The state of the connection to the database: 1 for the current state",
        Connectivity::ALL
            .iter()
            .map(|state| ([("state", state.label())], u64::from(*state == connectivity))),
    )?;
    if let Some(sizes) = snapshot.sizes {
        metrics.gauge("doorward_users", "Users in the database", sizes.users)?;
        metrics.gauge("doorward_sessions", "Sessions in the database", sizes.sessions)?;
        metrics.gauge(
            "doorward_imported_hashes",
            "Users whose imported password hash has not been replaced, because they have not logged in",
            sizes.imported_hashes,
        )?;
    }
    let counts = doorward.store().counts();
    metrics.histograms(
        "db_client_operation_duration_seconds",
        "Time of operations of the database, waiting included",
        [
            ([("db_operation_name", "read")], &counts.reads),
            ([("db_operation_name", "write")], &counts.writes),
        ],
    )?;
    metrics.counters(
        "doorward_database_errors",
        "Operations of the database that failed",
        counts.errors.values().map(|(kind, count)| ([("kind", kind)], count)),
    )
}

fn write_mail(
    doorward: &Doorward,
    snapshot: &Snapshot,
    metrics: &mut Exposition<'_>,
) -> fmt::Result {
    let Some(delivery) = doorward.mail_delivery() else { return Ok(()) };
    metrics.gauge(
        "doorward_mail_server_available",
        "Whether the mail server takes mail, as of the last attempt: 1 or 0",
        u64::from(!delivery.is_out()),
    )?;
    metrics.counters(
        "doorward_mails",
        "Mails that were tried, by outcome",
        delivery.fates().values().map(|(outcome, count)| ([("outcome", outcome)], count)),
    )?;
    if let Some(sizes) = snapshot.sizes {
        metrics.gauges(
            "doorward_outbox_mails",
            "Mails in the outbox",
            [
                ([("state", "waiting")], sizes.mail_waiting),
                ([("state", "given_up")], sizes.mail_given_up),
            ],
        )?;
    }
    Ok(())
}

/// The time of the last backup exists once one was made. Other ways to back up PostgreSQL are not known here.
fn write_backup(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let Some(Ok(last)) = doorward.settings().folder().map(DataFolder::last_backup) else {
        return Ok(());
    };
    if let DatabaseUrl::Sqlite(file) = &doorward.settings().database {
        let is_missing = last.is_none() && !DataFolder::is_replicated(file);
        metrics.gauge(
            "doorward_backup_missing",
            "Whether the database was never backed up, and Litestream does not copy it: 1 or 0",
            u64::from(is_missing),
        )?;
    }
    let Some(at) = last else { return Ok(()) };
    metrics.fractional_gauge(
        "doorward_backup_last_success_timestamp_seconds",
        "When the last good backup was made, in seconds since 1970",
        at.millis() as f64 / 1000.0,
    )
}

fn write_folder(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let Some(folder) = doorward.folder() else { return Ok(()) };
    if let Some(bytes) = folder.reserve().available() {
        metrics.gauge(
            "doorward_data_folder_free_bytes",
            "Free space of the disk that has the data folder",
            bytes,
        )?;
    }
    if let DatabaseUrl::Sqlite(file) = &doorward.settings().database {
        let mut log = file.clone().into_os_string();
        log.push("-wal");
        metrics.gauge(
            "doorward_database_log_bytes",
            "Size of the write-ahead log of SQLite",
            fs::metadata(log).map_or(0, |log| log.len()),
        )?;
    }
    // PostgreSQL does not record when a key was made.
    let key = doorward.settings().key_file.clone();
    let key = key.unwrap_or_else(|| DataFolder::signing_key_in(folder.path()));
    let Ok(written) = fs::metadata(key).and_then(|key| key.modified()) else { return Ok(()) };
    let since_1970 = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    metrics.fractional_gauge(
        "doorward_signing_key_created_timestamp_seconds",
        "When the file of the signing key was written, in seconds since 1970",
        since_1970.as_secs_f64(),
    )
}

fn write_trail(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let troubles = doorward.trail_troubles();
    let fails = |part: TrailPart| troubles.iter().any(|trouble| trouble.part == part);
    metrics.gauges(
        "doorward_audit_trouble",
        "Whether something that protects the audit trail fails, by what fails: 1 or 0",
        TrailPart::ALL.iter().map(|part| ([("trouble", part.label())], u64::from(fails(*part)))),
    )
}

fn write_connections(doorward: &Doorward, metrics: &mut Exposition<'_>) -> fmt::Result {
    let connections = &doorward.counts().connections;
    metrics.gauge("doorward_connections", "Open connections", connections.open.value())?;
    metrics.gauge(
        "doorward_connections_limit",
        "How many connections may be open",
        connections.limit(),
    )?;
    metrics.counter(
        "doorward_connections_accepted",
        "Connections that were accepted",
        connections.accepted.value(),
    )?;
    metrics.counter(
        "doorward_connections_evicted",
        "Connections that were closed early because the limit was reached",
        connections.evicted.value(),
    )
}
