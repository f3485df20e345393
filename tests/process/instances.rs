//! Several instances on one PostgreSQL: a change on one takes effect on the others.

use std::{fs, process::Command, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    postgres,
    stopwatch::Stopwatch,
    support::{Client, Home, Member, Server, error_of, eventually, run, stdout_of},
};

/// The documented limit.
pub const WITHIN: Duration = Duration::from_secs(1);

/// Homes that share one database.
pub fn homes(count: usize) -> Option<(Vec<Home>, String)> {
    let url = postgres::fresh_database()?;
    Some(((0..count).map(|_| Home::new()).collect(), url))
}

fn command(home: &Home, url: &str) -> Command {
    let mut command = home.command();
    command.env("DOORWARD_DATABASE_URL", url).env("DOORWARD_DATA_FOLDER", home.data());
    command
}

/// Runs a command on a machine without an instance.
pub fn order(url: &str, arguments: &[&str]) {
    let home = Home::new();
    let mut command = command(&home, url);
    command.env_remove("DOORWARD_DATA_FOLDER").args(arguments);
    let finished = run(command);
    assert!(finished.status.success(), "{arguments:?}: {finished:?}");
}

pub fn start(home: &Home, url: &str) -> Server {
    Server::start(command(home, url))
}

/// The parent of all processes of the database.
pub fn postgres_pid() -> u32 {
    let server = postgres::SERVER.get().unwrap();
    server.as_ref().unwrap().child.id()
}

fn wait_until_refused(client: &Client, token: &str) {
    eventually("the token is refused", || client.guard(token) == 401);
}

#[test]
fn revocation_takes_effect_on_every_instance_within_a_second() {
    let Some((homes, url)) = homes(2) else { return };
    let (here, there) = (start(&homes[0], &url), start(&homes[1], &url));
    let (near, far) = (&here.client, &there.client);
    let operator = |arguments: &[&str]| order(&url, arguments);
    let authorized = |method: &str, path: &str, token: &str, body: Value| {
        let answer = near.request(method, path, token, &body);
        assert!(answer.status < 300, "{method} {path}: {}", answer.status);
    };
    type Way<'a> = (&'a str, Box<dyn Fn(&Member) + 'a>);
    let ways: Vec<Way<'_>> = vec![
        ("logout", Box::new(|m| authorized("POST", "/api/auth/logout", &m.token, json!({})))),
        (
            "logout everywhere",
            Box::new(|m| authorized("POST", "/api/auth/logout-everywhere", &m.token, json!({}))),
        ),
        ("refresh", Box::new(|m| authorized("POST", "/api/auth/refresh", &m.token, json!({})))),
        (
            "the session deleted",
            Box::new(|m| {
                let listed = near.request("GET", "/api/sessions", &m.token, &json!({})).json();
                let id = listed[0]["id"].as_str().unwrap().to_owned();
                authorized("DELETE", &format!("/api/sessions/{id}"), &m.token, json!({}));
            }),
        ),
        (
            "the password changed elsewhere",
            Box::new(|m| {
                let other = near.login(&m.email, crate::support::PASSWORD).field("token");
                let body = json!({"current": crate::support::PASSWORD, "new": "another password"});
                authorized("POST", "/api/me/password", &other, body);
            }),
        ),
        ("disabled", Box::new(|m| operator(&["user", "disable", &m.email]))),
        ("deleted by the operator", Box::new(|m| operator(&["user", "delete", &m.email]))),
        (
            "deleted",
            Box::new(|m| {
                let body = json!({"password": crate::support::PASSWORD});
                authorized("DELETE", "/api/me", &m.token, body);
            }),
        ),
        (
            "the key revoked",
            Box::new(|_| {
                let kid = near.get("/.well-known/jwks.json").json()["keys"][0]["kid"].clone();
                operator(&["keys", "revoke", kid.as_str().unwrap()]);
            }),
        ),
    ];
    for (way, end) in &ways {
        let member = near.register(&format!("{}@example.com", way.replace(' ', "-")));
        for client in [near, far] {
            assert_eq!(client.guard(&member.token), 200, "{way}");
        }
        end(&member);
        let ended = Stopwatch::start(&[here.pid(), there.pid(), postgres_pid()]);
        // A command of the operator reaches every instance through the database.
        let by_operator = way.contains("operator") || ["disabled", "the key revoked"].contains(way);
        if !by_operator {
            assert_eq!(near.guard(&member.token), 401, "{way}: the very next request");
        }
        wait_until_refused(far, &member.token);
        wait_until_refused(near, &member.token);
        ended.must_show_less_than(WITHIN, way);
    }
}

#[test]
fn ten_instances_that_start_at_once_on_an_empty_database_share_one_key() {
    let Some((homes, url)) = homes(10) else { return };
    let servers: Vec<_> = thread::scope(|scope| {
        let starting: Vec<_> = homes.iter().map(|home| scope.spawn(|| start(home, &url))).collect();
        starting.into_iter().map(|starting| starting.join().unwrap()).collect()
    });
    let key_sets: Vec<_> =
        servers.iter().map(|server| server.client.get("/.well-known/jwks.json").json()).collect();
    for key_set in &key_sets {
        assert_eq!(key_set, &key_sets[0]);
        assert_eq!(key_set["keys"].as_array().unwrap().len(), 1);
    }
    for (number, server) in servers.iter().enumerate() {
        let member = server.client.register_quickly(&format!("user{number}@example.com"));
        for other in &servers {
            assert_eq!(other.client.guard(&member.token), 200);
        }
    }
}

