//! Slow, idle, oversized and malformed requests on real sockets.

use std::{process::Command, thread, time::Duration};

use crate::{
    stopwatch::Stopwatch,
    support::{Answer, Home, RawConnection, Server, eventually},
};

/// Reads the 408 that a slow client gets, and the end of its connection.
fn timeout_answer(mut connection: RawConnection) -> Answer {
    let answer = connection.answer().expect("a slow client gets an answer");
    assert!(connection.is_closed());
    answer
}

#[test]
fn a_slow_client_gets_408_after_ten_seconds_and_is_disconnected() {
    const PAUSE: Duration = Duration::from_millis(300);
    let home = Home::new();
    let server = home.start();
    let begun = Stopwatch::start(&[server.pid()]);
    let kept_alive = {
        let mut connection = server.connect();
        connection.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
        assert_eq!(connection.answer().unwrap().status, 404);
        connection
    };
    let slow = [
        ("says nothing", "", server.connect()),
        ("sends slowly: a request line", "G", server.connect()),
        ("sends slowly: a head", "GET / HTTP/1.1\r\nHost: here\r\nX-Slow: ", server.connect()),
        ("sends slowly: a second head", "GET / HTTP/1.1\r\nX-Slow: ", kept_alive),
        (
            "sends slowly: a body",
            "POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{",
            server.connect(),
        ),
        (
            "sends slowly: chunks",
            "POST /api/auth/login HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{",
            server.connect(),
        ),
        (
            "stops in a body",
            "POST /api/auth/login HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n",
            server.connect(),
        ),
    ];
    let begun = &begun;
    thread::scope(|scope| {
        for (what, begin, mut connection) in slow {
            scope.spawn(move || {
                connection.send(begin);
                if what.starts_with("sends slowly") {
                    connection.send_slowly(b"a", PAUSE);
                }
                let answer = timeout_answer(connection);
                begun.must_show_less_than(Duration::from_secs(15), what);
                let waited = begun.started.elapsed();
                assert!(waited >= Duration::from_secs(10), "{what}: {waited:?}");
                answer.must_be_error(408);
            });
        }
    });
    assert_eq!(server.client.get("/").status, 404);
}

/// Sends the bytes of a request and reads the only answer.
#[track_caller]
fn only_answer(server: &Server, request: impl AsRef<[u8]>) -> Answer {
    let mut connection = server.connect();
    connection.send_ignoring_errors(&request);
    let shown =
        String::from_utf8_lossy(&request.as_ref()[..request.as_ref().len().min(80)]).into_owned();
    let answer = connection.answer().unwrap_or_else(|| panic!("no answer to {shown:?}"));
    assert!(connection.is_closed(), "{shown:?}");
    answer
}

#[test]
fn a_client_that_does_not_read_is_disconnected_after_ten_seconds() {
    let home = Home::new();
    let server = home.start();
    let many = "GET / HTTP/1.1\r\nHost: here\r\n\r\n".repeat(1000);
    let begun = Stopwatch::start(&[server.pid()]);
    server.connect().send_until_closed(&many);
    begun.must_show_less_than(
        Duration::from_secs(25),
        "a client that does not read is disconnected",
    );
    let took = begun.started.elapsed();
    assert!(took > Duration::from_secs(8), "{took:?}");
    assert_eq!(server.client.get("/").status, 404);
}

#[test]
fn a_head_that_is_too_large_gets_431() {
    let home = Home::new();
    let server = home.start();
    let mebibyte = "a".repeat(1 << 20);
    let fields: String = (0..10_000).map(|number| format!("X-{number}: a\r\n")).collect();
    for request in [
        format!("GET / HTTP/1.1\r\nHost: here\r\nX-Large: {mebibyte}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: here\r\n{fields}\r\n"),
        format!(
            "GET / HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n\r\n",
            &mebibyte[..20_000]
        ),
    ] {
        for _ in 0..10 {
            only_answer(&server, &request).must_be_error(431);
        }
    }
    let answer = only_answer(&server, format!("GET /{mebibyte} HTTP/1.1\r\nHost: here\r\n\r\n"));
    assert!([414, 431].contains(&answer.status), "{answer:?}");
    answer.must_be_error(answer.status);
    assert_eq!(server.client.get("/").status, 404);
}

