//! Every action of an administrator, and its doors: the API, the page and the command, as `tests/actions.toml` lists them. The table is
//! complete: a route of the administration that it lacks fails the test, and so does an action that lacks a door.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use doorward::internals::http::routes::routes;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    /// The method and the path of its operation.
    api: String,
    /// Those of its page or form.
    page: Option<String>,
    /// Why it has none.
    no_page: Option<String>,
    /// The words of its command.
    command: String,
    /// The events that it leaves, which `tests/audit/test_orders.py` compares.
    #[serde(rename = "leaves")]
    _leaves: serde::de::IgnoredAny,
}

/// Every action of an administrator, by its name.
fn actions() -> BTreeMap<String, Action> {
    #[derive(Deserialize)]
    struct Tables {
        actions: BTreeMap<String, Action>,
    }
    let tables: Tables = toml::from_str(include_str!("../actions.toml")).unwrap();
    tables.actions
}

#[test]
fn every_action_has_its_doors() {
    let (mut api, mut pages) = (BTreeSet::new(), BTreeSet::new());
    for route in routes() {
        let name = format!("{} {}", route.method.as_str(), route.path);
        if route.path.starts_with("/api/admin/") {
            api.insert(name);
        } else if route.path.starts_with("/admin") {
            pages.insert(name);
        }
    }
    // The empty form of a new user.
    pages.remove("GET /admin/users/new");
    // The same list, which loads itself again.
    pages.remove("GET /admin/refusals/live");
    let actions = actions();
    for (name, action) in &actions {
        assert!(action.page.is_some() != action.no_page.is_some(), "{name}: a page, or why not");
    }
    let in_table: BTreeSet<_> = actions.values().map(|action| action.api.clone()).collect();
    assert_eq!(in_table, api, "the table names every operation of the API");
    let in_table: BTreeSet<_> = actions.values().filter_map(|action| action.page.clone()).collect();
    assert_eq!(in_table, pages, "the table names every page and form");
}

#[test]
fn every_command_of_the_table_exists() {
    for (action, Action { command, .. }) in actions() {
        let mut run = Command::new(env!("CARGO_BIN_EXE_doorward"));
        let done = run.args(command.split(' ')).arg("--help").output().unwrap();
        assert!(done.status.success(), "{action}: doorward {command}");
        let usage = String::from_utf8(done.stdout).unwrap();
        assert!(usage.contains(&format!("Usage: doorward {command}")), "{action}: {usage}");
    }
}
