//! `doorward serve`: opens the database, listens and serves until a signal stops it.

mod listeners;
mod notify;

use std::{
    future,
    io::{self, IsTerminal, Write},
    path::Path,
    process,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Mutex,
};

use self::notify::Notifier;
use crate::{
    Doorward, Settings,
    account::{guard_reload, roles},
    clock::Clock,
    config::{
        DatabaseUrl, Origins, ReadSettings, ServiceManager, SettingsError, Sources, absolute,
        unprefixed_variables,
    },
    control::this_operator,
    doorward::{LostAuditSecret, MissingKey},
    event::Administrator,
    http::{
        self,
        server::{self, Limits, Listeners, Tls},
    },
    log,
    supervisor::supervise,
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward serve
  doorward serve --config /etc/doorward/doorward.toml
  doorward serve --listen 127.0.0.1:8080 --database-url sqlite:///var/lib/doorward/doorward.db";

/// Descriptors for the database, the log, the command socket and the runtime, besides those for connections.
pub(super) const OTHER_DESCRIPTORS: usize = 64;

#[derive(clap::Args)]
pub(super) struct Serve {
    /// Create a new signing key or factor secret if the old one is missing. Without the key, all users have to log in again
    #[arg(long)]
    new_signing_key: bool,
    /// Go on with a new secret of the audit trail if the old one is lost. The old public key verifies the events of before
    #[arg(long)]
    new_audit_secret: bool,
}

impl Serve {
    pub(super) fn run(
        self,
        settings: Settings,
        origins: &Origins,
        sources: Sources,
    ) -> anyhow::Result<()> {
        // Before any other thread starts.
        let service_manager = ServiceManager::take(&sources.environment)?;
        log::start(&settings.log, settings.log_format)?;
        for (variable, key) in unprefixed_variables(&sources.environment, origins) {
            let name = key.variable();
            tracing::info!(
                variable,
                "this variable is not read; if it is for doorward, rename it to {name}"
            );
        }
        forbid_core_dumps();
        let limits = Limits {
            connections: allow_connections(settings.connections),
            grace: settings.stop_grace,
            ..Limits::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let file = origins.file.as_deref();
        runtime.block_on(self.serve(settings, file, sources, limits, service_manager))?;
        // Draining has waited for running requests already.
        runtime.shutdown_timeout(Duration::ZERO);
        Ok(())
    }

    async fn serve(
        self,
        settings: Settings,
        settings_file: Option<&Path>,
        sources: Sources,
        limits: Limits,
        mut service_manager: ServiceManager,
    ) -> anyhow::Result<()> {
        let notifier = Notifier::connect(service_manager.notify_socket.take());
        let tls = open_tls(&settings)?;
        let stop = stop_signal()?;
        // Outside of what a panic drops, so that no signal is lost.
        let hangup = Mutex::new(signal(SignalKind::hangup())?);
        let (wanted, wanted_metrics) = (settings.listen, settings.metrics_listen);
        let missing_key =
            if self.new_signing_key { MissingKey::Replace } else { MissingKey::Refuse };
        let lost_audit_secret = match self.new_audit_secret {
            true => LostAuditSecret::BeginNewName(this_operator()),
            false => LostAuditSecret::Refuse,
        };
        let doorward = Doorward::open_to_serve(settings, missing_key, lost_audit_secret).await?;
        let (listeners, address) = listeners::for_http(&mut service_manager, wanted)?;
        let metrics = listeners::for_metrics(&mut service_manager, wanted_metrics)?;
        let reloaded = tls.clone();
        let read: Arc<ReadSettings> = Arc::new(move || {
            let certificate = reloaded.as_ref().map_or(Ok(()), Tls::reload);
            let settings = Settings::from_sources(sources.clone())?;
            certificate.map_err(|error| {
                SettingsError::new(format!("{error}; the certificate in force stays"))
            })?;
            Ok(settings)
        });
        let serving_commands = doorward.serve_commands_with(Arc::clone(&read));
        doorward.set_listen_address(address);
        let overview = Overview::of(&doorward, settings_file).await;
        tracing::info!(
            %address,
            url = doorward.public_base(),
            version = env!("CARGO_PKG_VERSION"),
            schema = doorward.store().kind().schema(),
            data = overview.data,
            settings = overview.settings,
            common_passwords = overview.common_passwords,
            "listening"
        );
        if overview.lacks_admin {
            tracing::info!(
                "nobody has the role admin: make the first administrator with `{GRANT_ADMIN}`"
            );
        }
        if doorward.settings().is_exposed_on(address.ip()) {
            tracing::warn!(
                %address,
                "other machines can connect, and passwords and tokens are sent unencrypted unless a proxy in front uses TLS: \
                 set public_url to its https:// URL, set tls.certificate and tls.key, or listen on 127.0.0.1"
            );
        }
        let url = format!("{}://{address}", doorward.settings().scheme());
        // Elsewhere the log says the same, in the format of the log.
        if io::stdout().is_terminal() {
            let has_pages = doorward.settings().pages;
            let greeting = greeting(
                &url,
                &doorward.settings().local_url(address),
                &doorward.public_base(),
                has_pages,
                &overview,
            );
            // A closed standard output does not stop the service.
            let _ = io::stdout().write_all(greeting.as_bytes());
        }
        let status = format!("Listening on {url}");

        let stop = async {
            stop.await;
            notifier.stopping();
            doorward.feed().close();
        };
        let reload_at_signals = || async {
            let mut hangup = hangup.lock().await;
            loop {
                // Also after a reload that has panicked.
                notifier.ready(&status);
                if hangup.recv().await.is_none() {
                    return future::pending().await;
                }
                notifier.reloading();
                // An error has been logged, and the guards in force stay.
                let _ = guard_reload::reload(&doorward, &*read, &Administrator::APP);
            }
        };
        let tls_of_metrics = tls.clone();
        let listeners = Listeners::public(&doorward, listeners, tls);
        let serving = server::serve(listeners, http::service(doorward.clone()), limits, stop);
        let operations = async {
            if !metrics.is_empty() {
                let is_on_loopback = listeners::are_on_loopback(&metrics);
                let app = http::operations(doorward.clone(), tls_of_metrics, is_on_loopback);
                server::serve(metrics, app, http::operations_limits(), future::pending()).await;
            }
            future::pending().await
        };
        tokio::select! {
            () = serving => {}
            () = operations => {}
            () = serving_commands => {}
            () = doorward.run_upkeep() => {}
            () = supervise("reload", reload_at_signals) => {}
            () = supervise("watchdog", || notifier.report_alive(service_manager.watchdog)) => {}
        }
        tokio::join!(save_failures(&doorward), doorward.finish_mail());
        close_trail(&doorward).await;
        tracing::info!("stopped");
        Ok(())
    }
}

/// The certificate and its key, which are read again when they change.
fn open_tls(settings: &Settings) -> anyhow::Result<Option<Tls>> {
    let Some((certificate, key)) = settings.tls.pair() else { return Ok(None) };
    let tls = Tls::open(certificate, key, Clock::system()).context("tls")?;
    tls.watch();
    Ok(Some(tls))
}

/// Saves failed logins, so that a restart does not refill the budgets of accounts under attack.
async fn save_failures(doorward: &Doorward) {
    /// An unreachable database must not delay the stop.
    const SAVE_TIMEOUT: Duration = Duration::from_secs(2);
    let saved = tokio::time::timeout(SAVE_TIMEOUT, doorward.save_failures()).await;
    if !matches!(saved, Ok(Ok(()))) {
        tracing::warn!("cannot save the failed logins of the last second");
    }
}

/// Records the stop in the audit trail and publishes its last checkpoint.
async fn close_trail(doorward: &Doorward) {
    /// An unreachable database must not delay the stop.
    const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
    let closed = tokio::time::timeout(CLOSE_TIMEOUT, doorward.close_trail()).await;
    if !matches!(closed, Ok(Ok(()))) {
        tracing::warn!("cannot close the audit trail: the latest events have no checkpoint yet");
    }
}

/// Resolves at the first SIGTERM or Ctrl-C. The second one ends the process at once.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(async move {
        next().await;
        tracing::info!("stopping: waiting for running requests; a second signal stops at once");
        tokio::spawn(async move {
            next().await;
            log::flush();
            process::exit(1);
        });
    })
}

