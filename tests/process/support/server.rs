//! A running server process.

use std::{
    net::{SocketAddr, TcpStream},
    process::Command,
    sync::mpsc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, kill_process};

use super::{Client, Finished, PATIENCE, RawConnection, Signal, eventually, process::Process};

pub struct Server {
    process: Process,
    pub address: SocketAddr,
    pub client: Client,
    /// From the start of the process to the first answer.
    pub ready_after: Duration,
}

impl Server {
    pub fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|refused| panic!("did not start: {refused:#?}"))
    }

    pub fn try_start(command: Command) -> Result<Self, Finished> {
        Self::try_start_through(command, true)
    }

    /// Starts a server whose log is not read until [`Self::read_log`].
    pub fn start_unread(command: Command) -> Self {
        Self::try_start_through(command, false).unwrap_or_else(|_| panic!("did not start"))
    }

    pub fn read_log(&mut self) {
        self.process.stderr.go_on();
    }

    fn try_start_through(command: Command, is_read: bool) -> Result<Self, Finished> {
        let started = Instant::now();
        let (found, address) = mpsc::channel();
        let mut process = Process::spawn(command, move |line| {
            let address = listen_address(line);
            address.inspect(|address| found.send(*address).unwrap());
            address.is_some() && !is_read
        });
        match address.recv_timeout(PATIENCE) {
            Ok(address) => {
                let client = Client::of(address);
                assert_eq!(client.get("/").status, 404, "the first answer");
                Ok(Self { process, address, client, ready_after: started.elapsed() })
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("neither serves nor ends: {:?}", process.stderr.so_far())
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = process.wait();
                let (stdout, stderr) = process.output();
                Err(Finished { status, stdout, stderr })
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// Resident memory in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process.child), signal).unwrap();
    }

    /// Waits until the process exits.
    pub fn end(mut self) -> Finished {
        let status = self.process.wait();
        let (stdout, stderr) = self.process.output();
        Finished { status, stdout, stderr }
    }

    /// Sends SIGTERM and asserts a clean exit.
    pub fn stop(self) -> Finished {
        self.signal(Signal::TERM);
        let finished = self.end();
        assert!(finished.status.success(), "{finished:#?}");
        finished
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.kill_now();
    }

    pub fn kill_now(&mut self) {
        self.process.child.kill().unwrap();
        self.process.child.wait().unwrap();
    }

    /// Standard output and standard error so far.
    pub fn output(&self) -> (String, String) {
        (self.process.stdout.so_far(), self.process.stderr.so_far())
    }

    /// Opens a connection for raw bytes.
    pub fn connect(&self) -> RawConnection {
        RawConnection::to(self.address)
    }

    /// Waits until the server has begun to stop and refuses new connections.
    pub fn wait_until_connections_are_refused(&self) {
        eventually("new connections are refused", || TcpStream::connect(self.address).is_err());
    }
}

/// The address in the line of the log that tells where the server listens.
fn listen_address(line: &str) -> Option<SocketAddr> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    (line["message"] == "listening").then(|| line["address"].as_str().unwrap().parse().unwrap())
}
