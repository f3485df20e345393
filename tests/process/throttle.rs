//! Password guessing against the binary behind a proxy that forwards client addresses.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    accounts::with_input,
    instances::{homes, order, start},
    support::{Home, PASSWORD, Server, eventually, stdout_of},
};

const ADA: &str = "ada@example.com";

/// A client behind a trusted proxy on this machine.
struct Network<'a> {
    server: &'a Server,
    address: String,
}

impl Network<'_> {
    /// The status of a request through the proxy.
    fn post(&self, path: &str, body: &Value) -> u16 {
        let request = ureq::post(format!("http://{}{path}", self.server.address))
            .config()
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .header("X-Forwarded-For", &self.address)
            .header("Content-Type", "application/json");
        request.send(body.to_string()).unwrap().status().as_u16()
    }

    fn login(&self, password: &str) -> u16 {
        self.post("/api/auth/login", &json!({"email": ADA, "password": password}))
    }

    fn register(&self) {
        let body = json!({"name": "Ada", "email": ADA, "password": PASSWORD});
        assert_eq!(self.post("/api/user", &body), 201);
    }
}

fn network(server: &Server, address: impl Into<String>) -> Network<'_> {
    Network { server, address: address.into() }
}

/// Guesses from new networks until the account is locked for them. Returns the number of guesses that were checked.
fn spend(server: &Server) -> usize {
    let mut made = 0;
    for number in 0..1000 {
        let from = network(server, format!("198.51.100.{number}"));
        let before = made;
        while from.login("wrong horse") == 404 {
            made += 1;
        }
        if made == before {
            return made;
        }
    }
    panic!("{made} guesses and no end");
}

#[test]
fn a_restart_does_not_refill_the_budget_of_an_account() {
    let home = Home::new();
    let server = home.start();
    network(&server, "203.0.113.7").register();
    assert_eq!(spend(&server), 100);
    server.stop();

    let server = home.start();
    assert_eq!(spend(&server), 0);
    assert_eq!(network(&server, "203.0.113.8").login(PASSWORD), 429, "a new network");
    assert_eq!(network(&server, "203.0.113.7").login(PASSWORD), 200, "a known network");
    assert_eq!(
        network(&server, "203.0.113.8").login(PASSWORD),
        200,
        "the success refills the budget"
    );
    server.stop();

    let server = home.start();
    assert_eq!(spend(&server), 100, "the success is stored");
}

#[test]
fn a_password_set_while_no_server_runs_can_be_used() {
    let home = Home::new();
    let server = home.start();
    network(&server, "203.0.113.7").register();
    assert_eq!(spend(&server), 100);
    server.stop();
    let set = with_input(&home, &["user", "set-password", ADA], "another horse");
    assert!(set.status.success(), "{set:?}");
    let server = home.start();
    assert_eq!(network(&server, "203.0.113.8").login("another horse"), 200);
}

/// The failed logins that count against an account, as `doorward why --user` shows them.
fn counted(home: &Home) -> Value {
    let shown = stdout_of(home, &["why", "--user", ADA, "--json"]);
    serde_json::from_str::<Value>(&shown).unwrap()["throttle"].clone()
}

