//! Declared guards in the binary: the settings file, reload, and reasons of refusals.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::support::{
    Answer, Finished, Home, Member, Server, Signal, error_of, eventually, stdout_of,
};

const STAFF: &str = "[guards.staff]\nallow = '\"staff\" in user.roles'\n";

/// Replaces the settings file atomically, so that the server never reads half of it.
fn write_settings(home: &Home, text: &str) {
    let (unfinished, path) = (home.root().join("unfinished"), home.root().join("doorward.toml"));
    fs::write(&unfinished, text).unwrap();
    fs::rename(unfinished, path).unwrap();
}

fn ask(server: &Server, guard: &str, member: &Member) -> Answer {
    let bearer = format!("Bearer {}", member.token);
    server.client.try_get(&format!("/api/auth/{guard}"), Some(&bearer)).unwrap()
}

#[test]
fn granting_and_revoking_a_role_take_effect_at_the_next_request() {
    let home = Home::new();
    write_settings(&home, STAFF);
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    assert_eq!(ask(&server, "staff", &ada).status, 401);
    assert_eq!(stdout_of(&home, &["user", "grant", &ada.email, "staff"]), "granted\n");
    assert_eq!(ask(&server, "staff", &ada).status, 200);
    assert_eq!(
        stdout_of(&home, &["user", "grant", &ada.email, "staff"]),
        "the user already has this role\n"
    );
    assert!(stdout_of(&home, &["user", "show", &ada.email]).contains("roles       staff\n"));
    assert_eq!(stdout_of(&home, &["user", "revoke", &ada.email, "staff"]), "revoked\n");
    assert_eq!(ask(&server, "staff", &ada).status, 401);
    assert!(error_of(&home, &["user", "grant", &ada.email, "two words"]).contains("not a role"));
}

#[test]
fn guards_are_reloaded_all_or_none() {
    let home = Home::new();
    write_settings(&home, STAFF);
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    assert_eq!(ask(&server, "open", &ada).status, 404);

    write_settings(&home, &format!("{STAFF}[guards.open]\nallow = 'true'\n"));
    server.signal(Signal::HUP);
    eventually("SIGHUP puts the new guard in force", || ask(&server, "open", &ada).status == 200);

    // One invalid guard keeps the whole file from taking effect.
    write_settings(
        &home,
        "[guards.new]\nallow = 'true'\n[guards.open]\nallow = 'user.nmae == 1'\n",
    );
    server.signal(Signal::HUP);
    eventually("the error is logged", || server.output().1.contains("guards not reloaded"));
    assert!(server.output().1.contains("user.nmae: did you mean name?"), "{}", server.output().1);
    assert_eq!(ask(&server, "new", &ada).status, 404);
    assert_eq!(ask(&server, "open", &ada).status, 200);

    write_settings(&home, "[guards.new]\nallow = 'true'\n");
    assert!(stdout_of(&home, &["reload"]).starts_with("1 guard is in force"));
    assert_eq!(ask(&server, "new", &ada).status, 200);
    assert_eq!(ask(&server, "open", &ada).status, 404);
    server.stop();
    assert!(error_of(&home, &["reload"]).contains("no server is running"));
}

