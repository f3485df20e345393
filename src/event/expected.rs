//! What tests expect orders and commands to leave in the audit trail: `tests/audit/orders.toml`, which `tests/audit/test_orders.py`
//! compares with what they leave.

use std::collections::{BTreeMap, BTreeSet};

use super::EventName;

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Leaves {
    Kinds(Vec<String>),
    /// Why it leaves nothing.
    Nothing(String),
}

/// The names in a table of the file, each of which leaves an event or says why it leaves none.
pub fn names_of(table: &str) -> BTreeSet<String> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/orders.toml");
    let text = &std::fs::read_to_string(file).unwrap();
    let mut tables: BTreeMap<String, BTreeMap<String, Leaves>> = toml::from_str(text).unwrap();
    let all = tables.remove(table).unwrap();
    for (name, leaves) in &all {
        match leaves {
            Leaves::Kinds(kinds) => assert!(
                !kinds.is_empty() && kinds.iter().all(|kind| EventName::parse(kind).is_some()),
                "{name}"
            ),
            Leaves::Nothing(reason) => assert!(reason.len() > 10, "{name}"),
        }
    }
    all.into_keys().collect()
}
