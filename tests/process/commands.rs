//! Commands with and without a running server.

use std::{
    fs::{self, Permissions},
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::Path,
    process::Command,
    time::{Duration, Instant},
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
    let members = ["id", "createdAt", "lastSeenAt", "expiresAt", "address", "userAgent"];
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
    assert!(
        shown.contains("\nfactors     none\nlogins      0\nAPI keys    0\nsessions    1\n"),
        "{shown}"
    );
    assert!(!shown.contains("never"), "a registration begins a session: {shown}");
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
    let nobody =
        "no user matches: a search finds how words of the name and the e-mail address begin\n";
    for (arguments, expected) in [
        (&[][..], all("ad bo cy")),
        (&["EXAMPLE.com"], all("ad bo")),
        (&["--role", "staff"], all("bo")),
        (&["--disabled"], all("cy")),
        (&["--disabled", "bob"], (String::new(), nobody.to_owned())),
        (&["--after", "bob@example.com"], all("cy")),
        (&["--limit", "3"], all("ad bo cy")),
        (&["--limit", "1"], ("ad".into(), "more may follow: --after 'ada@example.com'\n".into())),
    ] {
        assert_eq!(listed(arguments), expected, "{arguments:?}");
    }
    assert_eq!(listed(&["nobody"]), (String::new(), nobody.to_owned()));
}

#[test]
fn help_shows_a_commands_own_options_and_where_the_settings_are() {
    let home = Home::new();
    for command in [&["user", "list"][..], &["serve"], &["config"], &["user"], &[]] {
        let help = stdout_of(&home, &[command, &["--help"]].concat());
        let (own, settings) =
            help.split_once("Every setting is a flag").expect("it names the settings");
        assert!(own.contains("Examples:\n") && help.lines().count() <= 40, "{help}");
        assert!(settings.contains("`doorward config` lists"), "{help}");
        assert!(!help.contains("How long a token is valid"), "{help}");
    }
    let config = stdout_of(&home, &["config", "token-life"]);
    assert!(
        config.contains("How long a token is valid") && config.lines().count() == 1,
        "{config}"
    );
}