#[test]
fn a_broken_reload_under_load_makes_no_wrong_decision() {
    const DECISIONS: usize = 20_000;
    let home = Home::new();
    write_settings(&home, STAFF);
    let server = home.start();
    let staff = server.client.register_quickly("staff@example.com");
    let guest = server.client.register_quickly("guest@example.com");
    stdout_of(&home, &["user", "grant", &staff.email, "staff"]);

    let decided = Arc::new(AtomicUsize::new(0));
    let request = |member: &Member| {
        format!(
            "GET /api/auth/staff HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n\r\n",
            member.token
        )
    };
    // A client library without optimisation takes longer than the server.
    let requests = request(&staff) + &request(&guest);
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let (mut connection, requests) = (server.connect(), requests.clone());
            let decided = Arc::clone(&decided);
            thread::spawn(move || {
                let mut wrong = 0;
                while decided.fetch_add(2, Ordering::Relaxed) < DECISIONS {
                    connection.send(&requests);
                    for right in [200, 401] {
                        wrong += usize::from(connection.answer().unwrap().status != right);
                    }
                }
                wrong
            })
        })
        .collect();
    let files = [
        "[guards.staff]\nallow = '\"staff\" in usr.roles'\n",
        "[guards.staff]\nallow = 'user.roles.exists(r, r == \"staff\")'\n",
        "[guards.staff\n",
        STAFF,
    ];
    let mut reloads = 0;
    while !askers.iter().all(thread::JoinHandle::is_finished) {
        write_settings(&home, files[reloads % files.len()]);
        server.signal(Signal::HUP);
        reloads += 1;
        thread::sleep(std::time::Duration::from_millis(10));
    }
    let wrong: usize = askers.into_iter().map(|asker| asker.join().unwrap()).sum();
    println!("{DECISIONS} decisions, {reloads} reloads, {wrong} wrong");
    assert_eq!(wrong, 0);
    eventually("both outcomes are logged", || {
        let logged = server.output().1;
        logged.contains("guards reloaded") && logged.contains("guards not reloaded")
    });
}

#[test]
fn every_refusal_is_explained_on_the_command_line() {
    let home = Home::new();
    write_settings(&home, &format!("{STAFF}[guards.broken]\nallow = 'user.roles[5] == \"x\"'\n"));
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    let why = |answer: &Answer| {
        assert_eq!(answer.status, 401);
        stdout_of(&home, &["why", answer.header("x-decision-id").expect("a decision id")])
    };
    let without_token = server.client.get("/api/auth/staff");
    assert!(
        why(&without_token).contains("token      no token was sent"),
        "{}",
        why(&without_token)
    );
    let told_why = why(&ask(&server, "staff", &ada));
    for part in [
        "guard      staff (version ",
        "outcome    refused",
        "token      good",
        &format!("user       {}", ada.id),
        "condition  \"staff\" in user.roles",
        "  \"staff\" in user.roles  =>  false",
        "    user.roles  =>  []",
        "refused because  \"staff\" in user.roles  is  false",
    ] {
        assert!(told_why.contains(part), "{part:?} is missing in:\n{told_why}");
    }
    assert!(!told_why.contains(&ada.token) && !told_why.contains("@example.com"), "{told_why}");
    assert!(why(&ask(&server, "broken", &ada)).contains("error: Index out of bounds"));
    stdout_of(&home, &["user", "logout", &ada.email]);
    assert!(why(&ask(&server, "staff", &ada)).contains("its session has ended"));
    stdout_of(&home, &["user", "delete", &ada.email]);
    assert!(why(&ask(&server, "staff", &ada)).contains("its user has been deleted"));
    assert!(
        error_of(&home, &["why", "0123456789abcdef0123456789abcdef"]).contains("no such refusal")
    );
}