/// Two instances together compare as many codes as one.
#[test]
fn wrong_codes_are_counted_by_all_instances_together() {
    let Some((homes, url)) = homes(2) else { return };
    let servers = [start(&homes[0], &url), start(&homes[1], &url)];
    let invite = |email: &str| -> Value {
        let mut invite = command(&homes[0], &url);
        invite.env_remove("DOORWARD_DATA_FOLDER");
        invite.args(["user", "invite", email, "--role", "staff", "--json"]);
        serde_json::from_str(&run(invite).stdout).unwrap()
    };
    let register = |client: &Client, email: &str, invitation: &Value| {
        let body = json!({"name": "Somebody", "email": email, "invitation": invitation});
        client.post("/api/user", &body).status
    };
    let wrong = |code: &Value| match code.as_str() {
        Some("0000 0000") => json!("1111 1111"),
        _ => json!("0000 0000"),
    };
    let (ada, bob) = (invite("ada@example.com"), invite("bob@example.com"));
    for number in 0..9 {
        let client = &servers[number % 2].client;
        assert_eq!(register(client, "ada@example.com", &wrong(&ada["code"])), 403);
        assert_eq!(register(client, "bob@example.com", &wrong(&bob["code"])), 403);
    }
    let other = &servers[1].client;
    assert_eq!(register(other, "ada@example.com", &ada["code"]), 201, "the tenth");
    assert_eq!(register(other, "bob@example.com", &wrong(&bob["code"])), 403);
    for server in &servers {
        assert_eq!(register(&server.client, "bob@example.com", &bob["code"]), 403, "the eleventh");
    }

    // At the same time on both.
    let carol = invite("carol@example.com");
    thread::scope(|scope| {
        for server in &servers {
            let client = &server.client;
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let wrong = wrong(&carol["code"]);
                        assert_eq!(register(client, "carol@example.com", &wrong), 403);
                    }
                });
            }
        }
    });
    let [first, second] = servers;
    first.stop();
    second.stop();
    let restarted = start(&homes[0], &url);
    assert_eq!(register(&restarted.client, "carol@example.com", &carol["code"]), 403);
    for (email, invitation) in [("bob@example.com", bob), ("carol@example.com", carol)] {
        assert_eq!(
            register(&restarted.client, email, &invitation["secret"]),
            201,
            "the link is not void"
        );
    }
}

#[test]
fn migrating_to_postgres_and_back_keeps_every_session() {
    let Some((mut homes, url)) = homes(2) else { return };
    let (back, home) = (homes.pop().unwrap(), homes.pop().unwrap());
    let to_postgres = ["migrate", "--to", &url];
    let server = home.start();
    let client = &server.client;
    let members: Vec<_> =
        (0..5).map(|n| client.register(&format!("User{n}@example.com"))).collect();
    let gone = client.register("gone@example.com");
    client.request("POST", "/api/auth/logout", &gone.token, &json!({}));
    assert!(error_of(&home, &to_postgres).contains("in use by another doorward"));
    server.stop();
    stdout_of(&home, &["user", "grant", "user1@example.com", "staff"]);
    stdout_of(&home, &["user", "verify", "user2@example.com"]);
    stdout_of(&home, &["keys", "rotate", "--token-publish-before-signing", "0s"]);

    let moved = stdout_of(&home, &to_postgres);
    assert!(moved.contains("6 users, 5 sessions, checksum "), "{moved}");
    assert!(!moved.contains("not-for-the-log"), "{moved}");
    let again = error_of(&home, &to_postgres);
    assert!(again.contains("already has users"), "{again}");

    let server = start(&home, &url);
    for member in &members {
        server.client.must_know(member);
        assert_eq!(server.client.guard(&member.token), 200);
    }
    assert_eq!(server.client.guard(&gone.token), 401);
    let late = server.client.register("late@example.com");
    server.stop();

    let to_sqlite = format!("sqlite://{}", back.database().display());
    order(&url, &["migrate", "--to", &to_sqlite]);
    let server = back.start();
    for member in members.iter().chain([&late]) {
        server.client.must_know(member);
        assert_eq!(server.client.guard(&member.token), 200);
    }
    assert_eq!(server.client.guard(&gone.token), 401);
    for name in ["cookie-secret", "factor-secret", "audit-secret"] {
        let secret = |home: &Home| fs::read(home.database().with_file_name(name)).unwrap();
        assert_eq!(secret(&back), secret(&home), "{name}");
    }
    assert!(
        stdout_of(&back, &["user", "show", "user1@example.com"]).contains("roles       staff\n")
    );
    assert!(stdout_of(&back, &["user", "show", "user2@example.com"]).contains("verified    yes\n"));
    server.stop();
}
