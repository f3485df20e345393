//! Commands that change accounts: passwords from a pipe or a terminal, disable, enable.

use std::{
    fs::File,
    io::{Read, Write},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use rustix::{
    pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{LocalModes, tcgetattr},
};
use serde_json::{Value, json};

use crate::support::{Finished, Home, PASSWORD, Server, error_of, eventually, stdout_of};

/// Runs a command with this standard input.
pub fn with_input(home: &Home, arguments: &[&str], input: &str) -> Finished {
    let mut command = home.command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let done = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Finished { status: done.status, stdout: text(done.stdout), stderr: text(done.stderr) }
}

/// A command whose standard input and errors are a terminal.
struct AtTerminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    terminal: File,
}

impl AtTerminal {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        unlockpt(&ours).unwrap();
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let terminal = File::from(ioctl_tiocgptpeer(&ours, flags).unwrap());
        let mut command = home.command();
        command
            .args(arguments)
            .stdin(terminal.try_clone().unwrap())
            .stdout(Stdio::piped())
            .stderr(terminal.try_clone().unwrap());
        let child = command.spawn().unwrap();
        let keyboard = File::from(ours);
        let screen = Arc::<Mutex<String>>::default();
        let (mut light, shown) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = light.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keyboard, screen, terminal }
    }

    fn shows(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Waits for a prompt and types something.
    fn answer(&mut self, question: &str, typed: &str) -> &mut Self {
        eventually(question, || self.shows().ends_with(question));
        self.keyboard.write_all(typed.as_bytes()).unwrap();
        self
    }

    /// The exit code, the standard output, and everything that the terminal has shown.
    fn end(mut self) -> (Option<i32>, String, String) {
        let status = self.child.wait().unwrap();
        let mut printed = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        let usual = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        assert!(modes.contains(usual), "the terminal still hides input");
        writeln!(self.terminal, "the end").unwrap();
        eventually("all is shown", || self.shows().contains("the end"));
        let shown = self.shows();
        assert!(!shown.contains("horse"), "{shown}");
        (status.code(), printed, shown)
    }
}

fn can_log_in(server: &Server, email: &str, password: &str) -> bool {
    server.client.login(email, password).status == 200
}

#[test]
fn a_password_can_be_piped_in() {
    let home = Home::new();
    let server = home.start();
    let add = ["user", "add", "ada@example.com", "--name", "Ada", "--password-stdin"];
    let added = with_input(&home, &add, "correct horse\n");
    assert!(added.status.success() && added.stdout.contains("ada@example.com"), "{added:?}");
    assert!(can_log_in(&server, "ada@example.com", PASSWORD));
    let set = ["user", "set-password", "ada@example.com"];
    let done = with_input(&home, &set, "another horse\r\n");
    assert_eq!(done.stdout, "password set\n");
    assert_eq!(done.stderr, format!("database: {}\n", home.database().display()));
    assert!(can_log_in(&server, "ada@example.com", "another horse"));
    assert!(!can_log_in(&server, "ada@example.com", PASSWORD));
    server.stop();

    // Without a server as well.
    assert!(with_input(&home, &set, "a third horse").status.success());
    assert!(can_log_in(&home.start(), "ada@example.com", "a third horse"));
}

#[test]
fn bad_input_is_refused_in_one_line_and_changes_nothing() {
    let home = Home::new();
    let server = home.start();
    server.client.register("ada@example.com");
    let set = ["user", "set-password", "ada@example.com"];
    let add = |email, name| ["user", "add", email, "--name", name, "--password-stdin"];
    for (arguments, input, cause) in [
        (&set[..], "", "no password was given"),
        (&set, "short", "at least 8"),
        (&set, &"x".repeat(129), "at most 128"),
        (&["user", "set-password", "nobody@example.com"], PASSWORD, "no such user"),
        (&add("eve", "Eve"), PASSWORD, "Invalid email"),
        (&add("eve@example.com", "E"), PASSWORD, "at least 2"),
        (&add("eve@example.com", "Eve"), "short", "at least 8"),
        (&add("eve@example.com", "Eve"), "\n", "no password was given"),
        (&add("ADA@example.com", "Eve"), PASSWORD, "taken"),
    ] {
        let Finished { status, stdout, stderr } = with_input(&home, arguments, input);
        assert!(!status.success() && stdout.is_empty(), "{arguments:?}");
        assert!(stderr.contains(cause) && stderr.lines().count() == 1, "{arguments:?}: {stderr}");
    }
    for arguments in [["user", "disable"], ["user", "enable"], ["user", "reset-code"]] {
        let line = error_of(&home, &[&arguments[..], &["nobody@example.com"]].concat());
        assert!(line.contains("no such user"), "{line}");
    }
    assert!(can_log_in(&server, "ada@example.com", PASSWORD));
    assert_eq!(stdout_of(&home, &["user", "list"]).lines().count(), 1);
}

#[test]
fn a_terminal_prompts_twice_and_hides_the_password() {
    let home = Home::new();
    let server = home.start();
    let mut add = AtTerminal::start(&home, &["user", "add", "ada@example.com", "--name", "Ada"]);
    // With a corrected typo, and a first attempt that does not match.
    add.answer("Password: ", "wrong\u{15}correcté\u{7f} horse\r")
        .answer("Repeat the password: ", "correct horse\n");
    let (code, printed, shown) = add.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(printed.contains("ada@example.com") && !printed.contains("no password"), "{printed}");
    assert!(can_log_in(&server, "ada@example.com", PASSWORD));

    let mut set = AtTerminal::start(&home, &["user", "set-password", "ada@example.com"]);
    set.answer("Password: ", "another horse\n").answer("Repeat the password: ", "another horse\n");
    assert_eq!(set.end().1, "password set\n");
    assert!(can_log_in(&server, "ada@example.com", "another horse"));
}