#[test]
fn why_says_that_a_guard_without_a_proxy_has_seen_the_address_of_the_proxy() {
    const ALLOW: &str =
        "allow = 'request.address.inNetwork(\"192.0.2.0/24\") && user.name != \"Bob\"'\n";
    let home = Home::new();
    write_settings(
        &home,
        &format!(
            "trusted_proxies = [\"127.0.0.1\"]\n{STAFF}[guards.plain]\n{ALLOW}[guards.named]\n{ALLOW}proxy = \"nginx\"\n"
        ),
    );
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    let why = |guard: &str, forwarded: &str| {
        let mut connection = server.connect();
        let authorization = format!("Authorization: Bearer {}\r\n", ada.token);
        connection.send(format!(
            "GET /api/auth/{guard} HTTP/1.1\r\nHost: here\r\n{authorization}{forwarded}\r\n"
        ));
        let answer = connection.answer().unwrap();
        assert_eq!(answer.status, 401, "{answer:?}");
        let decision = answer.header("x-decision-id").expect("a decision id").to_owned();
        let json: serde_json::Value =
            serde_json::from_str(&stdout_of(&home, &["why", &decision, "--json"])).unwrap();
        (stdout_of(&home, &["why", &decision]), json["proxyAddress"].clone())
    };
    let told = "request.address was 127.0.0.1, the address of the proxy itself";
    let forwarded = "X-Forwarded-For: 198.51.100.7\r\n";
    let (text, address) = why("plain", forwarded);
    assert!(text.contains(told) && text.contains("set proxy = \"nginx\""), "{text}");
    assert_eq!(address, "127.0.0.1");
    // It is told only where it is the reason.
    for (guard, forwarded) in [("plain", ""), ("named", forwarded), ("staff", forwarded)] {
        let (text, address) = why(guard, forwarded);
        assert!(!text.contains("the proxy itself") && address.is_null(), "{guard}: {text}");
    }
}

#[test]
fn a_guard_for_browsers_is_checked_listed_and_printed_with_its_hosts() {
    let home = Home::new();
    let app = "[guards.app]\nallow = 'true'\nproxy = \"caddy\"\norigins = [\"https://app.example.org\"]\n";
    let invited = "registration = \"invited\"\n";
    write_settings(&home, &format!("{invited}{STAFF}{app}"));
    let check = |guard: &str| stdout_of(&home, &["guard", "check", guard]);
    let before_the_first_start = check("app");
    assert!(error_of(&home, &["guard", "check", "ap"]).contains("no such guard"));
    home.start().stop();
    let missing = check("app");
    assert_eq!(missing, before_the_first_start);
    assert!(
        missing.contains("\nand return to https://app.example.org\nmissing: public_url is not set"),
        "{missing}"
    );
    assert!(check("staff").starts_with("missing: nobody is sent to sign in"), "{}", check("staff"));
    assert!(error_of(&home, &["guard", "check", "ap"]).contains("no such guard"));
    assert!(stdout_of(&home, &["guard", "list"]).contains("  true  for https://app.example.org\n"));
    let printed = home.run(&["snippet", "caddy", "app"]);
    let warning = "warning: guards.app: public_url is not set";
    assert!(printed.status.success() && printed.stderr.starts_with(warning), "{}", printed.stderr);
    let plain = printed.stdout;
    assert!(plain.contains("127.0.0.1\n") && !plain.contains("app.example"), "{plain}");

    let public_url = "public_url = \"https://door.example.net\"\n";
    write_settings(&home, &format!("{invited}{public_url}{STAFF}{app}"));
    assert_eq!(
        check("app"),
        "people sign in at https://door.example.net/sign-in\nand return to https://app.example.org\nnothing is missing\n"
    );
    let printed = home.run(&["snippet", "caddy", "app"]);
    let note = "note: /etc/ssl/doorward is an example";
    assert!(printed.status.success() && printed.stderr.starts_with(note), "{}", printed.stderr);
    let tls = printed.stdout;
    for part in ["\napp.example.org {\n", "\ndoor.example.net {\n", "/api/auth/app"] {
        assert!(tls.contains(part), "{part}: {tls}");
    }
    assert_eq!(stdout_of(&home, &["snippet", "caddy", "app", "--plain"]), plain);
    let app = app.replace("caddy", "traefik");
    write_settings(&home, &format!("{invited}{public_url}{app}"));
    let printed = home.run(&["snippet", "traefik", "app"]);
    assert!(printed.status.success() && printed.stderr.starts_with(note), "{}", printed.stderr);
    let traefik = printed.stdout;
    assert!(traefik.contains("authResponseHeaders: [Cookie, X-Auth-User-Id"), "{traefik}");
}

