//! What the service reports to the service manager (`sd_notify`).

use std::{iter, os::unix::net::UnixDatagram};

use crate::support::{Home, PATIENCE, Server, Signal};

/// A service manager that starts the service and hears what it reports.
struct Manager {
    home: Home,
    socket: UnixDatagram,
}

impl Manager {
    fn new() -> Self {
        let home = Home::new();
        let socket = UnixDatagram::bind(home.root().join("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { home, socket }
    }

    fn start(&self, variables: &[(&str, &str)]) -> Server {
        let mut command = self.home.command();
        command.env("NOTIFY_SOCKET", self.home.root().join("notify"));
        command.envs(variables.iter().copied());
        Server::start(command)
    }

    fn next(&self) -> Vec<String> {
        let mut message = [0; 1000];
        let length = self.socket.recv(&mut message).expect("a report");
        let text = std::str::from_utf8(&message[..length]).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn hears_nothing_more(&self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        self.socket.recv(&mut [0]).is_err()
    }
}

#[test]
fn start_reload_and_stop_are_reported() {
    let manager = Manager::new();
    let server = manager.start(&[]);
    let ready = ["READY=1".to_owned(), format!("STATUS=Listening on http://{}", server.address)];
    assert_eq!(manager.next(), ready);

    for _ in 0..2 {
        server.signal(Signal::HUP);
        let reloading = manager.next();
        assert_eq!(reloading[0], "RELOADING=1");
        let time = reloading[1].strip_prefix("MONOTONIC_USEC=").unwrap();
        assert!(time.parse::<u64>().unwrap() > 0);
        assert_eq!(manager.next(), ready);
    }

    // Settings that cannot be used keep the old guards in force: the service is ready again.
    std::fs::write(manager.home.root().join("doorward.toml"), "nonsense = 1\n").unwrap();
    server.signal(Signal::HUP);
    assert_eq!(manager.next()[0], "RELOADING=1");
    assert_eq!(manager.next(), ready);

    server.stop();
    assert_eq!(manager.next()[0], "STOPPING=1");
    assert!(manager.hears_nothing_more());
}

#[test]
fn the_watchdog_hears_again_and_again_that_the_service_is_alive() {
    let manager = Manager::new();
    let server = manager.start(&[("WATCHDOG_USEC", "200000")]);
    // On a busy machine, the first sign of life comes before the report that the service is ready.
    let alive = ["WATCHDOG=1"];
    let ready = iter::repeat_with(|| manager.next()).find(|heard| *heard != alive);
    assert_eq!(ready.unwrap()[0], "READY=1");
    for _ in 0..5 {
        assert_eq!(manager.next(), alive);
    }
    server.stop();
}

#[test]
fn the_watchdog_of_another_process_is_not_answered() {
    let manager = Manager::new();
    let server = manager.start(&[("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")]);
    assert_eq!(manager.next()[0], "READY=1");
    server.stop();
    assert_eq!(manager.next()[0], "STOPPING=1");
}
