//! `doorward dev`: a service in memory, on loopback only, for tests of apps. It can run the tests itself.

use std::{
    ffi::{OsStr, OsString},
    future,
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{self, ExitStatus},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::{
    Settings,
    clock::Timestamp,
    config::{Key, SettingsError, Sources, URL_VARIABLE, keys},
    dev::{DevServer, SeedUser, dev_settings, parse_time, read_users},
    http::{
        dev::{DevService, WARNING},
        server::{self, Limits},
    },
    log::{self, LogFilter},
    spelling::suggest,
};

const DEFAULT_PORT: u16 = 3000;
const AFTER_HELP: &str = "\
Examples:
  doorward dev --users users.jsonl               serve on http://localhost:3000 until Ctrl-C
  doorward dev --users users.jsonl -- pytest     serve on a free port, run pytest with DOORWARD_URL set, and stop
  doorward dev --listen 127.0.0.1:0 --json       serve on a free port and print {\"url\": …} when ready

Tests set the clock, read mail and reset the data through /dev. See docs/testing.md.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Dev {
    /// Users to start with: a JSON object per line, with name, email, password, roles, verified, id
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,

    /// Time that the clock shows at the start, such as 2027-01-15T08:00:00Z [default: the system's]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| parse_time(text))]
    time: Option<Timestamp>,

    /// Limit attempts as the settings say; by default no limit applies
    #[arg(long)]
    throttle: bool,

    /// Print one line of JSON when ready: url, pid and the number of users
    #[arg(long, conflicts_with = "command")]
    json: bool,

    /// A command without `--` before it
    #[arg(hide = true, num_args = 0.., allow_hyphen_values = true, value_name = "COMMAND")]
    misplaced: Vec<OsString>,

    /// Run this command with DOORWARD_URL in its environment, and stop when it ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Dev {
    pub(super) fn run(self, settings: Settings, sources: &Sources) -> anyhow::Result<()> {
        if let Some(first) = self.misplaced.first() {
            return Err(unexpected(first, &self.misplaced));
        }
        let flag = |name: &str| sources.flags.iter().any(|(key, _)| key.name == name);
        // The file of the settings is that of the production server, so its address does not count.
        let port = if self.command.is_empty() { DEFAULT_PORT } else { 0 };
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let address = if flag("listen") { settings.listen } else { default };
        if !address.ip().to_canonical().is_loopback() {
            return Err(SettingsError::new(format!(
                "--listen {address}: doorward dev listens on loopback only, because it protects nothing: choose \
                 127.0.0.1:{}, or start `doorward serve`",
                address.port()
            ))
            .into());
        }
        let public_url = settings.public_url.clone().filter(|_| flag("public_url"));
        let typed = settings.clone();
        let mut settings = dev_settings(settings, address, public_url, self.throttle);
        let is_ignored = |key: &Key| key.value(&typed) != key.value(&settings);
        if let Some((key, _)) = sources.flags.iter().find(|(key, _)| is_ignored(key)) {
            return Err(SettingsError::new(format!(
                "--{}: doorward dev decides this by itself: everything is in memory, its hashes are cheap, and it has \
                 neither TLS nor metrics; leave the flag out, or start `doorward serve`",
                key.flag()
            ))
            .into());
        }
        // The tests have the terminal.
        if !self.command.is_empty() && settings.log == LogFilter::default() {
            settings.log = LogFilter::parse("error").unwrap_or_default();
        }
        log::start(&settings.log, settings.log_format)?;
        let users = match &self.users {
            Some(path) => read_users(path).map_err(SettingsError::new)?,
            None => Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let ended = runtime.block_on(self.serve(settings, address, users))?;
        runtime.shutdown_timeout(Duration::ZERO);
        match ended {
            None => Ok(()),
            Some(status) => {
                log::flush();
                // As a shell reports a command that a signal has ended.
                let by_signal = status.signal().map(|signal| 128 + signal);
                process::exit(status.code().or(by_signal).unwrap_or(1));
            }
        }
    }

    /// Serves until a signal, or until the command ends. Returns how it ended.
    async fn serve(
        self,
        settings: Settings,
        address: SocketAddr,
        users: Vec<SeedUser>,
    ) -> anyhow::Result<Option<ExitStatus>> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let listener = bind(address).await?;
        let address = listener.local_addr()?;
        let limits = Limits { connections: settings.connections, ..Limits::default() };
        let server = Arc::new(DevServer::start(settings, address, users, self.time).await?);
        let url = server.doorward().public_base();
        tracing::warn!(%address, "{WARNING}");
        let service = DevService::new(Arc::clone(&server));
        let serving = server::serve(vec![listener], service, limits, future::pending());
        let (stop, stopped) = oneshot::channel();
        let child = self.start_command(&url, stop)?;
        if child.is_none() {
            self.announce(&url, server.user_count())?;
        }
        let stopping = async {
            loop {
                let is_terminated = tokio::select! {
                    _ = interrupt.recv() => false,
                    _ = terminate.recv() => true,
                };
                // The service ends with its command. A terminal has sent the command the interrupt too.
                let Some(pid) = child else { return };
                if is_terminated {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
        };
        tokio::select! {
            () = serving => Ok(None),
            status = stopped, if child.is_some() => Ok(status.ok()),
            () = stopping => Ok(None),
        }
    }

    /// Says where the service listens and what it is.
    fn announce(&self, url: &str, users: usize) -> io::Result<()> {
        let mut stdout = io::stdout();
        if self.json {
            let line = json!({ "pid": process::id(), "url": url, "users": users });
            return writeln!(stdout, "{line}").and_then(|()| stdout.flush());
        }
        let source =
            self.users.as_ref().map_or(String::new(), |path| format!(" from {}", path.display()));
        let users = super::counted(users, "user", "users");
        writeln!(
            stdout,
            "\n  {}\n  {WARNING}.\n  Use it for tests only.\n\n  Doorward listens on {url}\n  and has {users}{source}\n",
            "=".repeat(WARNING.len() + 1),
        )
    }

    /// Starts the command, if there is one. The sender receives how it ended.
    fn start_command(
        &self,
        url: &str,
        ended: oneshot::Sender<ExitStatus>,
    ) -> anyhow::Result<Option<Pid>> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(None) };
        let mut command = process::Command::new(program);
        let mut child = command
            .args(arguments)
            .env(URL_VARIABLE, url)
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        // Standard output is the command's.
        eprint_line!("doorward dev: {url}\n{WARNING}.");
        let pid = Pid::from_child(&child);
        thread::spawn(move || {
            if let Ok(status) = child.wait() {
                let _ = ended.send(status);
            }
        });
        Ok(Some(pid))
    }
}

/// The error for a command without `--` before it, or for an unknown flag.
fn unexpected(first: &OsStr, words: &[OsString]) -> anyhow::Error {
    const FLAGS: [&str; 4] = ["users", "time", "throttle", "json"];
    let first = first.to_string_lossy();
    let hint = match first.strip_prefix('-') {
        None => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            format!("did you mean `doorward dev -- {}`?", words.join(" "))
        }
        Some(flag) => {
            let settings: Vec<_> = keys().map(Key::flag).collect();
            let known = FLAGS.into_iter().chain(settings.iter().map(String::as_str));
            match suggest(flag.trim_start_matches('-'), known) {
                Some(meant) => format!("did you mean --{meant}?"),
                None => "`doorward dev --help` shows all options".into(),
            }
        }
    };
    SettingsError::new(format!("unexpected argument {first}: {hint}")).into()
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        let free = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        format!("cannot listen on {address} (--listen {free} chooses a free port)")
    })
}
