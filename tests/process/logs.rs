//! Logs are JSON lines without passwords, tokens or e-mail addresses.

use std::cell;

use serde_json::{Value, json};

use crate::support::{Home, Server, eventually};

const PASSWORD: &str = "canarypassword-7f3a";
const WRONG: &str = "canarywrong-91bc";
const MAIL: &str = "canarymail-55d0";
const GARBAGE: &str = "canarygarbage-c2e8";
const NAME: &str = "Canaryname Eab1";

/// Sends secrets in every part of a request. Returns the tokens that were issued.
fn spread_secrets(server: &Server) -> Vec<String> {
    let client = &server.client;
    let email = format!("{MAIL}@example.com");
    let body = json!({"name": NAME, "email": email, "password": PASSWORD});
    let registered = client.post("/api/user", &body);
    assert_eq!(registered.status, 201);
    assert_eq!(client.post("/api/user", &body).status, 409);
    let token = registered.field("token");
    let login = client.login(&email, PASSWORD);
    let mut tokens = vec![token.clone(), login.field("token")];
    assert_eq!(client.login(&email, WRONG).status, 404);
    assert_eq!(client.login(&format!("nobody-{MAIL}@example.com"), WRONG).status, 404);
    for (field, value) in [("name", json!(7)), ("email", json!([MAIL])), ("password", json!("x"))] {
        let mut faulty = body.clone();
        faulty[field] = value;
        assert_eq!(client.post("/api/user", &faulty).status, 400);
    }
    for token in &tokens {
        assert_eq!(client.guard(token), 200);
        let named = client.try_get("/api/auth/miles", Some(&format!("Bearer {token}"))).unwrap();
        assert_eq!(named.status, 401);
    }

    let tampered = format!("{}x", &token[..token.len() - 5]);
    for value in [
        format!("Bearer {GARBAGE}"),
        format!("Bearer {GARBAGE}.{GARBAGE}.{GARBAGE}"),
        format!("Bearer {tampered}"),
        format!("Bearer {token} {token}"),
        format!("Basic {token}"),
        token.clone(),
        format!("{GARBAGE} {PASSWORD}"),
    ] {
        assert_eq!(client.try_get("/api/auth/guard", Some(&value)).unwrap().status, 401);
    }
    for secret in [&token, PASSWORD, MAIL, GARBAGE] {
        for path in [
            format!("/{secret}"),
            format!("/api/user/{secret}"),
            format!("/api/auth/{secret}"),
            format!("/api/user/{secret}/{secret}?{secret}"),
            format!("/api/auth/guard?token={secret}&access_token={secret}"),
            format!("/api/auth/login?password={secret}"),
            format!("/%2e%2e/{secret}%00%ff"),
        ] {
            assert!((400..500).contains(&client.get(&path).status), "{path}");
        }
    }
    tokens.push(tampered);
    send_odd_requests(server, &token);
    // Only what follows a dot is compared with the log.
    tokens.push(format!("cookie.{}", send_forms(server)));
    tokens
}

/// Signs in on the pages, with secrets in forms, cookies and queries. Returns the value of the cookie.
fn send_forms(server: &Server) -> String {
    let name = cell::RefCell::new("doorward".to_owned());
    let send = |method: &str, path: &str, cookie: &str, form: &str| {
        let name = name.borrow();
        let mut connection = server.connect();
        connection.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nAccept: text/html\r\n\
             Cookie: {name}={cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        ));
        connection.answer().unwrap()
    };
    let email = format!("email={MAIL}%40example.com");
    let wrong = format!("{email}&password={WRONG}&for={GARBAGE}");
    assert_eq!(send("POST", "/sign-in", GARBAGE, &wrong).status, 400);
    let signed_in = send("POST", "/sign-in", "", &format!("{email}&password={PASSWORD}"));
    assert_eq!(signed_in.status, 303);
    let cookie = signed_in.header("set-cookie").unwrap();
    let mut parts = cookie.split(['=', ';']);
    name.replace(parts.next().unwrap().to_owned());
    let cookie = parts.next().unwrap().to_owned();
    assert!(cookie.len() > 20, "{cookie}");
    let account = send("GET", &format!("/account?done={GARBAGE}"), &cookie, "");
    assert!(account.status == 200 && account.body.contains(MAIL), "{account:?}");
    for (path, form, status) in [
        ("/account/name", "name=x".to_owned(), 400),
        ("/account/password", format!("current={WRONG}&new={PASSWORD}"), 400),
        ("/reset", format!("code={GARBAGE}&password={PASSWORD}"), 400),
        ("/sign-up", format!("name=Canaryname+Eab1&{email}&password={PASSWORD}2"), 409),
        ("/sign-in", format!("{email}&password=%ff{PASSWORD}"), 400),
    ] {
        assert_eq!(send("POST", path, &cookie, &form).status, status, "{path}");
    }
    for path in [format!("/refused/{GARBAGE}"), format!("/{GARBAGE}?{PASSWORD}")] {
        assert_eq!(send("GET", &path, &cookie, "").status, 404, "{path}");
    }
    assert_eq!(send("GET", &format!("/sign-in?other=1&for={GARBAGE}"), &cookie, "").status, 200);
    cookie
}

