//! Setting a new password with a reset code on the pages.

use super::{Browser, assert_goes_to, assert_shows, server};

#[tokio::test]
async fn a_reset_code_sets_a_new_password_once_and_ends_all_sessions() {
    let server = server().await;
    let mut browser = Browser::of(&server, "Ada", "ada@example.com").await;
    let user = server.doorward.user_by_email("ada@example.com").await.unwrap().unwrap();
    let code = server.doorward.create_reset_code(user.id).await.unwrap();
    let page = browser.get("/reset").await;
    assert_shows(&page, 200, &["Set a new password", "one-time-code", "new-password"]);

    let answer = browser.post("/reset", &[("code", code.as_str()), ("password", "short")]).await;
    assert_shows(&answer, 400, &["password-fault", code.as_str()]);
    let answer = browser.post("/reset", &[("code", "x"), ("password", "battery staple")]).await;
    assert_shows(&answer, 400, &["code-fault", "This code is wrong"]);
    assert!(!answer.body.contains("battery"));
    assert!(browser.is_signed_in().await);

    // As pasted from a message.
    let pasted = format!(" {}\n", code.as_str());
    let fields = [("code", &*pasted), ("password", "battery staple")];
    assert_goes_to(&browser.post("/reset", &fields).await, "/sign-in?done=reset");
    let answer = browser.get("/sign-in?done=reset").await;
    assert_shows(&answer, 200, &["Your new password is saved. Sign in with it."]);
    assert!(browser.cookies.is_empty());
    assert_shows(&browser.post("/reset", &fields).await, 400, &["code-fault"]);
    let fields = [("email", "ada@example.com"), ("password", "battery staple")];
    assert_goes_to(&browser.post("/sign-in", &fields).await, "/account");
}

#[tokio::test]
async fn missing_fields_are_named() {
    let server = server().await;
    let answer = Browser::new(&server).post("/reset", &[]).await;
    assert_shows(&answer, 400, &["code-fault", "password-fault"]);
}