#[test]
fn an_operator_sees_what_locks_an_account_and_unlocks_it() {
    let home = Home::new();
    let server = home.start();
    network(&server, "203.0.113.7").register();
    let unused = json!({"used": 0, "size": 100, "recoversAt": null});
    assert_eq!(counted(&home), json!({"fromEverywhere": unused, "fromNetworks": []}));
    assert_eq!(spend(&server), 100);
    let locked = counted(&home);
    assert_eq!(locked["fromEverywhere"]["used"], 100, "{locked}");
    assert!(locked["fromEverywhere"]["recoversAt"].is_string(), "{locked}");
    let networks = locked["fromNetworks"].as_array().unwrap();
    let is_used_up = |one: &&Value| one["used"] == 20 && one["size"] == 20;
    assert_eq!(networks.iter().filter(is_used_up).count(), 5, "{locked}");
    // The owner's own network has a budget of its own, which they use up.
    while network(&server, "203.0.113.7").login("wrong horse") == 404 {}
    let known =
        counted(&home)["fromNetworks"].as_array().unwrap().iter().any(|one| {
            one["network"] == "203.0.113.7" && one["isKnown"] == true && one["used"] == 20
        });
    assert!(known, "{}", counted(&home));
    let text = stdout_of(&home, &["why", "--user", ADA]);
    assert!(text.contains("failed logins that count  100 of 100, the last until 2"), "{text}");
    assert!(text.contains("from 203.0.113.7, a known network  20 of 20"), "{text}");

    assert_eq!(stdout_of(&home, &["user", "unlock", ADA]), "unlocked\n");
    assert_eq!(counted(&home), json!({"fromEverywhere": unused, "fromNetworks": []}));
    for from in ["198.51.100.0", "203.0.113.7"] {
        assert_eq!(network(&server, from).login(PASSWORD), 200, "{from} had used up its budget");
    }
    // One of the networks is a known one since then, and has a budget of its own.
    assert_eq!(spend(&server), 120);
    server.stop();

    assert_eq!(stdout_of(&home, &["user", "unlock", ADA]), "unlocked\n");
    let server = home.start();
    assert_eq!(network(&server, "203.0.113.8").login(PASSWORD), 200);
}

#[test]
fn an_account_is_unlocked_on_all_instances() {
    let Some((homes, url)) = homes(2) else { return };
    let (here, there) = (start(&homes[0], &url), start(&homes[1], &url));
    network(&here, "203.0.113.7").register();
    // Each instance counts for itself what comes from a network.
    let networks = [network(&here, "192.0.2.1"), network(&there, "192.0.2.2")];
    for network in &networks {
        while network.login("wrong horse") == 404 {}
        assert_eq!(network.login(PASSWORD), 429);
    }
    order(&url, &["user", "unlock", ADA]);
    for network in &networks {
        eventually("the account is unlocked", || network.login(PASSWORD) == 200);
    }
}

#[test]
fn instances_share_the_budget_of_an_account() {
    let Some((homes, url)) = homes(2) else { return };
    let (here, there) = (start(&homes[0], &url), start(&homes[1], &url));
    network(&here, "203.0.113.7").register();
    assert_eq!(spend(&here), 100);
    // Fewer attempts than the budget, each from its own network: only failures on the other instance explain a refusal.
    let received = (0..90).any(|number| {
        thread::sleep(Duration::from_millis(300));
        network(&there, format!("192.0.2.{number}")).login("wrong horse") == 429
    });
    assert!(received, "the other instance has received the failures");
    assert_eq!(network(&there, "203.0.113.7").login(PASSWORD), 200, "a known network");
    eventually("the first instance has received the success", || {
        network(&here, "203.0.113.8").login("wrong horse") == 404
    });
}

#[test]
fn a_proxy_that_hides_client_addresses_is_logged_once() {
    let home = Home::new();
    let server = home.start_with(&["--public-url", "https://auth.example.com"]);
    for number in 0..3 {
        server.client.register_quickly(&format!("user{number}@example.com"));
    }
    let output = server.stop().stderr;
    assert_eq!(output.matches("carry no forwarded address although public_url is set").count(), 1);

    let server = home.start_with(&["--trusted-proxies", "192.0.2.1"]);
    for _ in 0..3 {
        network(&server, "203.0.113.7").login(PASSWORD);
    }
    let output = server.stop().stderr;
    let warning = output.lines().filter(|line| line.contains("outside trusted_proxies"));
    let warning: Vec<_> = warning.collect();
    assert_eq!(warning.len(), 1, "{output}");
    assert!(warning[0].contains("127.0.0.1"), "{}", warning[0]);
}