/// Requests that an HTTP library would not send.
fn send_odd_requests(server: &Server, token: &str) {
    let length = PASSWORD.len() + 1;
    for request in [
        format!("{PASSWORD} {MAIL} {token}\r\n\r\n"),
        format!("GET /{PASSWORD} {MAIL} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: here\r\nAuth orization: {token}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: here\r\n{PASSWORD}: {MAIL}\r\nCookie: {token}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: here\r\nContent-Length: {token}\r\n\r\n"),
        format!(
            "POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Length: {length}\r\n\r\n{{{PASSWORD}"
        ),
        format!(
            "POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Type: text/{GARBAGE}\r\n\
             Content-Length: {length}\r\n\r\n{{{PASSWORD}"
        ),
        format!(
            "POST /api/user HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n{PASSWORD}\r\n"
        ),
        format!(
            "POST /oauth/introspect HTTP/1.1\r\nHost: here\r\nAuthorization: Basic {GARBAGE}\r\n\
             Content-Length: {length}\r\n\r\n={PASSWORD}"
        ),
        format!(
            "POST /oauth/revoke?token={token} HTTP/1.1\r\nHost: here\r\nAuthorization: Basic {WRONG}\r\n\
             Content-Length: {length}\r\n\r\n={PASSWORD}"
        ),
        format!(
            "POST /api/auth/login HTTP/1.1\r\nHost: here\r\nContent-Length: 99\r\n\r\n{PASSWORD}"
        ),
    ] {
        let mut connection = server.connect();
        connection.send_ignoring_errors(&request);
        connection.shut_down_writing();
        while let Some(answer) = connection.answer() {
            assert!((400..500).contains(&answer.status), "{request:?}: {answer:?}");
        }
    }
}

fn nothing_secret_is_logged(level: &str) {
    let home = Home::new();
    let server = home.start_with(&["--log", level]);
    let tokens = spread_secrets(&server);
    let finished = server.stop();
    let logged: Vec<Value> = finished
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect();
    assert!(logged.len() > 10, "{}", finished.stderr);
    assert!(logged.iter().all(Value::is_object), "{}", finished.stderr);

    let all = finished.stdout + &finished.stderr;
    let parts = tokens.iter().flat_map(|token| token.split('.').skip(1));
    let secrets = parts.chain([PASSWORD, WRONG, MAIL, GARBAGE, NAME]);
    for secret in secrets {
        let found = all.to_lowercase().find(&secret.to_lowercase());
        let line = found.and_then(|at| all[at..].lines().next());
        assert_eq!(line, None, "{secret} was logged at {level}");
    }
}

#[test]
fn logs_are_json_lines_without_passwords_tokens_or_addresses() {
    nothing_secret_is_logged("info");
}

#[test]
fn a_trace_log_contains_no_secrets() {
    nothing_secret_is_logged("trace");
}

#[test]
fn the_line_of_a_login_has_the_id_of_its_request() {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let login = server.client.login(&ada.email, crate::support::PASSWORD);
    let id = login.header("x-request-id").unwrap().to_owned();
    let logged = server.stop().stderr;
    let lines: Vec<Value> =
        logged.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_request: Vec<_> = lines
        .iter()
        .filter(|line| [&line["span"]["id"], &line["id"]].contains(&&json!(id)))
        .map(|line| line["message"].as_str().unwrap())
        .collect();
    assert_eq!(of_request, ["logged in", "answered"], "{logged}");
    let request = lines.iter().find(|line| line["id"] == json!(id)).unwrap();
    assert_eq!(request["route"], "/api/auth/login");
}

