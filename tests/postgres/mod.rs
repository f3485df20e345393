//! A PostgreSQL for the tests of one process. It starts with the first test that needs it, and stops when the process ends,
//! even by a signal. DOORWARD_TEST_POSTGRES_BIN names the folder of its programs; without it, the newest that Debian
//! installed is used.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    mem,
    net::TcpListener,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// The server accepts every password. Tests look for this one in logs and output.
const OWNER: &str = "doorward:not-for-the-log";

/// Stops the server when the pipe to the test process closes, which happens even when that process is killed. The data is
/// not needed afterwards, so nothing is flushed.
const KEEPER: &str = r#"
trap '' HUP INT PIPE TERM
(
    "$BIN/initdb" -D "$FOLDER/data" -U doorward -A trust -E UTF8 --locale=C --no-sync &&
    exec "$BIN/postgres" -D "$FOLDER/data" -p "$PORT" -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories="$FOLDER" -c max_connections=300 -c fsync=off
) >"$FOLDER/log" 2>&1 &
until "$BIN/pg_isready" -q -h "$FOLDER" -p "$PORT"; do
    kill -0 $! 2>/dev/null || { cat "$FOLDER/log" >&2; break; }
    sleep 0.05
done
kill -0 $! 2>/dev/null && echo ready 2>/dev/null && read -r _
kill -QUIT $! 2>/dev/null
wait $!
rm -rf "$FOLDER"
"#;

/// The one server that the tests of a process share.
pub static SERVER: OnceLock<Option<Server>> = OnceLock::new();

/// The URL of an empty database for one test; none where there is no PostgreSQL.
pub fn fresh_database() -> Option<String> {
    let server = SERVER.get_or_init(|| programs().map(Server::start));
    if server.is_none() {
        skipped("no PostgreSQL here");
    }
    Some(server.as_ref()?.fresh_database())
}

/// Reports a skipped check. Writes to stderr directly, because the test runner captures `eprintln!`.
pub fn skipped(what: &str) {
    let _ = writeln!(io::stderr(), "skipped: {what}");
}

/// The folder with PostgreSQL's programs.
#[expect(clippy::disallowed_methods, reason = "the environment names the PostgreSQL to use")]
pub fn programs() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("DOORWARD_TEST_POSTGRES_BIN") {
        return Some(chosen.into());
    }
    let version = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let installed = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let whole = installed.filter(|entry| entry.path().join("bin/postgres").exists());
    Some(whole.max_by_key(version)?.path().join("bin"))
}

pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    /// The parent of all processes of the server. Its standard input is the pipe.
    pub child: Child,
}

impl Server {
    pub fn start(programs: PathBuf) -> Self {
        let folder =
            tempfile::Builder::new().prefix("doorward-postgres-").tempdir().unwrap().keep();
        let port = reserved_port();
        let mut child = shell_for(&folder)
            .args(["-c", KEEPER])
            .env("BIN", &programs)
            .env("FOLDER", &folder)
            .env("PORT", port.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
        assert_eq!(
            printed, "ready\n",
            "PostgreSQL did not start from {programs:?}; its log is above"
        );
        Self { programs, folder, port, child }
    }

    /// The URL of an empty database.
    pub fn fresh_database(&self) -> String {
        static NUMBERS: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NUMBERS.fetch_add(1, Ordering::Relaxed));
        let created = Command::new(self.programs.join("createdb"))
            .arg("-h")
            .arg(&self.folder)
            .args(["-p", &self.port.to_string(), "-U", "doorward", "-T", "template0", &name])
            .status();
        let child = self.child.id();
        assert!(created.unwrap().success(), "server {child} could not create the database {name}");
        format!("postgres://{OWNER}@127.0.0.1:{}/{name}", self.port)
    }
}

/// A port below the ephemeral ones, so that no connection takes it before PostgreSQL listens. No other process of the tests
/// gets it: each has a block of ports of its own, which it locks until it ends. As in tests/harness/ports.py.
fn reserved_port() -> u16 {
    const FIRST: u16 = 20_000;
    const BLOCKS: u16 = 240;
    const BLOCK_SIZE: u16 = 50;
    let user = rustix::process::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("doorward-test-ports-{user}"));
    fs::create_dir_all(&folder).unwrap();
    for block in 0..BLOCKS {
        let lock = File::options().append(true).create(true).open(folder.join(block.to_string()));
        let lock = lock.unwrap();
        let mut ports = FIRST + block * BLOCK_SIZE..FIRST + (block + 1) * BLOCK_SIZE;
        if lock.try_lock().is_ok()
            && let Some(port) = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        {
            // Open, and so locked, until the process ends.
            mem::forget(lock);
            return port;
        }
    }
    panic!("other tests hold all ports");
}

/// A shell that runs as the owner of the folder, because PostgreSQL refuses to run as root.
fn shell_for(folder: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new("sh");
    }
    let (user, group) = ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| Some((id("-u", name)?, id("-g", name)?)))
        .expect("every system has nobody");
    chown(folder, Some(user), Some(group)).unwrap();
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
    command.arg("sh");
    command
}

fn id(which: &str, name: &str) -> Option<u32> {
    let output = Command::new("id").args([which, name]).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
