//! The administration.

mod access;
mod lists;
mod users;

use std::time::Duration;

use super::{Browser, PUBLIC, assert_goes_to, assert_shows};
use crate::support::TestServer;

const ADMIN: &str = "admin@example.com";
const EVE: &str = "eve@example.com";

/// Guards, and roles that may do only a part.
const SETTINGS: &str = r#"
[guards.staff]
title = "Staff only"
allow = '"staff" in user.roles && user.emailVerified'

[guards.wiki]
mode = "report"
allow = '"staff" in user.roles'

[admin.helpdesk]
scopes = ["users:read", "users:write"]

[admin.auditor]
scopes = ["status:read", "guards:read", "invitations:read"]
"#;

async fn server() -> TestServer {
    TestServer::open_with(|settings| settings.with("public_url", PUBLIC).with_toml(SETTINGS)).await
}

/// A browser of somebody with a role.
async fn browser_of<'s>(server: &'s TestServer, email: &str, role: &str) -> Browser<'s> {
    let browser = Browser::of(server, "Grace Hopper", email).await;
    server.doorward.grant_role(id_of(server, email).await.parse().unwrap(), role).await.unwrap();
    browser
}

/// A browser of somebody who may do everything.
async fn admin_browser(server: &TestServer) -> Browser<'_> {
    browser_of(server, ADMIN, "admin").await
}

async fn id_of(server: &TestServer, email: &str) -> String {
    server.doorward.user_by_email(email).await.unwrap().unwrap().id.to_string()
}

/// The path of the page of a user.
async fn page_of(server: &TestServer, email: &str) -> String {
    format!("/admin/users/{}", id_of(server, email).await)
}

/// Lets the sign-in of everybody become too old for what needs a fresh one.
fn let_sign_ins_age(server: &TestServer) {
    server.let_pass(Duration::from_secs(11 * 60));
}
