//! Runs the binary in a temporary folder, and HTTP clients for it.

mod client;
mod connection;
mod home;
mod process;
mod server;

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

pub use rustix::process::Signal;

pub use self::{
    client::{Answer, Client, Member, claims_of, member, name_for},
    connection::RawConnection,
    home::{Home, error_of, stdout_of},
    process::{Finished, run},
    server::Server,
};

pub const PASSWORD: &str = "correct horse";
/// The bound of every wait: long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Polls a condition until it holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let given_up = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < given_up, "timed out: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether this machine has a program.
pub fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

#[test]
#[should_panic(expected = "a day")]
fn a_time_that_no_stall_explains_is_too_long() {
    let mut watch = crate::stopwatch::Stopwatch::start(&[std::process::id()]);
    watch.started -= Duration::from_secs(24 * 60 * 60);
    watch.must_show_less_than(Duration::from_secs(1), "a day");
    panic!("not checked here, because the kernel does not report waits: not even a day");
}
