//! Graceful stop: requests in flight are finished, everything else is closed.

use std::{fs, sync::Mutex, thread, time::Duration};

use serde_json::json;

use crate::{
    stopwatch::Stopwatch,
    support::{
        Client, Finished, Home, Member, PASSWORD, RawConnection, Server, Signal, claims_of,
        eventually, member, name_for,
    },
};

/// Half of the ten seconds that a drain may take.
const SOON: Duration = Duration::from_secs(5);

/// Asserts that no connection held up the stop until the drain timed out.
fn must_have_drained(finished: &Finished) {
    assert_eq!(finished.status.code(), Some(0), "{finished:#?}");
    assert!(!finished.stderr.contains("stopping with unanswered requests"), "{finished:#?}");
}

/// A login whose head was read and whose body is half sent, and the other half of the body.
fn half_a_login(server: &Server, member: &Member) -> (RawConnection, String) {
    let body = json!({"email": member.email, "password": PASSWORD}).to_string();
    let (first, second) = body.split_at(body.len() / 2);
    let mut connection = server.connect();
    connection.send(format!(
        "POST /api/auth/login HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    ));
    // The server sends this when it starts to read the body.
    assert_eq!(connection.answer().unwrap().status, 100);
    connection.send(first);
    (connection, second.to_owned())
}

fn an_idle_connection(server: &Server) -> RawConnection {
    let mut connection = server.connect();
    connection.send("GET /api/auth/guard HTTP/1.1\r\nHost: here\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 401);
    connection
}

fn stop_gracefully_at(signal: Signal) {
    let home = Home::new();
    let server = home.start();
    let ada = server.client.register("ada@example.com");
    let (mut login, rest) = half_a_login(&server, &ada);
    let mut idle = an_idle_connection(&server);
    let mut fresh = server.connect();
    let mut half_a_head = server.connect();
    half_a_head.send("GET /api/auth/guard HTTP/1.1\r\nHost: he");

    let signalled = Stopwatch::start(&[server.pid()]);
    server.signal(signal);
    server.wait_until_connections_are_refused();
    // None of these waits for the login, which cannot end before the rest of it is sent.
    assert!(idle.is_closed(), "an answer without a request");
    for connection in [&mut fresh, &mut half_a_head] {
        while let Some(answer) = connection.answer() {
            answer.must_be_error(408);
        }
    }
    login.send(rest);
    let answer = login.answer().expect("a login in flight is answered");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(login.is_closed());
    let finished = server.end();
    signalled.must_show_less_than(SOON, "stopped");
    must_have_drained(&finished);
    assert!(!home.data().join("doorward.sock").exists(), "the socket still exists");

    let token = answer.field("token");
    assert_eq!(home.start().client.guard(&token), 200, "the session survives");
}

#[test]
fn sigterm_finishes_requests_in_flight_and_waits_for_nothing_else() {
    stop_gracefully_at(Signal::TERM);
}

#[test]
fn sigint_finishes_requests_in_flight_and_waits_for_nothing_else() {
    stop_gracefully_at(Signal::INT);
}

/// Whether a hashing thread of the process is at work.
fn is_hashing(server: &Server) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    tasks.flatten().any(|task| {
        let status = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        status.contains(" (hash-") && status.contains(") R ")
    })
}

#[test]
fn a_login_that_is_being_hashed_is_answered_before_the_stop() {
    let home = Home::new();
    let slow = ["--password-memory-kib", "16384", "--password-passes", "4"];
    let server = home.start_with(&slow);
    let ada = server.client.register("ada@example.com");
    // The hashing thread may still be releasing its memory.
    eventually("nothing is being hashed", || !is_hashing(&server));
    let client = server.client.clone();
    let login = thread::spawn(move || client.login(&ada.email, PASSWORD));
    eventually("the password is being hashed", || is_hashing(&server) || login.is_finished());
    server.stop();
    assert_eq!(login.join().unwrap().status, 200);
}

#[test]
fn waiting_feed_requests_are_answered_when_the_server_stops() {
    let home = Home::new();
    let server = home.start();
    let cursor = feed_cursor(&server.client.get("/.well-known/revocations").body);
    let mut connections: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.send(format!(
            "GET /.well-known/revocations?since={cursor}.0 HTTP/1.1\r\nHost: here\r\n\r\n"
        ));
    }
    // By now the server has read the requests before this one.
    an_idle_connection(&server);
    let signalled = Stopwatch::start(&[server.pid()]);
    let finished = server.stop();
    signalled.must_show_less_than(SOON, "stopped");
    must_have_drained(&finished);
    for mut connection in connections {
        let answer = connection.answer().expect("an answer");
        assert_eq!((answer.status, feed_cursor(&answer.body)), (200, cursor.clone()));
    }
}

fn feed_cursor(feed: &str) -> String {
    // Without the timestamp at its end.
    let claims = claims_of(feed);
    claims["cursor"].as_str().unwrap().rsplit_once('.').unwrap().0.to_owned()
}

#[test]
fn a_stop_without_requests_in_flight_is_immediate() {
    let home = Home::new();
    let server = home.start();
    let _connections: Vec<_> = (0..20).map(|_| an_idle_connection(&server)).collect();
    let signalled = Stopwatch::start(&[server.pid()]);
    let finished = server.stop();
    signalled.must_show_less_than(SOON, "stopped with 20 idle connections");
    must_have_drained(&finished);
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    for second in [Signal::TERM, Signal::INT] {
        let home = Home::new();
        let server = home.start();
        let ada = server.client.register("ada@example.com");
        let (mut login, _) = half_a_login(&server, &ada);
        server.signal(Signal::TERM);
        server.wait_until_connections_are_refused();
        let signalled = Stopwatch::start(&[server.pid()]);
        server.signal(second);
        let finished = server.end();
        signalled.must_show_less_than(SOON, "ended");
        assert!(!finished.status.success(), "requests were left unanswered: {finished:#?}");
        assert!(login.answer().is_none());
        home.start().client.must_know(&ada);
    }
}

/// Registers users until the server stops answering. Returns the acknowledged ones and the last, unanswered address.
fn register_until_it_stops(client: &Client, writer: &str) -> (Vec<Member>, String) {
    let mut members = Vec::new();
    loop {
        let email = format!("{writer}.{}@example.com", members.len());
        let body = json!({"name": name_for(&email), "email": email});
        match client.try_post("/api/user", &body) {
            Ok(answer) if answer.status == 201 => members.push(member(&email, &answer)),
            // The connection was accepted, but not read before the signal.
            Ok(answer) => {
                answer.must_be_error(408);
                return (members, email);
            }
            Err(_) => return (members, email),
        }
    }
}

#[test]
fn a_stop_under_load_stores_only_what_it_acknowledges() {
    const ROUNDS: usize = 10;
    const WRITERS: usize = 8;
    let home = Home::new();
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let server = home.start();
        let outcomes = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (client, outcomes) = (server.client.clone(), &outcomes);
                scope.spawn(move || {
                    let outcome = register_until_it_stops(&client, &format!("{round}.{writer}"));
                    outcomes.lock().unwrap().push(outcome);
                });
            }
            // This chooses the moment of the signal; nothing is waited for.
            thread::sleep(Duration::from_millis(40 + 13 * round as u64));
            server.stop();
        });
        let server = home.start();
        for (members, without_answer) in outcomes.into_inner().unwrap() {
            acknowledged += members.len();
            members.iter().for_each(|member| server.client.must_know(member));
            server.client.register_quickly(&without_answer);
        }
        server.stop();
    }
    println!(
        "{ROUNDS} stops under load: {acknowledged} acknowledged, all stored; {} without an answer, none stored",
        ROUNDS * WRITERS
    );
}
