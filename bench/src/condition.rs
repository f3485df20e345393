//! The most expensive allowed conditions, with the largest facts that a condition can read.

use anyhow::{Context, bail, ensure};
use axum::body::to_bytes;
use doorward::{
    Caller, Doorward,
    internals::{
        access::guard::{Declaration, Guard, MAX_ROLES, RequestFacts, condition::cost::MAX_COST},
        http::{App, Service},
        user::Role,
    },
};
use tokio::runtime::Runtime;

use crate::count::{NOW, PEER, register};

/// Prints the most expensive conditions, each after the estimate of its cost
#[derive(clap::Args)]
pub(crate) struct Conditions;

/// Each is evaluated to its end: no part decides the result earlier.
const MOST_EXPENSIVE: &[&str] = &[
    r#"user.roles.exists(r, r.startsWith("team:"))"#,
    r#"user.roles.exists(r, r in ["a", "b", "c", "d", "e", "f", "g", "h"])"#,
    "user.roles.exists(r, r == user.name)",
    r#"user.roles.all(r, r != "x")"#,
    r#"user.roles.exists_one(r, r == "x")"#,
    r#"user.roles.filter(r, r != "x").size() == 1"#,
    r#"["a", "b", "c", "d", "e", "f", "g", "h"].exists(x, x in user.roles)"#,
    r#"request.path.split("/").exists(s, s == "admin")"#,
    r#"request.path.split("/").exists(s, s.startsWith("admin"))"#,
    r#"request.path.split("a", 30).size() == 1"#,
    r#"request.path.matches("^(/[a-z]+)*/[0-9]{4}-(jan|feb|mar)$")"#,
    r#"request.path.matches("(a|b)*c(a|b){5}") || request.path.matches("[x-z]{1,40}$")"#,
    r#"request.path.matches("\\w+@\\w+")"#,
    r#"request.path.lower().contains("admin") || user.name.lower().contains("admin")"#,
    r#"request.path.replace("a", "bb") == "x""#,
    "user.roles.map(r, r).size() == 1",
    r#"request.path.indexOf("aab") == 1"#,
    r#"request.path.reverse().startsWith("x")"#,
    r#"request.path.substring(1).lowerAscii().trim() == "x""#,
    r#"(request.path + request.path + request.path + request.path).contains("x")"#,
    r#"(user.roles + user.roles).size() == 1"#,
    r#"user.roles.join(",").contains("x")"#,
    "user.roles.sort()[0] == user.roles[63]",
    r#"request.path.split("/", 8).distinct().size() == 1"#,
    "user.roles.slice(0, 32).reverse().size() == 1",
    r#""%s %s".format([user.name, request.host]) == "x""#,
    r#"request.address.inNetwork("10.0.0.0/8") || session.address.inNetwork("2001:db8::/32")"#,
    r#"request.path.inNetwork("10.0.0.0/8") || user.name.inNetwork("10.0.0.0/8")"#,
    r#"has(request.path) && has(user.email) && "name" in user"#,
    r#"request.time - user.createdAt > duration("1h") && request.time.getHours("Europe/Berlin") == 3"#,
    r#"timestamp("2027-01-01T00:00:00Z") < request.time && double(request.address) > 1.0"#,
    r#"request.method == "A" || request.method == "B" || request.method == "C" || request.method == "D" ||
       request.host == "a" || request.host == "b" || !(request.scheme == "http") || user.id < user.name"#,
];

impl Conditions {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        println!("{MAX_COST}");
        let mut refused = Vec::new();
        for text in MOST_EXPENSIVE {
            match guard(text) {
                Ok(guard) => println!("{}\t{}", guard.condition.cost(), text.replace('\n', " ")),
                Err(flaw) => refused.push(flaw.to_string()),
            }
        }
        ensure!(refused.is_empty(), "{}", refused.join("\n"));
        Ok(())
    }
}

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
        ensure!(runtime.block_on(doorward.store().grant_role(id.parse()?, &role, NOW))?);
    }
    Ok(runtime.block_on(doorward.caller(token))?)
}

/// A request with the longest path and host that a condition can read.
pub(crate) fn largest_request() -> RequestFacts<'static> {
    let path = format!("/{}", "a".repeat(31)).repeat(32);
    RequestFacts {
        method: Some("PROPPATCH".into()),
        host: Some("h".repeat(255).into()),
        path: Some(path.into()),
        scheme: Some("https".into()),
        address: Some([0x2001, 0xdb8, 1, 2, 3, 4, 5, 6].into()),
        time: NOW,
    }
}
