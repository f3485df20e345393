//! The slowest conditions within the limits, with the largest facts that a condition can read.

use anyhow::{Context, bail, ensure};
use axum::body::to_bytes;
use doorward::{
    Caller, Doorward,
    internals::{
        Internals,
        access::guard::{Declaration, Guard, RequestFacts},
        http::{App, Service},
        store::Effects,
        user::{MAX_ROLES, Role},
    },
};
use tokio::runtime::Runtime;

use crate::count::{NOW, PEER, register};

/// Each is evaluated to its end: no part decides the result earlier. They use up the calls or the parts that are allowed within
/// macros, or all calls of a condition.
pub(crate) const SLOWEST: &[&str] = &[
    r#"user.roles.exists(r, (request.path + request.path).lower().lower() == "")"#,
    r#"user.roles.exists(r, request.path.contains(user.name) || user.name.contains(request.path) || r.contains(user.name))"#,
    r#"user.roles.exists(r, request.path.matches("(a|b)*c(a|b){5}") || request.path.matches("[x-z]{1,40}$") || r.matches("x"))"#,
    "user.roles.exists(r, request != request || request != request || request != request || request != request || request != request)",
    r#"user.roles.exists(r, duration(request.path) == duration("1h"))"#,
    r#"user.roles.map(r, (request.path + request.path).lower()).size() == 1"#,
    r#"(request.path + request.path + request.path + request.path + request.path + request.path + request.path + request.path)
       .lower().lower().lower().lower().lower().lower().lower().lower().lower() == """#,
];

/// A guard with this condition.
pub(crate) fn guard(text: &str) -> anyhow::Result<Guard> {
    let declaration =
        Declaration { name: "dear".into(), allow: text.into(), ..Declaration::default() };
    match Guard::declare(declaration) {
        Ok(guard) => Ok(guard),
        Err(unusable) => bail!("{text}: {unusable:?}"),
    }
}

/// A user with the longest name and address and with all roles that a user may have.
pub(crate) fn largest_caller(
    runtime: &Runtime,
    doorward: &Doorward,
    app: &Service,
) -> anyhow::Result<Caller> {
    let name = "\u{1f600}".repeat(200);
    let labels = [63, 63, 60].map(|length| "d".repeat(length)).join(".");
    let email = format!("{}@{labels}", "e".repeat(64));
    let body = format!(r#"{{"name":"{name}","email":"{email}","password":"correct horse"}}"#);
    let answer = runtime.block_on(app.answer(register(body)?, PEER));
    let body = runtime.block_on(to_bytes(answer.into_body(), usize::MAX))?;
    let body: serde_json::Value = serde_json::from_slice(&body)?;
    let (Some(id), Some(token)) = (body["id"].as_str(), body["token"].as_str()) else {
        bail!("{body}")
    };
    for number in 0..MAX_ROLES {
        let role = Role::parse(&format!("{number:r>64}")).context("it is a role")?;
        ensure!(runtime.block_on(doorward.store().grant_role(
            id.parse()?,
            &role,
            NOW,
            &Effects::NONE
        ))?);
    }
    Ok(runtime.block_on(doorward.caller(token))?)
}

/// A request with the longest path and host that a condition can read.
pub(crate) fn largest_request() -> RequestFacts<'static> {
    // Letters that `lower()` converts one by one.
    let path = format!("/{}", "ÀÉÖ".repeat(170));
    RequestFacts {
        method: Some("PROPPATCH".into()),
        host: Some("h".repeat(255).into()),
        path: Some(path.into()),
        scheme: Some("https".into()),
        address: Some([0x2001, 0xdb8, 1, 2, 3, 4, 5, 6].into()),
        time: NOW,
    }
}
