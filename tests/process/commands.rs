//! Commands with and without a running server.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    postgres::skipped,
    support::{
        Finished, Home, Member, PASSWORD, Server, error_of, is_installed, name_for, run, stdout_of,
    },
};

#[track_caller]
fn lists_and_shows(home: &Home, ada: &Member, bob: &Member) {
    let list = stdout_of(home, &["user", "list"]);
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    for (line, member) in lines.iter().zip([ada, bob]) {
        for part in [&member.id, &member.email, &member.name] {
            assert!(line.contains(part), "{line}");
        }
    }
    assert!(!lines[0].contains("no password") && lines[1].contains("no password"), "{list}");

    let list: Value = serde_json::from_str(&stdout_of(home, &["user", "list", "--json"])).unwrap();
    let emails: Vec<_> = list.as_array().unwrap().iter().map(|user| &user["email"]).collect();
    assert_eq!(emails, [&json!(ada.email), &json!(bob.email)]);
    assert!(!list.to_string().contains("argon2"), "a hash was listed");

    for who in [&ada.id, &ada.email, &ada.email.to_uppercase()] {
        let shown = stdout_of(home, &["user", "show", who]);
        assert!(shown.contains(&ada.id) && shown.contains(&name_for(&ada.email)), "{shown}");
    }
    for command in ["show", "logout", "delete"] {
        for unknown in ["nobody@example.com", "00000000-0000-4000-8000-000000000000", ""] {
            let line = error_of(home, &["user", command, unknown]);
            assert!(line.contains("no such user"), "{line}");
        }
    }
}

/// Two members in the order of their addresses, the second without a password.
fn two_members(server: &Server) -> (Member, Member) {
    let ada = server.client.register("ada@example.com");
    (ada, server.client.register_quickly("bob@example.com"))
}

#[test]
fn users_are_listed_and_shown_with_and_without_a_server() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    lists_and_shows(&home, &ada, &bob);
    server.stop();
    lists_and_shows(&home, &ada, &bob);
    let server = home.start();
    server.client.must_know(&ada);
    server.kill();
    lists_and_shows(&home, &ada, &bob);
}

#[test]
fn a_list_longer_than_one_page_is_complete() {
    let home = Home::new();
    let server = home.start();
    let mut wanted: Vec<_> = (0..1001).map(|number| format!("u{number}@example.com")).collect();
    std::thread::scope(|scope| {
        for share in wanted.chunks(126) {
            let client = server.client.clone();
            scope
                .spawn(move || share.iter().for_each(|email| drop(client.register_quickly(email))));
        }
    });
    wanted.sort();
    let emails = || {
        let list = stdout_of(&home, &["user", "list", "--json"]);
        let list: Vec<Value> = serde_json::from_str(&list).unwrap();
        let email = |user: &Value| user["email"].as_str().unwrap().to_owned();
        list.iter().map(email).collect::<Vec<_>>()
    };
    assert_eq!(emails(), wanted);
    server.stop();
    assert_eq!(emails(), wanted);
}

#[track_caller]
fn shows_last_login_and_two_sessions(home: &Home, ada: &Member) {
    let shown = stdout_of(home, &["user", "show", &ada.email]);
    assert!(shown.contains("sessions    2\n") && !shown.contains("never"), "{shown}");
    assert_eq!(shown.matches("from 127.0.0.1").count(), 2, "{shown}");
    let shown = stdout_of(home, &["user", "show", &ada.email, "--json"]);
    let shown = &serde_json::from_str::<Value>(&shown).unwrap()[0];
    assert!(shown["lastLoginAt"].is_string(), "{shown}");
    let sessions = shown["sessions"].as_array().unwrap();
    let members = ["address", "createdAt", "expiresAt", "id", "lastSeenAt", "userAgent"];
    for session in sessions {
        assert!(session.as_object().unwrap().keys().eq(members.iter()), "{session}");
    }
    assert_eq!(sessions.len(), 2, "{shown}");
}

#[test]
fn a_shown_user_has_their_last_login_and_sessions() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let shown = stdout_of(&home, &["user", "show", &ada.email]);
    assert!(shown.contains("last login  never\nsessions    1\n"), "{shown}");
    server.client.login(&ada.email, PASSWORD);
    shows_last_login_and_two_sessions(&home, &ada);
    server.stop();
    shows_last_login_and_two_sessions(&home, &ada);
}

