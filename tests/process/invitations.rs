//! `doorward user invite`, `invitations` and `uninvite`, with and without a running server.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, Server, error_of, stdout_of};

const INVITED: &[&str] = &["--registration", "invited"];

fn invite(home: &Home, email: &str, arguments: &[&str]) -> Value {
    let arguments = [&["user", "invite", email, "--json"], arguments].concat();
    serde_json::from_str(&stdout_of(home, &arguments)).unwrap()
}

/// The status of a registration with this secret or code.
fn register(server: &Server, email: &str, invitation: &Value) -> u16 {
    let body = json!({"name": "Somebody", "email": email, "invitation": invitation});
    server.client.post("/api/user", &body).status
}

fn listed(home: &Home) -> Vec<String> {
    let list = stdout_of(home, &["user", "invitations", "--json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let emails = list.as_array().unwrap().iter().map(|one| one["email"].as_str().unwrap());
    emails.map(str::to_owned).collect()
}

#[test]
fn an_invitation_admits_whether_a_server_ran_when_it_was_made_or_not() {
    let home = Home::new();
    let server = home.start_with(INVITED);
    let ada = invite(&home, "ada@example.com", &["--role", "staff", "--role", "admin"]);
    assert_eq!(ada["roles"], json!(["admin", "staff"]));
    assert_eq!(register(&server, "ada@example.com", &ada["secret"]), 201);
    let shown = stdout_of(&home, &["user", "show", "ada@example.com"]);
    assert!(shown.contains("admin staff"), "{shown}");
    let bob = invite(&home, "bob@example.com", &[]);
    server.stop();

    let carol = invite(&home, "carol@example.com", &["--expires", "1h"]);
    let printed = stdout_of(&home, &["user", "invite", "dan@example.com", "--print"]);
    assert!(printed.contains("/sign-up?invitation=") && printed.contains("code "), "{printed}");
    let everybody = ["bob@example.com", "carol@example.com", "dan@example.com"];
    assert_eq!(listed(&home), everybody);
    let server = home.start_with(INVITED);
    assert_eq!(listed(&home), everybody);
    assert_eq!(register(&server, "bob@example.com", &bob["secret"]), 201);
    assert_eq!(register(&server, "carol@example.com", &carol["code"]), 201);
    assert_eq!(stdout_of(&home, &["user", "uninvite", "DAN@example.com"]), "revoked\n");
    assert!(listed(&home).is_empty());
    let gone = error_of(&home, &["user", "uninvite", "dan@example.com"]);
    assert!(gone.contains("no such invitation"), "{gone}");
    assert_eq!(server.client.try_to_register("eve@example.com").status, 403);
}

#[test]
fn wrong_codes_stay_counted_in_a_backup() {
    let (home, other) = (Home::new(), Home::new());
    let server = home.start_with(INVITED);
    let ada = invite(&home, "ada@example.com", &["--role", "staff"]);
    let wrong = if ada["code"] == "0000 0000" { "1111 1111" } else { "0000 0000" };
    for _ in 0..10 {
        assert_eq!(register(&server, "ada@example.com", &json!(wrong)), 403);
    }
    let file = home.root().join("backup");
    stdout_of(&home, &["backup", file.to_str().unwrap()]);
    server.stop();
    stdout_of(&other, &["restore", file.to_str().unwrap()]);
    let server = other.start_with(INVITED);
    assert_eq!(register(&server, "ada@example.com", &ada["code"]), 403);
    assert_eq!(register(&server, "ada@example.com", &ada["secret"]), 201);
}

#[test]
fn only_the_command_that_needs_the_secret_of_cookies_creates_it() {
    let home = Home::new();
    home.start().stop();
    let secret = home.data().join("cookie-secret");
    fs::remove_file(&secret).unwrap();
    stdout_of(&home, &["user", "list"]);
    stdout_of(&home, &["user", "invitations"]);
    assert!(!secret.exists());
    let ada = invite(&home, "ada@example.com", &[]);
    let created = fs::read(&secret).unwrap();
    let server = home.start_with(INVITED);
    assert_eq!(fs::read(&secret).unwrap(), created);
    assert_eq!(register(&server, "ada@example.com", &ada["secret"]), 201);
}

#[test]
fn a_wrong_argument_of_an_invitation_is_explained() {
    let home = Home::new();
    home.start().stop();
    for (arguments, message) in [
        (&["ada"][..], "email: Invalid email"),
        (&["ada@example.com", "--expires", "1m"], "5 minutes to 90 days"),
        (&["ada@example.com", "--role", "a b"], "is not a role"),
        (&["ada@example.com", "--registration", "closed"], "registration is \"closed\""),
    ] {
        let line = error_of(&home, &[&["user", "invite"], arguments].concat());
        assert!(line.contains(message), "{line}");
    }
}