#[test]
fn a_setting_may_come_before_or_after_the_command() {
    let home = Home::new();
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

#[test]
fn an_account_is_secured_with_and_without_a_server() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    let key = json!({"name": "laptop"});
    assert_eq!(server.client.request("POST", "/api/me/keys", &ada.token, &key).status, 201);
    let shown = stdout_of(&home, &["user", "show", &ada.email]);
    assert!(shown.contains("\nAPI keys    1\n") && shown.contains("  laptop  guard:*"), "{shown}");
    let keys = stdout_of(&home, &["api-key", "list"]);
    assert!(keys.contains(&format!(" <{}>  laptop  guard:*", ada.email)), "{keys}");
    let expected = format!(
        "1 session ended\n1 API key of the user still counts: `doorward user secure {}` ends it, too\n",
        ada.email
    );
    assert_eq!(stdout_of(&home, &["user", "logout", &ada.email]), expected);
    let again = server.client.login(&ada.email, PASSWORD).field("token");
    let ended = "\n1 API key revoked\n0 trusted browsers removed\n0 links and codes voided\n\
                 0 invitations voided\n0 second factors removed\npassword removed\n\
                 code to set a new password, valid once within 30 minutes: ";
    let in_with = |printed: &str, server: &Server| {
        let code = printed.trim_end().rsplit(' ').next().unwrap();
        let body = json!({"code": code, "password": PASSWORD});
        assert_eq!(server.client.post("/api/auth/reset", &body).status, 204);
        assert_eq!(server.client.login(&ada.email, PASSWORD).status, 200);
    };
    let printed = stdout_of(&home, &["user", "secure", &ada.email]);
    assert!(printed.starts_with(&format!("1 session ended{ended}")), "{printed}");
    assert_eq!((server.client.guard(&ada.token), server.client.guard(&again)), (401, 401));
    assert_eq!(server.client.login(&ada.email, PASSWORD).status, 404);
    in_with(&printed, &server);
    server.client.must_know(&bob);
    server.stop();

    let printed = stdout_of(&home, &["user", "secure", &ada.id, "--remove-factors", "all"]);
    assert!(printed.contains("1 session ended\n0 API keys revoked\n"), "{printed}");
    in_with(&printed, &home.start());
    let error = home.run(&["user", "secure", &ada.id, "--remove-factors", "some"]).stderr;
    assert!(error.contains("write all, none, or a number"), "{error}");
    let nobody = home.run(&["user", "list", "ello"]).stderr;
    assert!(nobody.contains("a search finds how words"), "{nobody}");
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

/// No server of these tests gets this port.
const NOBODY_LISTENS: &str = "127.0.0.1:1";

#[test]
fn the_exit_code_tells_what_kind_of_failure_it_is() {
    let home = Home::new();
    let code = |arguments: &[&str]| home.run(arguments).status.code();
    assert_eq!(code(&["user", "lits"]), Some(2));
    assert_eq!(code(&["user", "list", "--token-lifetime", "soon"]), Some(2));
    assert_eq!(code(&["dev", "--users", "missing.jsonl"]), Some(2));
    assert_eq!(code(&["user", "list"]), Some(1), "there is no database");
    assert_eq!(code(&["health", "--listen", NOBODY_LISTENS]), Some(1), "there is no server");
    let server = home.start();
    let address = server.address.to_string();
    for arguments in [
        &["user", "show", "nobody@example.com"][..],
        &["user", "uninvite", "nobody@example.com"],
        &["guard", "check", "missing"],
        &["keys", "revoke", "missing"],
        &["why", "missing"],
        &["snippet", "nginx", "missing"],
        &["config", "missing"],
    ] {
        assert_eq!(code(arguments), Some(4), "{arguments:?}");
    }
    assert_eq!(code(&["user", "list"]), Some(0));
    assert_eq!(code(&["health", "--listen", &address]), Some(0));
    server.stop();
    for arguments in [&["reload"][..], &["why", "missing"]] {
        assert_eq!(code(arguments), Some(3), "{arguments:?}");
    }
}

#[test]
fn health_says_in_one_line_whether_the_server_is_ready() {
    let home = Home::new();
    let server = home.start();
    let address = server.address.to_string();
    let health = ["health", "--listen", &address];
    assert_eq!(stdout_of(&home, &health), "ready\n");
    // A wildcard address is reached through loopback.
    let wildcard = format!("0.0.0.0:{}", server.address.port());
    assert_eq!(stdout_of(&home, &["health", "--listen", &wildcard]), "ready\n");
    let json = |finished: &str| serde_json::from_str::<Value>(finished).unwrap();
    let answer = json(&stdout_of(&home, &[&health[..], &["--json"]].concat()));
    assert_eq!(
        answer,
        serde_json::json!({"ready": true, "url": format!("http://{address}/readyz")})
    );
    let health = ["health", "--listen", NOBODY_LISTENS];
    let Finished { stdout, stderr, .. } = home.run(&health);
    let message = format!("nothing listens on {NOBODY_LISTENS} (connection refused)");
    assert_eq!((stdout, stderr.as_str()), (format!("not ready: {message}\n"), ""));
    let answer = json(&home.run(&[&health[..], &["--json"]].concat()).stdout);
    assert_eq!(answer["ready"], false, "{answer}");
    assert_eq!(answer["message"], message.as_str(), "{answer}");
}

#[test]
fn config_tells_where_each_value_comes_from_and_no_secret() {
    let home = Home::new();
    let file =
        "[token]\nissuer = \"x\"\n\n[mail]\nurl = \"file:mails\"\nfrom = \"a@example.com\"\n";
    std::fs::write(home.root().join("doorward.toml"), file).unwrap();
    let mut command = home.command();
    command.env("DOORWARD_DATABASE_URL", "postgres://me:geheim@127.0.0.1/db");
    command.args(["config", "--json", "--token-audience", "y"]);
    let Finished { status, stdout, stderr } = run(command);
    assert!(status.success(), "{stderr}");
    assert!(!stdout.contains("geheim"), "{stdout}");
    let settings: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    let of = |name: &str| settings.iter().find(|setting| setting["name"] == name).unwrap();
    for (name, value, source, place) in [
        ("token.issuer", "x", "file", Some("doorward.toml:2")),
        ("mail.url", "file:mails", "file", Some("doorward.toml:5")),
        ("token.audience", "y", "flag", Some("--token-audience")),
        ("database_url", "postgres://127.0.0.1:5432/db", "variable", Some("DOORWARD_DATABASE_URL")),
        ("token.lifetime", "1d", "default", None),
    ] {
        let setting = of(name);
        assert_eq!(setting["source"], source, "{setting}");
        assert_eq!(setting["place"].as_str(), place, "{setting}");
        assert!(setting["value"].as_str().unwrap().starts_with(value), "{setting}");
    }
    let sources = stdout_of(&home, &["config", "issuer", "--sources"]);
    assert_eq!(sources, "token.issuer = \"x\"  # doorward.toml:2\n");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout_of(&home, &["completions", shell]);
        for word in ["set-password", "doctor", "token-lifetime"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if is_installed(shell) {
            let path = home.root().join(shell);
            std::fs::write(&path, script).unwrap();
            let mut check = std::process::Command::new(shell);
            check.arg("-n").arg(&path);
            let checked = run(check);
            assert!(checked.status.success(), "{shell}: {checked:?}");
        }
    }
    let pages = home.root().join("man");
    stdout_of(&home, &["man", "--into", pages.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("doorward-user-add.1").contains("password\\-stdin"));
    assert!(page("doorward-serve.1").contains("token\\-lifetime"));
    assert!(page("doorward.1").contains("Exit codes"));
    assert!(stdout_of(&home, &["man"]).starts_with(".ie"), "it is roff");
}

#[test]
fn what_a_script_would_read_is_there_as_json() {
    let home = Home::new();
    let guard = "[guards.staff]\nallow = \"'staff' in user.roles\"\n";
    std::fs::write(home.root().join("doorward.toml"), guard).unwrap();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let json = |arguments: &[&str]| -> Value {
        let arguments = [arguments, &["--json"]].concat();
        serde_json::from_str(&stdout_of(&home, &arguments)).unwrap()
    };
    assert_eq!(json(&["user", "grant", &ada.email, "staff"])["changed"], true);
    assert_eq!(json(&["user", "grant", &ada.email, "staff"])["changed"], false);
    assert_eq!(json(&["user", "verify", &ada.email])["changed"], true);
    assert_eq!(json(&["user", "logout", &ada.email])["sessionsEnded"], 1);
    let secured = json(&["user", "secure", &ada.email, "--no-mail"]);
    assert_eq!((&secured["mailed"], &secured["passwordRemoved"]), (&false.into(), &true.into()));
    assert_eq!(json(&["user", "reset-code", &ada.email])["code"].as_str().unwrap().len(), 32);
    assert_eq!(json(&["guard", "check", "staff", "--user", &ada.email])["admitted"], true);
    assert!(json(&["guard", "check", "staff"])["findings"].is_array());
    assert_eq!(json(&["guard", "test"])[0]["guard"], "staff");
    assert_eq!(json(&["reload"])[0]["name"], "staff");
    assert!(json(&["why", "--user", &ada.email])["refused"].is_array());
    assert_eq!(json(&["keys", "list"])[0]["stage"], "signing");
    assert_eq!(json(&["client", "secret", "gateway"])["name"], "gateway");
    assert_eq!(json(&["user", "disable", &ada.email])["changed"], true);
    assert_eq!(json(&["user", "delete", &ada.email])["changed"], true);
    server.stop();
    let new = format!("sqlite://{}", home.root().join("new/doorward.db").display());
    let migrated = json(&["migrate", "--to", &new]);
    assert_eq!(
        (&migrated["users"], migrated["checksum"].as_str().unwrap().len()),
        (&Value::from(0), 64)
    );
}

/// The server waits 30 seconds for a command.
#[test]
fn a_client_that_sends_no_command_delays_no_other() {
    let home = Home::new();
    let server = home.start();
    server.client.register("ada@example.com");
    let socket = home.data().join("doorward.sock");
    let silent: Vec<_> = (0..7).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let started = Instant::now();
    for _ in 0..3 {
        assert_eq!(stdout_of(&home, &["user", "list"]).lines().count(), 1);
    }
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    drop(silent);
}

/// The answer of the socket to a request of a process that runs as this user.
fn answer_to_user(socket: &Path, uid: u32) -> String {
    let socket = socket.to_owned();
    // The user is that of a thread, which ends here.
    let asking = std::thread::spawn(move || {
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(uid)).unwrap();
        let mut connection = UnixStream::connect(socket).unwrap();
        let request = b"GET /api/admin/users HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut answer = String::new();
        // The server closes the connection of another user, perhaps before it has read anything.
        let _ = connection.write_all(request);
        let _ = connection.read_to_string(&mut answer);
        answer
    });
    asking.join().unwrap()
}

#[test]
fn another_user_of_the_machine_gives_no_orders_whatever_the_modes_of_the_socket_are() {
    const OTHER: u32 = 12_345;
    if !rustix::process::geteuid().is_root() {
        skipped("another user of the machine needs root");
        return;
    }
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let socket = home.data().join("doorward.sock");
    for path in home.data().ancestors().take_while(|path| path.starts_with(home.root())) {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
    let own = answer_to_user(&socket, 0);
    assert!(own.starts_with("HTTP/1.1 200") && own.contains(&ada.id), "{own}");
    assert_eq!(answer_to_user(&socket, OTHER), "");
    let output = server.stop().stderr;
    let refused: Vec<_> = output.lines().filter(|line| line.contains("another user")).collect();
    assert!(refused.len() == 1 && refused[0].contains(&OTHER.to_string()), "{refused:?}");
}

#[test]
fn whose_passwords_an_emergency_removes_is_checked_before_anything_is_asked() {
    let home = Home::new();
    home.start().stop();
    for (value, advice) in [
        ("staff", "role:staff"),
        ("role:", "role:admin"),
        ("ALL!", "write all, none, or role: and a role"),
    ] {
        for flags in [&[][..], &["--yes"]] {
            let arguments = [&["emergency", "--new-passwords", value], flags].concat();
            let Finished { status, stderr, .. } = home.run(&arguments);
            assert_eq!(status.code(), Some(2), "{arguments:?}: {stderr}");
            assert!(stderr.contains(&format!("'{value}'")) && stderr.contains(advice), "{stderr}");
            assert!(!stderr.contains("signs everybody out"), "{stderr}");
        }
    }
    let asked = home.run(&["emergency", "--new-passwords", "role:staff"]).stderr;
    assert!(asked.contains("add --yes; nothing has changed"), "{asked}");
}

#[test]
fn single_sessions_are_listed_and_ended() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let bob = server.client.register("bob@example.com");
    let other = server.client.login(&ada.email, PASSWORD).field("token");
    let list = || -> Vec<Value> {
        let json = stdout_of(&home, &["user", "sessions", &ada.email, "--json"]);
        serde_json::from_str(&json).unwrap()
    };
    let [first, second] = &list()[..] else { panic!("{:?}", list()) };
    let (first, second) = (first["id"].as_str().unwrap(), second["id"].as_str().unwrap());
    let listed = stdout_of(&home, &["user", "sessions", &ada.email]);
    assert!(listed.lines().next().unwrap().starts_with(&format!("{first}  since 20")), "{listed}");

    let ended = stdout_of(&home, &["user", "sessions", &ada.id, "--end", first]);
    assert_eq!(ended, format!("{first}  ended\n"));
    assert_eq!((server.client.guard(&ada.token), server.client.guard(&other)), (401, 200));
    assert_eq!(list().len(), 1);
    // Neither a session of somebody else nor one that has ended.
    for (user, session) in [(&bob.email, second), (&ada.email, first), (&ada.email, "x")] {
        let arguments = ["user", "sessions", user, "--end", session];
        let Finished { status, stderr, .. } = home.run(&arguments);
        assert_eq!(status.code(), Some(4), "{stderr}");
        assert!(stderr.contains("has no such session"), "{stderr}");
    }
    assert_eq!((server.client.guard(&other), server.client.guard(&bob.token)), (200, 200));
    let logged = server.stop().stderr;
    assert!(logged.contains("session ended by the operator"), "{logged}");
    // Without a server, too.
    let ended = stdout_of(&home, &["user", "sessions", &ada.email, "--end", second, "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&ended).unwrap()["sessionsEnded"], 1);
    assert_eq!(list().len(), 0);
}

#[test]
fn what_is_stored_about_one_person_is_exported_as_they_would_get_it() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    server.client.register("bob@example.com");
    let theirs = server.client.request("GET", "/api/me/export", &ada.token, &Value::Null).json();
    let file = home.root().join("ada.json");
    let path = file.to_str().unwrap();
    stdout_of(&home, &["export", "--user", &ada.email, path]);
    let text = std::fs::read_to_string(&file).unwrap();
    let ours: Value = serde_json::from_str(&text).unwrap();
    for part in [
        "id",
        "name",
        "email",
        "emailVerified",
        "roles",
        "createdAt",
        "updatedAt",
        "hasPassword",
        "lastLoginAt",
    ] {
        assert_eq!(ours["user"][part], theirs["user"][part], "{part}");
    }
    assert_eq!(ours["knownNetworks"], theirs["knownNetworks"]);
    assert_eq!(ours["sessions"][0]["id"], theirs["sessions"][0]["id"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&theirs));
    assert!(!text.contains("argon2") && !text.contains("bob@example.com"), "{text}");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    // The file stays, and a name that nobody has is an error.
    assert!(error_of(&home, &["export", "--user", &ada.email, path]).contains("exists"));
    let missing = home.run(&["export", "--user", "eve@example.com"]);
    assert_eq!((missing.status.code(), missing.stdout.as_str()), (Some(4), ""));
    server.stop();
    let printed = stdout_of(&home, &["export", "--user", &ada.id]);
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["user"]["name"], ada.name);
}