#[test]
fn the_headers_of_a_guard_are_shown_on_the_command_line() {
    let home = Home::new();
    let app = "[guards.app]\nallow = '\"staff\" in user.roles'\nmode = \"report\"\n\
               headers = { \"X-Remote-User\" = \"user.email\", \"X-First\" = \"user.roles[0]\" }\n";
    write_settings(&home, app);
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    let list = stdout_of(&home, &["guard", "list"]);
    assert!(list.contains("X-Remote-User: user.email\n"), "{list}");
    let check = || stdout_of(&home, &["guard", "check", "app", "--user", &ada.email]);
    assert!(!check().contains("headers"), "{}", check());
    let answer = ask(&server, "app", &ada);
    assert_eq!(answer.status, 200, "it only reports");
    let recent = stdout_of(&home, &["why", "--user", &ada.email]);
    let (_, decision) = recent.split_once("doorward why ").expect("a decision");
    let why = stdout_of(&home, &["why", decision.trim()]);
    assert!(
        why.contains("headers for the app\n  X-First:  (empty, because of an error: "),
        "{why}"
    );
    assert!(why.contains("  X-Remote-User: ada@example.com\n"), "{why}");
    stdout_of(&home, &["user", "grant", &ada.email, "staff"]);
    let admitted = "\nheaders for the app\n  X-First: staff\n  X-Remote-User: ada@example.com\n";
    assert!(check().contains(admitted), "{}", check());
}

