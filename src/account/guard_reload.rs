//! Reading the declared guards again, while requests are served.

use std::sync::{Mutex, PoisonError};

use crate::{
    Doorward,
    access::guard::GuardSet,
    config::{ReadSettings, SettingsError},
    event::{Administrator, EventKind},
};

/// Reads the settings again and replaces all guards.
///
/// # Errors
/// If any setting is invalid. Then no guard is replaced.
pub(crate) fn reload(
    doorward: &Doorward,
    read: &ReadSettings,
    by: &Administrator,
) -> Result<(), SettingsError> {
    /// Otherwise settings that were read earlier could replace those that were read later.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let log = |error: &_| {
        tracing::error!(%error, "guards not reloaded: the previous guards stay in force");
    };
    let guards = read().inspect_err(log)?.guards;
    guards.log_warnings();
    let kind = changes(&doorward.guards(), &guards);
    doorward.replace_guards(guards);
    doorward.events().publish(&doorward.event_by_administrator(by, None, kind));
    Ok(())
}

/// The names of the guards that a reload adds, changes and removes.
fn changes(before: &GuardSet, after: &GuardSet) -> EventKind {
    let names = |of: &GuardSet, is_listed: &dyn Fn(&str, &str) -> bool| {
        let listed = of.iter().filter(|guard| is_listed(&guard.name, &guard.version));
        let mut names: Vec<_> = listed.map(|guard| guard.name.clone()).collect();
        names.sort_unstable();
        names
    };
    EventKind::GuardsReloaded {
        added: names(after, &|name, _| before.by_name(name).is_none()),
        changed: names(after, &|name, version| {
            before.by_name(name).is_some_and(|guard| guard.version != version)
        }),
        removed: names(before, &|name, _| after.by_name(name).is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::{Declaration, Guard};

    fn set_of(guards: &[(&str, &str)]) -> GuardSet {
        let mut set = GuardSet::default();
        for (name, allow) in guards {
            let (name, allow) = ((*name).to_owned(), (*allow).to_owned());
            let declared = Guard::declare(Declaration { name, allow, ..Declaration::default() });
            set.add(declared.unwrap_or_else(|_| panic!("is valid")));
        }
        set
    }

    #[test]
    fn a_reload_names_what_it_adds_changes_and_removes() {
        let before = set_of(&[("door", "true"), ("gate", "true"), ("old", "true")]);
        let after = set_of(&[("new", "true"), ("gate", "false"), ("door", "true"), ("b", "true")]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let expected = EventKind::GuardsReloaded {
            added: names(&["b", "new"]),
            changed: names(&["gate"]),
            removed: names(&["old"]),
        };
        assert_eq!(changes(&before, &after), expected);
        let nothing = EventKind::GuardsReloaded { added: vec![], changed: vec![], removed: vec![] };
        assert_eq!(changes(&after, &after), nothing);
    }
}