#[test]
fn a_body_that_is_too_large_gets_413_before_it_is_read() {
    let home = Home::new();
    let server = home.start();
    let head = "POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n";
    for length in ["65537", "1073741824"] {
        only_answer(&server, format!("{head}Content-Length: {length}\r\n\r\n")).must_be_error(413);
    }
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(1 << 16)).repeat(16);
    let endless = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}");
    only_answer(&server, endless).must_be_error(413);
}

#[test]
fn a_malformed_request_gets_400() {
    let home = Home::new();
    let server = home.start();
    for request in [
        &b"GARBAGE\r\n\r\n"[..],
        b"GET /api/auth/guard\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: here\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: here\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\nSpace before : colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\nHost: there\r\n\r\n",
        b"GET /api/auth/guard HTTP/1.1\r\nHost: here\r\nHost: here\r\n\r\n",
        b"POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Length: many\r\n\r\n",
        b"POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\0\x01\x02\r\n\r\n",
        // The beginning of a TLS handshake.
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ] {
        only_answer(&server, request).must_be_error(400);
    }
    assert_eq!(server.client.get("/").status, 404);
}

#[test]
fn idle_connections_do_not_block_other_clients() {
    const LIMIT: usize = 100;
    let home = Home::new();
    let server = home.start_with(&["--limits-connections", &LIMIT.to_string()]);
    let ada = server.client.register("ada@example.com");
    let ask = format!(
        "GET /api/auth/guard HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n\r\n",
        ada.token
    );
    let mut active = server.connect();
    let mut idle = Vec::new();
    for number in 0..3 * LIMIT {
        let mut connection = server.connect();
        match number % 3 {
            0 => {}
            1 => connection.send("GET / HTTP/1.1\r\nHo"),
            _ => connection.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n"),
        }
        idle.push(connection);
        active.send(&ask);
        let answer = active.answer().expect("an active client keeps its connection");
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut new_client = server.connect();
        new_client.send(&ask);
        assert_eq!(new_client.answer().expect("a new client is served").status, 200);
    }
    eventually("those beyond the limit are closed", || {
        idle.iter_mut().map(RawConnection::was_closed).filter(|closed| !closed).count() <= LIMIT
    });
    assert_eq!(server.client.login(&ada.email, crate::support::PASSWORD).status, 200);
}

/// Starts with so few descriptors that a few hundred connections take them all.
fn start_with_few_descriptors(home: &Home) -> Server {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "ulimit -n 256; exec \"$0\"", env!("CARGO_BIN_EXE_doorward")]);
    Server::start(home.command_through(shell))
}

const SOON: Duration = Duration::from_secs(5);

/// Asserts that new connections are served well before the slow ones time out.
#[track_caller]
fn new_connections_are_served(server: &Server) {
    for _ in 0..5 {
        let asked = Stopwatch::start(&[server.pid()]);
        let mut new_client = server.connect();
        new_client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
        assert_eq!(new_client.answer().expect("a new client is served").status, 404);
        asked.must_show_less_than(SOON, "a new client is served");
    }
}

#[test]
fn half_sent_heads_that_use_all_descriptors_do_not_block_new_connections() {
    // A half-sent head times out after ten seconds.
    let home = Home::new();
    let server = start_with_few_descriptors(&home);
    let mut connections: Vec<_> = (0..400).map(|_| server.connect()).collect();
    connections
        .iter_mut()
        .for_each(|connection| connection.send_ignoring_errors("GET / HTTP/1.1\r\nHo"));
    new_connections_are_served(&server);
}

#[test]
fn half_sent_bodies_count_as_connections_too() {
    const LIMIT: usize = 100;
    let home = Home::new();
    let server = home.start_with(&["--limits-connections", &LIMIT.to_string()]);
    let begun = Stopwatch::start(&[server.pid()]);
    let mut connections: Vec<_> = (0..3 * LIMIT)
        .map(|_| {
            let mut connection = server.connect();
            connection.send(
                "POST /api/user HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\
                 Expect: 100-continue\r\n\r\n",
            );
            // The server sends this when it starts to read the body.
            assert_eq!(connection.answer().unwrap().status, 100);
            connection
        })
        .collect();
    new_connections_are_served(&server);
    eventually("those beyond the limit are closed", || {
        connections.iter_mut().map(RawConnection::was_closed).filter(|closed| !closed).count()
            <= LIMIT
    });
    // A body may take ten seconds.
    begun.must_show_less_than(Duration::from_secs(8), "those beyond the limit are closed");
}