/// The log as JSON.
fn lines(logged: &str) -> Vec<Value> {
    logged.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A request through a proxy that names this client.
fn login_from(client: &str, email: &str, password: &str) -> String {
    let body = json!({"email": email, "password": password}).to_string();
    format!(
        "POST /api/auth/login HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: {client}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn the_log_says_who_signed_in_and_from_where() {
    const CLIENT: &str = "2001:db8:1:2:3:4:5:6";
    // The peer is trusted by default, and what it says does not count if it is not.
    for (flags, client, network) in [
        (&[][..], CLIENT, "2001:db8:1:2::"),
        (&["--trusted-proxies", "none"], "127.0.0.1", "127.0.0.1"),
    ] {
        let home = Home::new();
        let server = home.start_with(flags);
        let ada = server.client.register("ada@example.com");
        let mut connection = server.connect();
        let mut log_in = |password| {
            connection.send(login_from(CLIENT, &ada.email, password));
            connection.answer().unwrap()
        };
        let answer = log_in(crate::support::PASSWORD);
        assert_eq!((answer.status, log_in(WRONG).status), (200, 404));
        let session = crate::support::claims_of(&answer.field("token"))["sid"].clone();
        connection.send(format!(
            "GET /api/auth/guard HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: {CLIENT}\r\n\r\n"
        ));
        assert_eq!(connection.answer().unwrap().status, 401);

        let lines = lines(&server.stop().stderr);
        let of = |message: &str| {
            let found = lines.iter().find(|line| line["message"] == message);
            found.unwrap_or_else(|| panic!("no line {message}")).clone()
        };
        let login = of("logged in");
        assert_eq!(login["user"], json!(ada.id));
        assert_eq!((&login["session"], &login["network"]), (&session, &json!(network)));
        assert_eq!(of("registered")["network"], "127.0.0.1");
        assert_eq!(of("failed login")["network"], network, "comparable");
        let of_route = |route: &str| lines.iter().rfind(|line| line["route"] == route).unwrap();
        assert_eq!(of_route("/api/auth/login")["client"], client);
        assert_eq!(of_route("/api/auth/guard")["client"], client);
        assert_eq!(of_route("/api/user")["client"], "127.0.0.1");
    }
}

#[test]
fn the_log_says_which_operator_ran_a_command() {
    let home = Home::new();
    // Also where only warnings are logged, besides the line that says where the server listens.
    for (level, filter) in [("info", "info"), ("warn", "warn,doorward::cli::serve=info")] {
        let server = home.start_with(&["--log", filter]);
        let email = format!("{level}@example.com");
        let ada = server.client.register_quickly(&email);
        for command in [
            &["user", "disable", &email][..],
            &["user", "show", &email],
            &["export", &format!("{level}.jsonl")],
            &["emergency", "--new-passwords", "none", "--yes"],
        ] {
            assert!(home.run(command).status.success(), "{command:?}");
        }
        let logged = server.stop().stderr;
        let lines = lines(&logged);
        let uid = rustix::process::getuid().as_raw();
        let by_operator = |line: &Value| {
            assert_eq!(line["span"]["uid"], json!(uid), "{line}");
            assert!(line["span"]["pid"].as_i64().is_some_and(|pid| pid > 1), "{line}");
            line.clone()
        };
        let says = |message: &str| {
            let is_it = |line: &&Value| {
                line["message"].as_str().is_some_and(|text| text.starts_with(message))
            };
            lines.iter().find(is_it).map(by_operator)
        };
        assert!(says("all keys and secrets replaced").is_some(), "{logged}");
        assert!(!logged.contains(&email), "{logged}");
        if level == "info" {
            let disabled = says("disabled by the operator").unwrap();
            assert_eq!(disabled["user"], json!(ada.id));
            assert!(says("a backup or an export was made").is_some(), "{logged}");
            for (method, route) in [
                ("GET", "/api/admin/users/{user}"),
                ("GET", "/api/admin/export"),
                ("POST", "/api/admin/emergency"),
            ] {
                let is_it = |line: &&Value| line["route"] == route && line["method"] == method;
                let request = lines.iter().find(is_it).map(by_operator).unwrap();
                assert_eq!(request["status"], json!(200), "{request}");
            }
        }
    }
}

#[test]
fn an_unknown_method_is_not_logged() {
    let home = Home::new();
    let server = home.start();
    for path in ["/", "/api/user", "/api/auth/guard"] {
        let mut connection = server.connect();
        connection.send(format!("{GARBAGE} {path} HTTP/1.1\r\nHost: here\r\n\r\n"));
        assert!((400..500).contains(&connection.answer().unwrap().status));
    }
    let logged = server.stop().stderr;
    assert!(!logged.contains(GARBAGE), "{logged}");
}

#[test]
fn an_unread_log_does_not_block_the_service() {
    // More lines than the buffer holds.
    const BATCHES: usize = 44;
    const BATCH: usize = 500;
    let home = Home::new();
    let mut command = home.command();
    command.args(["--log", "debug"]);
    let mut server = Server::start_unread(command);
    let ada = server.client.register_quickly("ada@example.com");
    let ask = format!(
        "GET /api/auth/guard HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n\r\n",
        ada.token
    );
    let mut connection = server.connect();
    for _ in 0..BATCHES {
        connection.send(ask.repeat(BATCH));
        let answers = (0..BATCH).map(|_| connection.answer().expect("an answer").status);
        assert!(answers.into_iter().all(|status| status == 200));
    }
    assert_eq!(server.client.get("/livez").status, 200);
    assert_eq!(server.client.guard("x"), 401);

    server.read_log();
    eventually("the log reports how many lines were dropped", || {
        server.output().1.contains("dropped log lines")
    });
    let logged = server.stop().stderr;
    let lines: Vec<Value> =
        logged.lines().map(|line| serde_json::from_str(line).expect("whole lines")).collect();
    let dropped = lines.iter().filter_map(|line| line["dropped"].as_u64()).sum::<u64>();
    assert!(dropped > 0, "{dropped}");
    assert_eq!(lines.last().unwrap()["message"], "stopped", "later lines are logged");
}

#[test]
fn a_flood_of_refusals_is_counted_and_not_logged_one_by_one() {
    const REQUESTS: usize = 2000;
    let home = Home::new();
    let server = home.start();
    let mut connection = server.connect();
    let begun = std::time::Instant::now();
    for _ in 0..REQUESTS {
        connection.send("GET /api/auth/guard HTTP/1.1\r\nHost: here\r\n\r\n");
        assert_eq!(connection.answer().expect("an answer").status, 401);
    }
    let seconds = begun.elapsed().as_secs() as usize + 1;
    let refused = |logged: &str| {
        let lines = logged.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let (mut individual, mut counted) = (0, 0);
        for line in lines.filter(|line| line["status"] == 401) {
            match line["count"].as_u64() {
                Some(count) => counted += count as usize,
                None => individual += 1,
            }
        }
        (individual, counted)
    };
    eventually("every refusal is logged or counted", || {
        let logged = server.output().1;
        let (individual, counted) = refused(&logged);
        individual + counted == REQUESTS
    });
    let (individual, _) = refused(&server.stop().stderr);
    assert!(individual <= 100 * (seconds + 1), "{individual} lines in {seconds} seconds");
}

/// Logins with a wrong password that the throttle refuses, from a network with a proxy in front.
#[test]
fn a_flood_of_throttled_logins_is_counted_and_not_logged_one_by_one() {
    const LOGINS: usize = 2000;
    let home = Home::new();
    let server = home.start_with(&["--throttle-account-failures-per-network", "3"]);
    let body = json!({"email": "ada@example.com", "password": WRONG}).to_string();
    let login = format!(
        "POST /api/auth/login HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: 203.0.113.7\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = server.connect();
    let mut answer = || {
        connection.send(&login);
        connection.answer().expect("an answer").status
    };
    const GUESSES: usize = 3;
    for _ in 0..GUESSES {
        assert_eq!(answer(), 404);
    }
    let begun = std::time::Instant::now();
    for _ in 0..LOGINS {
        assert_eq!(answer(), 429);
    }
    let seconds = begun.elapsed().as_secs() as usize + 1;
    let failed = |logged: &str| {
        let lines = logged.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let (mut individual, mut counted) = (0, 0);
        for line in lines {
            match line["count"].as_u64() {
                Some(count) if line["what"] == "failed login" => counted += count as usize,
                None if line["message"] == "failed login" => individual += 1,
                _ => {}
            }
        }
        (individual, counted)
    };
    eventually("every failed login is logged or counted", || {
        let (individual, counted) = failed(&server.output().1);
        individual + counted == LOGINS + GUESSES
    });
    let logged = server.stop().stderr;
    let (individual, _) = failed(&logged);
    assert!(individual <= 100 * (seconds + 1), "{individual} lines in {seconds} seconds");
    let reason = "throttled: too many failed logins on the account";
    assert!(logged.contains(&format!(r#""reason":"{reason}","count""#)), "{logged}");
}

#[test]
fn the_last_log_line_is_written() {
    let home = Home::new();
    let server = home.start();
    server.signal(crate::support::Signal::TERM);
    let finished = server.end();
    let last = finished.stderr.lines().last().unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap()["message"], "stopped");
}
