//! Commands of the operator, and what they change for callers.

use axum::http::StatusCode;
use doorward::internals::control::{Command, Reply, Secret, UserInfo, UserRef};

use crate::support::{NOT_FOUND, TestServer};

async fn add(server: &TestServer, name: &str, email: &str, password: Option<&str>) -> Reply {
    let command = Command::AddUser {
        name: name.into(),
        email: email.into(),
        password: password.map(|password| Secret::from(String::from(password))),
    };
    server.command(command).await
}

async fn command(server: &TestServer, command: fn(UserRef) -> Command) -> Reply {
    server.command(command(UserRef("ada@example.com".into()))).await
}

#[tokio::test]
async fn an_added_user_can_log_in() {
    let server = TestServer::open().await;
    let Reply::User(ada) = add(&server, " Ada ", "ada@example.com", Some("correct horse")).await
    else {
        panic!("a user");
    };
    assert_eq!((&*ada.name, ada.has_password, ada.disabled), ("Ada", true, false));
    server.token_of("ada@example.com", "correct horse").await;
    let Reply::User(UserInfo { has_password: false, .. }) =
        add(&server, "Bob", "bob@example.com", None).await
    else {
        panic!("a user without a password");
    };
}

#[tokio::test]
async fn the_rules_of_registration_apply_to_the_operator() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    for (name, email, password, expected) in [
        ("x", "eve@example.com", None, "name: String must contain at least 2 character(s)"),
        ("Eve", "eve", None, "email: Invalid email"),
        (
            "Eve",
            "eve@example.com",
            Some("short"),
            "password: String must contain at least 8 character(s)",
        ),
        ("Eve", "ADA@example.com", None, "the e-mail address is taken"),
    ] {
        match add(&server, name, email, password).await {
            Reply::Failed(cause) => assert_eq!(cause, expected),
            other => panic!("{other:?}"),
        }
    }
    let short = |who| Command::SetPassword(who, Secret::from("short".to_owned()));
    assert!(matches!(command(&server, short).await, Reply::Failed(_)));
}

#[tokio::test]
async fn a_disabled_user_is_like_an_unknown_one_until_enabled() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    assert!(matches!(command(&server, Command::DisableUser).await, Reply::Done));
    let refused = server.login("ada@example.com", "correct horse").await;
    assert_eq!(refused.status_and_body(), (404, NOT_FOUND));
    assert!(matches!(
        command(&server, Command::ShowUser).await,
        Reply::User(UserInfo { disabled: true, .. })
    ));
    assert!(matches!(command(&server, Command::EnableUser).await, Reply::Done));
    server.token_of("ada@example.com", "correct horse").await;
}

#[tokio::test]
async fn a_password_set_by_the_operator_replaces_the_old_one() {
    let server = TestServer::open().await;
    server.register("Ada", "ada@example.com").await;
    let set = |who| Command::SetPassword(who, Secret::from("another horse".to_owned()));
    assert!(matches!(command(&server, set).await, Reply::Done));
    let old = server.login("ada@example.com", "correct horse").await;
    assert_eq!(old.status, StatusCode::NOT_FOUND);
    server.token_of("ada@example.com", "another horse").await;
}

#[tokio::test]
async fn commands_about_an_unknown_user_fail_and_show_no_secret() {
    let server = TestServer::open().await;
    for command in [
        Command::ShowUser,
        Command::EndSessions,
        Command::DeleteUser,
        Command::DisableUser,
        Command::EnableUser,
        Command::CreateResetCode,
        Command::CreateFactorReset,
        |who| Command::SetPassword(who, Secret::from("correct horse".to_owned())),
    ] {
        let report = server.command(command(UserRef("nobody@example.com".into()))).await;
        assert!(matches!(report, Reply::NoSuchUser), "{report:?}");
        let printed = format!("{:?}", command(UserRef("nobody@example.com".into())));
        assert!(!printed.contains("horse"), "{printed}");
    }
}
