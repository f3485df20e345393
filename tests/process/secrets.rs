//! Passwords in the memory of a running server, and what a crash leaves on disk.

use std::{
    fs::{self, File},
    io::BufRead,
    iter,
    os::unix::fs::FileExt,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    accounts::with_input,
    support::{Home, PATIENCE, RawConnection, Server},
};

/// Every password in these tests starts with this, and nothing else does.
const MARK: &str = "~Wq7xK-marked-";

/// The same in Base64, the encoding in which commands send passwords to the server.
const ENCODED_MARK: &str = "fldxN3hLLW1hcmtl";

/// The same in the forms of pages.
const FORM_MARK: &str = "%7EWq7xK-marked-";

/// What writable memory contains around each mark, in plain text, in Base64 or as in a form.
fn marked(server: &Server) -> Vec<String> {
    let memory = File::open(format!("/proc/{}/mem", server.pid())).unwrap();
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    let mut found = Vec::new();
    for map in maps.lines().filter(|map| map.contains(" rw")) {
        let (range, _) = map.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let address = |text| u64::from_str_radix(text, 16).unwrap();
        let mut bytes = vec![0; usize::try_from(address(end) - address(start)).unwrap()];
        // Some regions cannot be read, and some no longer exist.
        let Ok(length) = memory.read_at(&mut bytes, address(start)) else { continue };
        for mark in [MARK, ENCODED_MARK, FORM_MARK] {
            let around = find(&bytes[..length], mark.as_bytes());
            found.extend(around.map(|around| format!("{around:?} in {map}")));
        }
    }
    found
}

/// 8 bytes before and 40 bytes from each occurrence of the mark.
fn find(bytes: &[u8], mark: &[u8]) -> impl Iterator<Item = String> {
    let mut rest = bytes;
    // A search byte by byte takes a second in a test without optimisation.
    let starts = iter::from_fn(move || {
        (rest.skip_until(mark[0]).unwrap() > 0).then(|| bytes.len() - rest.len() - 1)
    });
    starts.filter(move |at| bytes[*at..].starts_with(mark)).map(move |at| {
        let around = &bytes[at.saturating_sub(8)..bytes.len().min(at + 40)];
        String::from_utf8_lossy(around).into_owned()
    })
}

