//! What tests expect orders and commands to leave in the audit trail: `tests/actions.toml`, which `tests/audit/test_orders.py` compares
//! with what they leave.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::EventName;

#[derive(serde::Deserialize)]
struct Tables {
    actions: BTreeMap<String, Action>,
    /// What is left by each command that is no action of an administrator.
    commands: BTreeMap<String, Leaves>,
}

#[derive(serde::Deserialize)]
struct Action {
    command: String,
    leaves: Leaves,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Leaves {
    Kinds(Vec<String>),
    /// Why it leaves nothing.
    Nothing(String),
}

/// The commands in the file, each of which leaves an event or says why it leaves none.
pub fn commands() -> BTreeSet<String> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/actions.toml");
    let text = &std::fs::read_to_string(file).unwrap();
    let Tables { actions, commands } = toml::from_str(text).unwrap();
    let of_actions = actions.into_values().map(|action| (action.command, action.leaves));
    let all = of_actions.chain(commands);
    all.map(|(command, leaves)| {
        match leaves {
            Leaves::Kinds(kinds) => assert!(
                !kinds.is_empty() && kinds.iter().all(|kind| EventName::parse(kind).is_some()),
                "{command}"
            ),
            Leaves::Nothing(reason) => assert!(reason.len() > 10, "{command}"),
        }
        command
    })
    .collect()
}