/// Prevents core dumps, which would contain passwords and signing keys. The kernel ignores a limit of 0 for dumps that it
/// pipes to a program, but not a limit of 1 byte.
fn forbid_core_dumps() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let current = Some(maximum.map_or(1, |maximum| maximum.min(1)));
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current, maximum }) {
        tracing::warn!(%error, "a crash may leave a core dump that contains secrets");
    }
}

/// Raises the limit of open files to what the system allows, and returns how many connections fit into it.
fn allow_connections(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let Some(allowed) = allowed.and_then(|allowed| usize::try_from(allowed).ok()) else {
        return wanted;
    };
    let possible = allowed.saturating_sub(OTHER_DESCRIPTORS).max(1);
    if possible < wanted {
        tracing::warn!(
            wanted,
            possible,
            "the limit of open files allows fewer connections than limits.connections: raise `ulimit -n`"
        );
    }
    possible.min(wanted)
}

/// How the first administrator is made.
const GRANT_ADMIN: &str = "doorward user grant ADDRESS admin";

/// What an operator wants to see at the start.
struct Overview {
    data: String,
    settings: String,
    common_passwords: &'static str,
    /// Whether nobody has the role `admin`.
    lacks_admin: bool,
}

impl Overview {
    async fn of(doorward: &Doorward, settings_file: Option<&Path>) -> Self {
        let database = &doorward.settings().database;
        let data = match (database, doorward.folder()) {
            (DatabaseUrl::Sqlite(_), Some(folder)) => {
                format!("{} ({database})", absolute(folder.path()).display())
            }
            _ => database.to_string(),
        };
        let settings = match settings_file {
            Some(file) => absolute(file).display().to_string(),
            None => "no file: the defaults apply".to_owned(),
        };
        Self {
            data,
            settings,
            common_passwords: doorward.settings().common_passwords(),
            lacks_admin: roles::lack_admin(doorward).await,
        }
    }
}

/// What a person at a terminal sees first: where everything is, and requests to try.
fn greeting(
    url: &str,
    local_url: &str,
    public_base: &str,
    has_pages: bool,
    overview: &Overview,
) -> String {
    let Overview { data, settings, common_passwords, lacks_admin } = overview;
    let first_admin = match lacks_admin {
        true => format!("  Nobody is an administrator yet: {GRANT_ADMIN}\n"),
        false => String::new(),
    };
    let open = match has_pages {
        true => {
            format!("  Open {public_base} in a browser, or register, log in and pass the guard:")
        }
        false => "  Register, log in and pass the guard:".to_owned(),
    };
    format!(
        r#"
  Doorward listens on {url}
  data      {data}
  settings  {settings}
  Common passwords are {common_passwords}.
{first_admin}
{open}

    curl -s {local_url}/api/user -H 'Content-Type: application/json' -d '{{"name":"Ada Lovelace","email":"ada@example.com","password":"correct horse"}}'
    TOKEN=$(curl -s {local_url}/api/auth/login -H 'Content-Type: application/json' -d '{{"email":"ada@example.com","password":"correct horse"}}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
    curl -s {local_url}/api/auth/guard -H "Authorization: Bearer $TOKEN"

"#
    )
}
