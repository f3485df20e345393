//! A temporary folder whose data survives restarts of the server in it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::{Finished, Server, run};

/// A temporary folder with the data of one Doorward, which can be started in it again and again.
pub struct Home {
    root: TempDir,
    data: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        Self { root, data }
    }

    /// A home with its data in this subfolder.
    pub fn with_data_in(folder: &str) -> Self {
        let mut home = Self::new();
        home.data = home.root.path().join(folder);
        home
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn database(&self) -> PathBuf {
        self.data.join("doorward.db")
    }

    pub fn signing_key(&self) -> PathBuf {
        self.data.join("signing-key.pem")
    }

    /// The binary on a free port, with cheap hashes and nothing else from the environment of the test.
    pub fn command(&self) -> Command {
        self.command_through(Command::new(env!("CARGO_BIN_EXE_doorward")))
    }

    /// The same for a command that wraps the binary.
    pub fn command_through(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("DOORWARD_LISTEN", "127.0.0.1:0")
            // Tests start many servers at once, and only one can have the default port.
            .env("DOORWARD_METRICS_LISTEN", "off")
            // Clients of the tests keep connections that they do not use again.
            .env("DOORWARD_LIMITS_STOP_GRACE", "0s")
            .env("DOORWARD_DATABASE_URL", format!("sqlite://{}", self.database().display()))
            .env("DOORWARD_PASSWORD_MEMORY_KIB", "7168")
            .env("DOORWARD_PASSWORD_PASSES", "1")
            .current_dir(self.root());
        command
    }

    pub fn start(&self) -> Server {
        Server::start(self.command())
    }

    pub fn start_with(&self, arguments: &[&str]) -> Server {
        let mut command = self.command();
        command.args(arguments);
        Server::start(command)
    }

    /// Runs a command to completion.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.command();
        command.args(arguments);
        run(command)
    }
}

/// Runs a command that must succeed, and returns its output. Standard error may only name the database that it has changed.
#[track_caller]
pub fn stdout_of(home: &Home, arguments: &[&str]) -> String {
    let Finished { status, stdout, stderr } = home.run(arguments);
    assert!(status.success(), "{arguments:?}: {stderr}");
    let is_name = stderr.starts_with("database: ") && stderr.lines().count() == 1;
    assert!(stderr.is_empty() || is_name, "{arguments:?}: {stderr}");
    stdout
}

/// Runs a command that must fail, and returns its one line of error.
#[track_caller]
pub fn error_of(home: &Home, arguments: &[&str]) -> String {
    let Finished { status, stdout, stderr } = home.run(arguments);
    assert!(!status.success(), "{arguments:?}: {stdout}");
    assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{arguments:?}: {stderr}");
    stderr
}
