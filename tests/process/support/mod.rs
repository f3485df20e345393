//! The binary in a folder of its own, and clients that speak HTTP to it.

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
    connection::Line,
    home::{Home, refused, told},
    process::{Finished, run},
    server::Server,
};

pub const PASSWORD: &str = "correct horse";
/// For whatever should take a moment on an idle machine and must not fail on a busy one.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for a condition.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let given_up = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < given_up, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a program can be run here.
pub fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

#[test]
#[should_panic(expected = "a day")]
fn a_time_that_no_wait_explains_is_too_long() {
    let mut watch = crate::stopwatch::Stopwatch::start(&[std::process::id()]);
    watch.started -= Duration::from_secs(24 * 60 * 60);
    watch.must_show_less_than(Duration::from_secs(1), "a day");
    panic!("where the kernel does not report waits, not even a day is judged");
}