#[test]
fn a_list_can_be_filtered_and_read_in_pages() {
    let home = Home::new();
    let server = home.start();
    for email in ["ada@example.com", "bob@example.com", "cy@example.org"] {
        server.client.register_quickly(email);
    }
    stdout_of(&home, &["user", "grant", "bob@example.com", "staff"]);
    stdout_of(&home, &["user", "disable", "cy@example.org"]);
    let listed = |arguments: &[&str]| {
        let Finished { status, stdout, stderr } =
            home.run(&[&["user", "list"], arguments, &["--json"]].concat());
        assert!(status.success(), "{stderr}");
        let users: Vec<Value> = serde_json::from_str(&stdout).unwrap();
        let emails = users.iter().map(|user| user["email"].as_str().unwrap()[..2].to_owned());
        (emails.collect::<Vec<_>>().join(" "), stderr)
    };
    let all = |emails: &str| (emails.to_owned(), String::new());
    for (arguments, expected) in [
        (&[][..], all("ad bo cy")),
        (&["EXAMPLE.com"], all("ad bo")),
        (&["--role", "staff"], all("bo")),
        (&["--disabled"], all("cy")),
        (&["--disabled", "bob"], all("")),
        (&["--after", "bob@example.com"], all("cy")),
        (&["--limit", "3"], all("ad bo cy")),
        (&["--limit", "1"], ("ad".into(), "more may follow: --after ada@example.com\n".into())),
    ] {
        assert_eq!(listed(arguments), expected, "{arguments:?}");
    }
    assert_eq!(stdout_of(&home, &["user", "list", "nobody"]), "");
}

#[test]
fn help_shows_a_commands_own_options_and_names_the_settings() {
    let home = Home::new();
    for command in [&["user", "list"][..], &["keys", "list"], &["why"], &["user"]] {
        let help = stdout_of(&home, &[command, &["--help"]].concat());
        let (own, settings) = help.split_once("Settings (").expect("the settings come last");
        assert!(own.lines().count() < 30, "{help}");
        assert!(settings.lines().count() < 20, "only their names: {help}");
        assert!(
            help.contains("--token-lifetime") && !help.contains("How long a token is valid"),
            "{help}"
        );
        assert!(help.contains("doorward config --help"), "{help}");
        let (own, settings) = (help.find("--help"), help.find("--token-lifetime"));
        assert!(own < settings, "{help}");
    }
    for command in [&["serve"][..], &["config"], &[]] {
        let help = stdout_of(&home, &[command, &["--help"]].concat());
        assert!(
            help.contains("--token-lifetime") && help.contains("How long a token is valid"),
            "{help}"
        );
    }
    // A setting may come before or after the command.
    let url = format!("sqlite://{}", home.database().display());
    home.start().stop();
    for arguments in [
        ["--database-url", &url, "user", "list"],
        ["user", "--database-url", &url, "list"],
        ["user", "list", "--database-url", &url],
    ] {
        let mut command = home.command();
        command.env_remove("DOORWARD_DATABASE_URL").args(arguments);
        let done = run(command);
        assert!(done.status.success(), "{done:?}");
    }
}

#[test]
fn a_command_that_finds_no_database_says_where_it_looked_and_how_to_name_another() {
    let home = Home::new();
    for command in [&["user", "list"][..], &["keys", "rotate"], &["guard", "list"]] {
        let mut process = home.command();
        process.env_remove("DOORWARD_DATABASE_URL").args(command);
        let Finished { stderr, .. } = run(process);
        let place = home.root().join("data/doorward.db");
        for part in [place.to_str().unwrap(), "--database-url", "DOORWARD_DATABASE_URL", "--config"]
        {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(!home.data().exists(), "a command made a folder");
    }
    fs::write(home.data(), "").unwrap();
    let line = error_of(&home, &["user", "list"]);
    assert!(line.contains("Not a directory") && !line.contains("there is no"), "{line}");
}

#[test]
fn a_command_without_permission_says_so() {
    let home = Home::new();
    home.start().stop();
    // Root can read every file, so another user runs the command.
    let is_root = rustix::process::geteuid().is_root();
    let command = || {
        let mut command = if is_root {
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            home.command_through(other)
        } else {
            home.command_through(Command::new("env"))
        };
        command.env("PATH", "/usr/bin:/bin").arg(home.root().join("doorward"));
        command.args(["user", "list"]);
        command
    };
    fs::copy(env!("CARGO_BIN_EXE_doorward"), home.root().join("doorward")).unwrap();
    if is_root && !is_installed("setpriv") {
        skipped("a command without permission needs setpriv, or a user other than root");
        return;
    }
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(home.root(), 0o755);
    mode(home.data(), if is_root { 0o700 } else { 0 });
    let denied = run(command());
    mode(home.data(), 0o755);
    let file = home.data().join("doorward.lock");
    mode(&file, if is_root { 0o600 } else { 0 });
    let locked = run(command());
    for (Finished { status, stderr, .. }, path) in [(denied, &home.database()), (locked, &file)] {
        assert!(!status.success(), "{stderr}");
        for part in [path.to_str().unwrap(), "Permission denied", "as the user that the server"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        assert!(!stderr.contains("there is no"), "{stderr}");
    }
}

#[test]
fn after_a_logout_the_next_request_is_refused() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    let second = server.client.login(&ada.email, PASSWORD).field("token");
    for _ in 0..3 {
        assert_eq!((server.client.guard(&ada.token), server.client.guard(&second)), (200, 200));
    }
    assert_eq!(stdout_of(&home, &["user", "logout", &ada.email]), "2 sessions ended\n");
    assert_eq!((server.client.guard(&ada.token), server.client.guard(&second)), (401, 401));
    assert_eq!(server.client.guard(&bob.token), 200, "another user was logged out");
    let again = server.client.login(&ada.email, PASSWORD).field("token");
    assert_eq!(server.client.guard(&again), 200);
    server.stop();

    assert_eq!(stdout_of(&home, &["user", "logout", &ada.id]), "1 session ended\n");
    assert_eq!(stdout_of(&home, &["user", "logout", &ada.id]), "0 sessions ended\n");
    let server = home.start();
    for token in [&ada.token, &second, &again] {
        assert_eq!(server.client.guard(token), 401);
    }
    server.client.must_know(&bob);
}

/// Asserts that nothing is left of a deleted user, and that the address can be registered again.
#[track_caller]
fn must_be_deleted(server: &Server, ada: &Member) {
    assert_eq!(server.client.guard(&ada.token), 401);
    assert_eq!(server.client.profile(&ada.id).status, 404);
    let unknown = server.client.login("nobody@example.com", PASSWORD);
    let deleted = server.client.login(&ada.email, PASSWORD);
    assert_eq!((deleted.status, &deleted.body), (404, &unknown.body));

    let again = server.client.register(&ada.email);
    assert_ne!(again.id, ada.id);
    server.client.must_know(&again);
    assert_eq!(server.client.guard(&ada.token), 401, "an old token for a new user");
    assert_eq!(server.client.profile(&ada.id).status, 404);
}

#[test]
fn a_deleted_user_is_refused_at_the_next_request() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    server.client.must_know(&ada);
    assert_eq!(stdout_of(&home, &["user", "delete", &ada.email]), "deleted\n");
    must_be_deleted(&server, &ada);
    server.client.must_know(&bob);
}

