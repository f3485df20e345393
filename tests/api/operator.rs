//! What the operator's orders do to users, as their callers see it.

use axum::http::StatusCode;
use doorward::internals::control::{Order, Report, Secret, UserReport, Who};

use crate::support::{House, NOT_FOUND};

async fn add(house: &House, name: &str, email: &str, password: Option<&str>) -> Report {
    let order = Order::AddUser {
        name: name.into(),
        email: email.into(),
        password: password.map(|password| Secret(password.into())),
    };
    house.order(order).await
}

async fn order(house: &House, order: fn(Who) -> Order) -> Report {
    house.order(order(Who("ada@example.com".into()))).await
}

#[tokio::test]
async fn an_added_user_can_log_in() {
    let house = House::open().await;
    let Report::User(ada) = add(&house, " Ada ", "ada@example.com", Some("correct horse")).await
    else {
        panic!("a user");
    };
    assert_eq!((&*ada.name, ada.has_password, ada.disabled), ("Ada", true, false));
    house.token_of("ada@example.com", "correct horse").await;
    let Report::User(UserReport { has_password: false, .. }) =
        add(&house, "Bob", "bob@example.com", None).await
    else {
        panic!("a user without a password");
    };
}

#[tokio::test]
async fn the_operator_is_held_to_the_rules_of_registration() {
    let house = House::open().await;
    house.register("Ada", "ada@example.com").await;
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
        match add(&house, name, email, password).await {
            Report::Failed(cause) => assert_eq!(cause, expected),
            other => panic!("{other:?}"),
        }
    }
    let short = |who| Order::SetPassword(who, Secret("short".into()));
    assert!(matches!(order(&house, short).await, Report::Failed(_)));
}

#[tokio::test]
async fn a_disabled_user_is_like_nobody_until_enabled() {
    let house = House::open().await;
    house.register("Ada", "ada@example.com").await;
    assert!(matches!(order(&house, Order::Disable).await, Report::Done));
    let refused = house.login("ada@example.com", "correct horse").await;
    assert_eq!(refused.told(), (404, NOT_FOUND));
    assert!(matches!(
        order(&house, Order::User).await,
        Report::User(UserReport { disabled: true, .. })
    ));
    assert!(matches!(order(&house, Order::Enable).await, Report::Done));
    house.token_of("ada@example.com", "correct horse").await;
}

#[tokio::test]
async fn a_set_password_is_the_only_one() {
    let house = House::open().await;
    house.register("Ada", "ada@example.com").await;
    let set = |who| Order::SetPassword(who, Secret("another horse".into()));
    assert!(matches!(order(&house, set).await, Report::Done));
    let old = house.login("ada@example.com", "correct horse").await;
    assert_eq!(old.status, StatusCode::NOT_FOUND);
    house.token_of("ada@example.com", "another horse").await;
}

#[tokio::test]
async fn orders_about_nobody_say_so_and_secrets_do_not_show() {
    let house = House::open().await;
    for order in [
        Order::User,
        Order::EndSessions,
        Order::DeleteUser,
        Order::Disable,
        Order::Enable,
        Order::Link,
        |who| Order::SetPassword(who, Secret("correct horse".into())),
    ] {
        let report = house.order(order(Who("nobody@example.com".into()))).await;
        assert!(matches!(report, Report::NoSuchUser), "{report:?}");
        let printed = format!("{:?}", order(Who("nobody@example.com".into())));
        assert!(!printed.contains("horse"), "{printed}");
    }
}
