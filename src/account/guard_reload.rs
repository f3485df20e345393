//! Reading the declared guards and logins again, while requests are served.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Doorward,
    access::guard::GuardSet,
    config::{ReadSettings, SettingsError},
    event::{Administrator, EventKind, Reloaded},
    federation::LoginSet,
};

/// Reads the settings again and replaces all guards and logins.
///
/// # Errors
/// If any setting is invalid. Then no guard and no login is replaced.
pub(crate) fn reload(
    doorward: &Doorward,
    read: &ReadSettings,
    by: &Administrator,
) -> Result<(), SettingsError> {
    /// Otherwise settings that were read earlier could replace those that were read later.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let log = |error: &_| {
        tracing::error!(%error, "guards not reloaded: the previous guards and logins stay in force");
    };
    let settings = read().inspect_err(log)?;
    let (guards, logins) = (Arc::clone(&settings.guards), Arc::clone(&settings.logins));
    guards.log_warnings();
    // The other settings that were read take effect at the next start.
    doorward.settings().log_login_warnings(&logins);
    let of_guards = changes_between(&guards_of(&doorward.guards()), &guards_of(&guards));
    let of_logins = changes_between(&logins_of(&doorward.logins()), &logins_of(&logins));
    doorward.replace_guards(guards);
    doorward.replace_logins(logins);
    let publish = |kind| {
        doorward.events().publish(&doorward.event_by_administrator(by, None, kind));
    };
    publish(EventKind::GuardsReloaded(of_guards));
    if of_logins != Reloaded::default() {
        publish(EventKind::LoginsReloaded(of_logins));
    }
    Ok(())
}

/// Names of declared guards or logins, with the versions of their declarations.
type Versions<'a> = BTreeMap<&'a str, &'a str>;

fn guards_of(guards: &GuardSet) -> Versions<'_> {
    guards.iter().map(|guard| (&*guard.name, &*guard.version)).collect()
}

fn logins_of(logins: &LoginSet) -> Versions<'_> {
    logins.iter().map(|login| (&*login.name, &*login.version)).collect()
}

/// What a reload from one to the other changes.
fn changes_between(before: &Versions<'_>, after: &Versions<'_>) -> Reloaded {
    let names = |of: &Versions<'_>, is_listed: &dyn Fn(&str, &str) -> bool| {
        let listed = of.iter().filter(|(name, version)| is_listed(name, version));
        listed.map(|(name, _)| (*name).to_owned()).collect()
    };
    Reloaded {
        added: names(after, &|name, _| !before.contains_key(name)),
        changed: names(after, &|name, version| {
            before.get(name).is_some_and(|before| *before != version)
        }),
        removed: names(before, &|name, _| !after.contains_key(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn settings(toml: &str) -> Settings {
        let settings = Settings::new().with_toml(toml);
        settings.check().unwrap();
        settings
    }

    fn changes(added: &[&str], changed: &[&str], removed: &[&str]) -> Reloaded {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Reloaded { added: names(added), changed: names(changed), removed: names(removed) }
    }

    #[test]
    fn a_reload_names_the_guards_that_it_adds_changes_and_removes() {
        let set_of = |guards: &[(&str, &str)]| {
            let tables =
                guards.iter().map(|(name, allow)| format!("guards.{name}.allow='{allow}'\n"));
            settings(&tables.collect::<String>()).guards
        };
        let before = set_of(&[("door", "true"), ("gate", "true"), ("old", "true")]);
        let after = set_of(&[("new", "true"), ("gate", "false"), ("door", "true"), ("b", "true")]);
        assert_eq!(
            changes_between(&guards_of(&before), &guards_of(&after)),
            changes(&["b", "new"], &["gate"], &["old"])
        );
        assert_eq!(changes_between(&guards_of(&after), &guards_of(&after)), Reloaded::default());
    }

    #[test]
    fn a_reload_names_the_logins_that_it_adds_changes_and_removes() {
        let set_of = |logins: &[(&str, &str)]| {
            let tables =
                logins.iter().map(|(name, id)| format!("logins.{name}.client_id='{id}'\n"));
            settings(&tables.collect::<String>()).logins
        };
        let before = set_of(&[("google", "a"), ("github", "a")]);
        let after = set_of(&[("google", "b"), ("gitlab", "a")]);
        assert_eq!(
            changes_between(&logins_of(&before), &logins_of(&after)),
            changes(&["gitlab"], &["google"], &["github"])
        );
        assert_eq!(changes_between(&logins_of(&after), &logins_of(&after)), Reloaded::default());
    }
}