#[test]
fn a_user_deleted_without_a_server_stays_deleted() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    server.stop();
    assert_eq!(stdout_of(&home, &["user", "delete", &ada.id]), "deleted\n");
    let server = home.start();
    must_be_deleted(&server, &ada);
    server.client.must_know(&bob);
}

#[test]
fn a_command_reaches_a_server_in_a_folder_with_a_long_name() {
    let deep = format!("{}data", "a-folder-with-a-long-name/".repeat(5));
    let home = Home::with_data_in(&deep);
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    assert_eq!(stdout_of(&home, &["user", "logout", &ada.email]), "1 session ended\n");
    assert_eq!(server.client.guard(&ada.token), 401);
}

#[test]
fn a_migration_without_a_source_creates_nothing() {
    let (empty, target) = (Home::new(), Home::new());
    let to = format!("sqlite://{}", target.database().display());
    let error = error_of(&empty, &["migrate", "--to", &to]);
    assert!(error.contains("--database-url"), "{error}");
    assert!(!empty.database().exists() && !target.database().exists());

    // No server has used the new database, so the migration can be repeated.
    fs::create_dir_all(empty.data()).unwrap();
    fs::write(empty.database(), "").unwrap();
    let error = error_of(&empty, &["migrate", "--to", &to]);
    assert!(error.contains("no server has ever been started with it"), "{error}");
    target.start().stop();
}

#[test]
fn a_snippet_replaces_a_different_file_only_with_force() {
    let home = Home::new();
    let folder = home.root().join("proxy");
    let into = ["snippet", "haproxy", "--into", folder.to_str().unwrap()];
    let (config, script) = (folder.join("haproxy.cfg"), folder.join("doorward.lua"));
    let written = format!("{}\n{}\n", config.display(), script.display());
    assert_eq!(stdout_of(&home, &into), written);
    assert_eq!(stdout_of(&home, &into), written, "an equal file is not an error");

    // One file differs, so none is written.
    fs::remove_file(&config).unwrap();
    fs::write(&script, "-- mine\n").unwrap();
    let refusal = error_of(&home, &into);
    assert!(refusal.contains(script.to_str().unwrap()) && refusal.contains("--force"), "{refusal}");
    assert!(!config.exists());
    assert_eq!(fs::read_to_string(&script).unwrap(), "-- mine\n");

    assert_eq!(stdout_of(&home, &[&into[..], &["--force"]].concat()), written);
    assert!(config.exists() && fs::read_to_string(&script).unwrap().contains("IDENTITY"));
    let with_remote = [&into[..], &["--force", "--identity-headers", "remote"]].concat();
    stdout_of(&home, &with_remote);
    assert!(fs::read_to_string(&script).unwrap().contains("\"remote-user\""));
}