/// Waits until no password is left. The server wipes its memory shortly after it answers.
fn must_forget(server: &Server, what: &str) {
    let start = Instant::now();
    loop {
        let found = marked(server);
        if found.is_empty() {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "after {what}: {found:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn post(connection: &mut RawConnection, path: &str, headers: &str, body: &Value) -> u16 {
    let body = body.to_string();
    let length = body.len();
    connection.send(format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    ));
    connection.answer().unwrap().status
}

#[test]
fn no_password_stays_in_memory() {
    let home = Home::new();
    let server = home.start_with(&["--password-threads", "1"]);
    let email = "ada@example.com";
    let (first, second) = (format!("{MARK}first"), format!("{MARK}second"));
    let credentials = |password: &str| json!({ "email": email, "password": password });
    let mut connection = server.connect();

    let ada = json!({ "name": "Ada Lovelace", "email": email, "password": &first });
    assert_eq!(post(&mut connection, "/api/user", "", &ada), 201);
    must_forget(&server, "registration");

    let login = "/api/auth/login";
    assert_eq!(post(&mut connection, login, "", &credentials(&first)), 200);
    must_forget(&server, "a login");
    assert_eq!(post(&mut connection, login, "", &credentials(&second)), 404);
    must_forget(&server, "a wrong password");
    let long = format!("{MARK}{}", "long".repeat(500));
    assert_eq!(post(&mut connection, login, "", &credentials(&long)), 404);
    must_forget(&server, "a long password");

    let mut last = server.connect();
    assert_eq!(post(&mut last, login, "Connection: close\r\n", &credentials(&first)), 200);
    assert!(last.answer().is_none());
    must_forget(&server, "a login on a connection that is closed after it");

    // Some clients send the body after the head, and it arrives in another buffer.
    let body = credentials(&first).to_string();
    let length = body.len();
    connection.send(format!(
        "POST {login} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    ));
    assert_eq!(connection.answer().unwrap().status, 100);
    connection.send(body);
    assert_eq!(connection.answer().unwrap().status, 200);
    must_forget(&server, "a login whose body came after its head");

    let token = server.client.login(email, &first).field("token");
    let change = json!({ "current": &first, "new": &second });
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(post(&mut connection, "/api/me/password", &bearer, &change), 204);
    must_forget(&server, "a change of password");

    let invalid = json!({ "name": "A", "email": "ada", "password": &second });
    assert_eq!(post(&mut connection, "/api/user", "", &invalid), 400);
    must_forget(&server, "a registration that was refused");
}

#[test]
fn no_password_of_a_form_stays_in_memory() {
    let home = Home::new();
    let server = home.start_with(&["--password-threads", "1"]);
    let send = |path: &str, cookie: &str, form: &str| {
        // A malformed form closes the connection.
        let mut connection = server.connect();
        let length = form.len();
        connection.send(format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nCookie: {cookie}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
        ));
        let answer = connection.answer().unwrap();
        must_forget(&server, path);
        let cookie = answer.header("set-cookie").unwrap_or_default();
        (answer.status, cookie.split(';').next().unwrap_or_default().to_owned())
    };
    // A plus and a percent sign are decoded.
    let first = format!("{FORM_MARK}fir+st%21");
    let second = format!("{FORM_MARK}second");
    let ada = "email=ada%40example.com";
    let (status, _) = send("/sign-up", "", &format!("name=Ada&{ada}&password={first}"));
    assert_eq!(status, 303);
    assert_eq!(send("/sign-up", "", &format!("name=A&email=x&password={first}")).0, 400);
    assert_eq!(send("/sign-in", "", &format!("{ada}&password={second}")).0, 400);
    let (status, cookie) = send("/sign-in", "", &format!("{ada}&password={first}"));
    assert_eq!(status, 303);
    let change = format!("current={first}&new={second}");
    assert_eq!(send("/account/password", "", &change).0, 303, "not signed in");
    assert_eq!(send("/account/password", &cookie, &change).0, 303);
    assert_eq!(send("/account/delete", &cookie, &format!("password={first}")).0, 400);
    assert_eq!(send("/reset", "", &format!("code=x&password={second}")).0, 400);
    assert_eq!(send("/sign-in", "", &format!("password={first}&password={second}")).0, 400);
    // An address with the same text would stay: it is shown again.
    assert_eq!(send("/sign-in", "", &format!("password={first}&email=%ff")).0, 400);
}

#[test]
fn no_password_of_a_command_stays_in_memory() {
    let home = Home::new();
    let server = home.start_with(&["--password-threads", "1"]);
    // JSON would escape the quote.
    let (first, second) = (format!("{MARK}first"), format!("{MARK}\"second\""));
    let add = ["user", "add", "ada@example.com", "--name", "Ada", "--password-stdin"];
    for (arguments, password) in
        [(&add[..], &first), (&["user", "set-password", "ada@example.com"], &second)]
    {
        let done = with_input(&home, arguments, password);
        assert!(done.status.success(), "{done:?}");
        must_forget(&server, arguments[1]);
        assert_eq!(server.client.login("ada@example.com", password).status, 200);
        must_forget(&server, "a login");
    }
}

#[test]
fn the_search_finds_a_password_that_is_there() {
    let home = Home::new();
    let server = home.start();
    let mut connection = server.connect();
    // An incomplete body stays in the buffer of its connection.
    connection.send(format!(
        "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{{\"password\":\"{MARK}"
    ));
    let start = Instant::now();
    while marked(&server).is_empty() {
        assert!(start.elapsed() < PATIENCE, "the mark was not found");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_crash_leaves_no_core_dump() {
    let home = Home::new();
    let server = home.start();
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    let soft = core.split_whitespace().next().unwrap();
    assert!(matches!(soft, "0" | "1"), "{core}");
}

#[test]
fn the_files_that_start_the_service_refuse_common_passwords() {
    let setting = "DOORWARD_PASSWORD_REFUSE_COMMON";
    // tests/package checks the settings file of the systemd unit.
    let path = format!("{}/deploy/Containerfile", env!("CARGO_MANIFEST_DIR"));
    assert!(fs::read_to_string(path).unwrap().contains(&format!("{setting}=true\n")));
    let home = Home::new();
    let mut command = home.command();
    command.env(setting, "true");
    let server = Server::start(command);
    let ada = json!({ "name": "Ada", "email": "ada@example.com", "password": "password1" });
    let answer = server.client.post("/api/user", &ada);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("Too common"), "{}", answer.body);
}