#[test]
fn an_aborted_prompt_changes_nothing() {
    let home = Home::new();
    let server = home.start();
    server.client.register("ada@example.com");
    let set = ["user", "set-password", "ada@example.com"];
    let answers: [&[(&str, &str)]; 5] = [
        &[("Password: ", "another horse\n"), ("Repeat the password: ", "a third horse\n")],
        &[("Password: ", "another horse\n"), ("Repeat the password: ", "\u{3}")],
        &[("Password: ", "another ho\u{3}")],
        &[("Password: ", "\u{4}")],
        &[("Password: ", "\n")],
    ];
    for answers in answers {
        let mut asking = AtTerminal::start(&home, &set);
        for (question, typed) in answers {
            asking.answer(question, typed);
        }
        let (code, printed, shown) = asking.end();
        assert_eq!((code, printed.as_str()), (Some(1), ""));
        assert!(shown.contains("nothing has changed"), "{shown}");
    }
    assert!(can_log_in(&server, "ada@example.com", PASSWORD));

    let mut add = AtTerminal::start(&home, &["user", "add", "bob@example.com", "--name", "Bob"]);
    add.answer("Password: ", "\n");
    let (code, printed, _) = add.end();
    assert!(code == Some(0) && printed.contains("(no password)"), "{printed}");
}

#[test]
fn a_user_can_be_disabled_and_enabled_again() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    assert_eq!(stdout_of(&home, &["user", "disable", &ada.email]), "disabled\n");
    assert_eq!(server.client.guard(&ada.token), 401);
    assert!(!can_log_in(&server, &ada.email, PASSWORD));
    assert!(stdout_of(&home, &["user", "show", &ada.id]).contains("disabled    yes\n"));
    assert_eq!(stdout_of(&home, &["user", "enable", &ada.id]), "enabled\n");
    assert_eq!(server.client.guard(&ada.token), 401, "an ended session stays ended");
    assert!(can_log_in(&server, &ada.email, PASSWORD));

    let code = stdout_of(&home, &["user", "reset-code", &ada.email]);
    let body = json!({"code": code.trim_end(), "password": "another horse"});
    assert_eq!(server.client.post("/api/auth/reset", &body).status, 204);
    assert!(can_log_in(&server, &ada.email, "another horse"));
}

#[test]
fn the_operator_sees_factors_and_makes_a_link_that_removes_them() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    assert!(stdout_of(&home, &["user", "show", &ada.id]).contains("\nfactors     none\n"));
    let listed = stdout_of(&home, &["user", "factor", "list", &ada.email, "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed, json!({"factors": [], "recoveryCodes": 0, "trustedDevices": []}));
    let link = stdout_of(&home, &["user", "factor", "reset", &ada.email]);
    assert!(link.contains("/factors/reset?code=") && link.lines().count() == 1, "{link}");
    server.stop();
    // Without a server, too.
    let made = stdout_of(&home, &["user", "factor", "reset", &ada.email, "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    let (link, secret) = (made["link"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(link.ends_with(secret) && secret.len() == 43, "{link}");
}

#[test]
fn times_are_shown_to_programs_as_the_api_shows_them() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    let me = server.client.try_get("/api/me", Some(&format!("Bearer {}", ada.token)));
    let me = me.unwrap().json();
    let shown: Value =
        serde_json::from_str(&stdout_of(&home, &["user", "show", &ada.id, "--json"])).unwrap();
    for time in ["createdAt", "updatedAt"] {
        assert!(me[time].is_string());
        assert_eq!(shown[0][time], me[time]);
    }
}

#[test]
fn a_command_names_the_database_that_it_changes() {
    let home = Home::new();
    let server = home.start();
    server.client.register("ada@example.com");
    let place = format!("database: {}\n", home.database().display());
    let all = |server_runs: bool| {
        for (arguments, changes) in [
            (&["user", "grant", "ada@example.com", "staff"][..], true),
            (&["user", "revoke", "ada@example.com", "staff"], true),
            (&["user", "sessions", "ada@example.com"], false),
            (&["user", "list"], false),
            (&["keys", "rotate"], true),
            (&["keys", "list"], false),
            (&["user", "show", "ada@example.com"], false),
            (&["user", "grant", "ada@example.com", "staff", "--json"], false),
            (&["user", "logout", "ada@example.com", "--json"], false),
        ] {
            let Finished { status, stdout, stderr } = home.run(arguments);
            assert!(status.success() && !stdout.contains("database"), "{arguments:?}: {stdout}");
            let is_named = stderr.contains(&place);
            assert_eq!(is_named, changes, "{arguments:?}, with a server {server_runs}: {stderr}");
        }
    };
    all(true);
    server.stop();
    all(false);
    let refused = home.run(&["user", "grant", "nobody@example.com", "staff"]);
    assert!(
        !refused.status.success() && !refused.stderr.contains("database: "),
        "{}",
        refused.stderr
    );
}