#[test]
fn several_guards_share_one_configuration() {
    let home = Home::new();
    let app = |name: &str| {
        format!(
            "[guards.{name}]\nallow = '\"staff\" in user.roles'\nproxy = \"nginx\"\n\
             origins = [\"https://{name}.example.org\"]\n"
        )
    };
    let url = "public_url = \"https://door.example.net\"\n";
    write_settings(&home, &format!("{url}{}{}{STAFF}", app("notes"), app("cal")));
    let run = |arguments: &[&str]| home.run(&[&["snippet"], arguments].concat());
    let both = run(&["nginx", "notes", "cal", "--app", "cal=http://10.0.0.7:5232"]);
    for part in [
        "server_name notes.example.org;",
        "server_name cal.example.org;",
        "server_name notes.example.org cal.example.org door.example.net;",
        "server 10.0.0.7:5232;",
        "server 127.0.0.1:8080;",
        "proxy_pass http://app-cal;",
    ] {
        assert!(both.stdout.contains(part), "{part}: {}", both.stdout);
    }
    let check = home.run(&["guard", "check", "notes"]);
    let warning = "registration is open, so strangers can create accounts";
    assert!(check.stderr.contains(warning) && both.stderr.contains(warning), "{}", check.stderr);
    for (arguments, part) in [
        (&["caddy", "notes", "staff"][..], "guard staff has no origins"),
        (&["caddy", "notes", "notes"], "notes is named twice"),
        (&["express", "notes", "cal"], "one app behind one guard"),
        (&["caddy", "notes", "cal", "--app", "http://x:1"], "of which guard?"),
        (&["caddy", "notes", "--servers-only"], "--servers-only is for nginx: the Caddyfile"),
        (&["caddy", "staff", "--certificate", "x.pem"], "these files have no TLS"),
        (&["haproxy", "notes", "--certificate", "x", "--key", "y"], "cat x y > both.pem"),
        (&["nginx", "notes", "--certificate", "a b.pem"], "choose a path of letters"),
    ] {
        let refused = run(arguments);
        assert!(refused.stderr.contains(part), "{arguments:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains("panicked") && refused.stdout.is_empty());
    }
}

#[test]
fn guards_are_tried_out_from_the_command_line() {
    let home = Home::new();
    let reading = "[guards.reading]\n\
                   allow = 'request.method == \"GET\" && user.domain == \"example.com\" && user.emailVerified'\n\
                   [[guards.reading.expect]]\nallow = true\nuser = { emailVerified = true }\n[[guards.reading.expect]]\nallow = false\n\
                   request = { method = \"POST\" }\n";
    write_settings(&home, &format!("{STAFF}{reading}"));
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    assert_eq!(stdout_of(&home, &["user", "verify", &ada.email]), "verified\n");
    let list = stdout_of(&home, &["guard", "list"]);
    assert!(list.contains("staff") && list.contains("request.method == \"GET\""), "{list}");
    let check = |guard: &str, more: &[&str]| {
        stdout_of(&home, &[&["guard", "check", guard, "--user", &ada.email], more].concat())
    };
    for _ in 0..2 {
        assert!(check("reading", &[]).starts_with("admitted\n"));
        let refusal = check("reading", &["--method", "POST"]);
        assert!(refusal.starts_with("refused\n"), "{refusal}");
        assert!(
            refusal.contains("refused because  request.method == \"GET\"  is  false"),
            "{refusal}"
        );
        assert!(
            error_of(&home, &["guard", "check", "stuff", "--user", &ada.email])
                .contains("no such guard")
        );
    }
    let tested = stdout_of(&home, &["guard", "test"]);
    assert!(
        tested.contains("reading: 2 examples pass") && tested.contains("2 passed, 0 failed"),
        "{tested}"
    );
    server.stop();
    assert!(check("staff", &[]).starts_with("refused\n"), "and without a server");
    let printed = home.run(&["snippet", "nginx", "staff", "--listen", "127.0.0.1:4711"]);
    assert!(printed.stderr.starts_with("warning: guards.staff: registration is open"));
    let nginx = printed.stdout;
    assert!(nginx.contains("127.0.0.1:4711") && nginx.contains("/api/auth/staff"), "{nginx}");
    assert!(error_of(&home, &["snippet", "nginx", "stuff"]).contains("did you mean staff?"));
    write_settings(&home, &reading.replace("allow = false", "allow = true"));
    assert!(
        error_of(&home, &["guard", "test"])
            .contains("this example should be allowed and is refused")
    );
}

#[test]
fn a_guard_that_trusts_an_unverified_address_is_warned_about_wherever_it_is_read() {
    let home = Home::new();
    let trusting = "[guards.ours]\nallow = 'user.domain == \"example.com\"'\n\
                    [[guards.ours.expect]]\nallow = true\n";
    let asking = trusting.replace("example.com\"'", "example.com\" && user.emailVerified'");
    let asking = asking.replace("allow = true", "allow = true\nuser = { emailVerified = true }");
    let warning = "guard ours: allow reads the e-mail address but not user.emailVerified";
    let warned = |arguments: &[&str]| {
        let Finished { status, stdout, stderr } = home.run(arguments);
        assert!(status.success() && !stdout.contains("warning"), "{arguments:?}: {stderr}");
        stderr.contains(&format!("warning: {warning}"))
    };

    write_settings(&home, trusting);
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    assert!(server.output().1.contains(warning), "{}", server.output().1);
    let check = ["guard", "check", "ours", "--user", &ada.email];
    for command in [&["guard", "list"][..], &["guard", "test"], &["reload"], &check] {
        assert!(warned(command), "{command:?}");
    }
    assert_eq!(server.output().1.matches(warning).count(), 2, "at the start and at the reload");
    assert_eq!(ask(&server, "ours", &ada).status, 200, "a warning and not an error");

    write_settings(&home, &asking);
    for command in [&["reload"][..], &["guard", "list"], &["guard", "test"], &check] {
        assert!(!warned(command), "{command:?}");
    }
    assert_eq!(ask(&server, "ours", &ada).status, 401);
    assert_eq!(stdout_of(&home, &["user", "verify", &ada.email]), "verified\n");
    let admitted = ask(&server, "ours", &ada);
    assert_eq!(admitted.status, 200, "with the same token");
    assert_eq!(admitted.header("content-length"), Some("15"));
    assert_eq!(stdout_of(&home, &["user", "verify", &ada.email]), "already verified\n");
    assert!(stdout_of(&home, &["user", "list"]).contains("(verified)"));
    assert!(
        stdout_of(&home, &["user", "show", &ada.id, "--json"]).contains("\"emailVerified\": true")
    );
    assert_eq!(stdout_of(&home, &["user", "unverify", &ada.id]), "unverified\n");
    assert_eq!(stdout_of(&home, &["user", "unverify", &ada.id]), "was not verified\n");
    assert_eq!(ask(&server, "ours", &ada).status, 401);
    assert!(error_of(&home, &["user", "verify", "nobody@example.com"]).contains("no such user"));
}

#[test]
fn refusals_are_listed_and_logged_without_an_address() {
    let home = Home::new();
    write_settings(&home, STAFF);
    let server = home.start();
    let ada = server.client.register("canary-ada@example.com");
    assert_eq!(server.client.login(&ada.email, "wrong horse").status, 404);
    assert_eq!(server.client.login("canary-nobody@example.com", "wrong horse").status, 404);
    let refusal = ask(&server, "staff", &ada);
    let decision = refusal.header("x-decision-id").expect("a decision id");

    for who in [&ada.email, &ada.id] {
        let listed = stdout_of(&home, &["why", "--user", who]);
        let lines: Vec<_> = listed.lines().collect();
        let [user, counted, guard, login] = lines.as_slice() else { panic!("{listed}") };
        assert_eq!(*user, format!("user  {}", ada.id));
        assert!(counted.starts_with("failed logins that count  1 of 100, "), "{listed}");
        assert!(guard.ends_with(&format!("guard  staff: doorward why {decision}")), "{listed}");
        assert!(login.ends_with("UTC  login  wrong password, from 127.0.0.1"), "{listed}");
    }
    let listed = stdout_of(&home, &["why", "--user", "canary-nobody@example.com"]);
    assert!(listed.starts_with("user  nobody has this address\n"), "{listed}");
    assert!(listed.contains("login  unknown address, from 127.0.0.1"), "{listed}");
    assert!(error_of(&home, &["why", "--user", "canary-nobody"]).contains("no such user"));

    let logged = server.stop().stderr;
    let failed: Vec<_> = logged.lines().filter(|line| line.contains("failed login")).collect();
    let [wrong, unknown] = failed.as_slice() else { panic!("{logged}") };
    assert!(wrong.contains("wrong password") && wrong.contains(&ada.id), "{wrong}");
    assert!(unknown.contains("unknown address"), "{unknown}");
    assert!(!logged.contains("canary"), "{logged}");
    for arguments in [["why", "--user", &ada.email].as_slice(), &["why", decision]] {
        let without_server = error_of(&home, arguments);
        assert!(without_server.contains("no server is running"), "{without_server}");
    }
}

#[test]
fn a_condition_that_exceeds_a_limit_is_refused_with_its_place() {
    let home = Home::new();
    for (allow, place, message) in [
        (
            "user.roles.exists(a, user.roles.exists(b, a == b))",
            "doorward.toml:2:48: guards.dear.allow:",
            "a macro inside of a macro",
        ),
        (
            r#"request.path.split("").exists(a, a == "x")"#,
            "doorward.toml:2:28: guards.dear.allow:",
            "as many pieces as a text has bytes",
        ),
        (
            "user.name.matches(user.email)",
            "doorward.toml:2:27: guards.dear.allow:",
            "the pattern must be a string literal",
        ),
        (
            r#"user.name.matches("(a{1000}){1000}")"#,
            "doorward.toml:2:28: guards.dear.allow:",
            "takes more than 1 MiB",
        ),
    ] {
        write_settings(&home, &format!("[guards.dear]\nallow = '{allow}'\n"));
        let output = error_of(&home, &["serve"]);
        assert!(output.contains(place) && output.contains(message), "{allow}: {output}");
    }
}
