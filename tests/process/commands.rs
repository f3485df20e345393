//! Commands beside a running server, and without one.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, Member, PASSWORD, Server, name_for, refused, told};

#[track_caller]
fn lists_and_shows(home: &Home, ada: &Member, bob: &Member) {
    let list = told(home, &["user", "list"]);
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    for (line, member) in lines.iter().zip([ada, bob]) {
        for part in [&member.id, &member.email, &member.name] {
            assert!(line.contains(part), "{line}");
        }
    }
    assert!(!lines[0].contains("no password") && lines[1].contains("no password"), "{list}");

    let list: Value = serde_json::from_str(&told(home, &["user", "list", "--json"])).unwrap();
    let emails: Vec<_> = list.as_array().unwrap().iter().map(|user| &user["email"]).collect();
    assert_eq!(emails, [&json!(ada.email), &json!(bob.email)]);
    assert!(!list.to_string().contains("argon2"), "a hash was listed");

    for who in [&ada.id, &ada.email, &ada.email.to_uppercase()] {
        let shown = told(home, &["user", "show", who]);
        assert!(shown.contains(&ada.id) && shown.contains(&name_for(&ada.email)), "{shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
    for command in ["show", "logout", "delete"] {
        for nobody in ["nobody@example.com", "00000000-0000-4000-8000-000000000000", ""] {
            let line = refused(home, &["user", command, nobody]);
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
fn a_list_longer_than_one_page_is_whole() {
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
        let list = told(&home, &["user", "list", "--json"]);
        let list: Vec<Value> = serde_json::from_str(&list).unwrap();
        let email = |user: &Value| user["email"].as_str().unwrap().to_owned();
        list.iter().map(email).collect::<Vec<_>>()
    };
    assert_eq!(emails(), wanted);
    server.stop();
    assert_eq!(emails(), wanted);
}

#[test]
fn after_a_logout_the_very_next_request_is_refused() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    let second = server.client.login(&ada.email, PASSWORD).field("token");
    for _ in 0..3 {
        assert_eq!((server.client.guard(&ada.token), server.client.guard(&second)), (200, 200));
    }
    assert_eq!(told(&home, &["user", "logout", &ada.email]), "2 sessions ended\n");
    assert_eq!((server.client.guard(&ada.token), server.client.guard(&second)), (401, 401));
    assert_eq!(server.client.guard(&bob.token), 200, "somebody else was logged out");
    let again = server.client.login(&ada.email, PASSWORD).field("token");
    assert_eq!(server.client.guard(&again), 200);
    server.stop();

    assert_eq!(told(&home, &["user", "logout", &ada.id]), "1 session ended\n");
    assert_eq!(told(&home, &["user", "logout", &ada.id]), "0 sessions ended\n");
    let server = home.start();
    for token in [&ada.token, &second, &again] {
        assert_eq!(server.client.guard(token), 401);
    }
    server.client.must_know(&bob);
}

/// What is left of somebody who was deleted: nothing, and the way back is open.
#[track_caller]
fn is_gone_for_good(server: &Server, ada: &Member) {
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
fn a_deleted_user_is_gone_with_the_very_next_request() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    server.client.must_know(&ada);
    assert_eq!(told(&home, &["user", "delete", &ada.email]), "deleted\n");
    is_gone_for_good(&server, &ada);
    server.client.must_know(&bob);
}

#[test]
fn a_user_deleted_without_a_server_is_gone_for_the_next_one() {
    let home = Home::new();
    let server = home.start();
    let (ada, bob) = two_members(&server);
    server.stop();
    assert_eq!(told(&home, &["user", "delete", &ada.id]), "deleted\n");
    let server = home.start();
    is_gone_for_good(&server, &ada);
    server.client.must_know(&bob);
}

#[test]
fn a_command_reaches_a_server_in_a_folder_with_a_long_name() {
    let deep = format!("{}data", "a-folder-with-a-long-name/".repeat(5));
    let home = Home::with_data_in(&deep);
    let server = home.start();
    let ada = server.client.register_quickly("ada@example.com");
    assert_eq!(told(&home, &["user", "logout", &ada.email]), "1 session ended\n");
    assert_eq!(server.client.guard(&ada.token), 401);
}

#[test]
fn a_move_from_where_there_is_nothing_makes_nothing_and_leaves_the_new_place_free() {
    let (empty, target) = (Home::new(), Home::new());
    let to = format!("sqlite://{}", target.database().display());
    let error = refused(&empty, &["migrate", "--to", &to]);
    assert!(error.contains("name the old one with --database-url"), "{error}");
    assert!(!empty.database().exists() && !target.database().exists());

    // A database that no server has ever used: the new one can still be.
    fs::create_dir_all(empty.data()).unwrap();
    fs::write(empty.database(), "").unwrap();
    let error = refused(&empty, &["migrate", "--to", &to]);
    assert!(error.contains("nobody has ever started a server with it"), "{error}");
    target.start().stop();
}
