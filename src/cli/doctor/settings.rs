//! The settings: whether they can be used, and whether the running server has them.

use std::ffi::OsString;

use super::finding::{Kind, Report};
use crate::{
    Settings,
    account::status::Status,
    config::{Origins, Sources, VARIABLE_PREFIX, keys, unprefixed_variables},
};

/// Reads the settings. `None` if that is not possible: then nothing else can be checked.
pub(super) fn read(report: &mut Report, sources: Sources) -> Option<(Settings, Origins)> {
    let environment = sources.environment.clone();
    let ignored = ignored_variables(&environment);
    match Settings::with_origins(sources) {
        Ok((settings, origins)) => {
            report.checked(match &origins.file {
                Some(file) => format!("settings, with {}", file.display()),
                None => "settings, without a file".to_owned(),
            });
            for name in ignored {
                report.add(
                    Kind::VariableIgnored,
                    format!(
                        "the variable {name} is not read: it does not start with {VARIABLE_PREFIX}"
                    ),
                    format!("rename it to start with {VARIABLE_PREFIX}, or remove it"),
                );
            }
            for (name, key) in unprefixed_variables(&environment, &origins) {
                let variable = key.variable();
                report.add(
                    Kind::VariableIgnored,
                    format!("the variable {name} is not read: it does not start with {VARIABLE_PREFIX}"),
                    format!(
                        "if it is for Doorward, rename it to {variable}; if it is for another program, set {} in the settings \
                         file, and this is not mentioned again",
                        key.name
                    ),
                );
            }
            Some((settings, origins))
        }
        Err(error) => {
            report.add(
                Kind::SettingsInvalid,
                error.to_string(),
                "correct it; `doorward config` lists and explains all settings",
            );
            None
        }
    }
}

/// Variables that look like a setting and are not read as one.
fn ignored_variables(environment: &[(OsString, OsString)]) -> Vec<String> {
    let names = environment.iter().filter_map(|(name, _)| name.to_str());
    let looks_like_ours = |name: &&str| {
        !name.starts_with(VARIABLE_PREFIX)
            && name.to_uppercase().starts_with(VARIABLE_PREFIX.trim_end_matches('_'))
    };
    // The name of the program alone, such as in a path, is not a setting.
    let is_longer = |name: &&str| name.len() > VARIABLE_PREFIX.len();
    names.filter(looks_like_ours).filter(is_longer).map(str::to_owned).collect()
}

/// Checks lifetimes that depend on each other.
pub(super) fn check_lifetimes(report: &mut Report, settings: &Settings) {
    let (token, session) = (settings.token.lifetime, settings.session_lifetime);
    if token > session {
        let value = |name| keys().find(|key| key.name == name).map(|key| key.value(settings));
        let [token, session] =
            ["token.lifetime", "session.lifetime"].map(|name| value(name).unwrap_or_default());
        report.add(
            Kind::TokenLifetime,
            format!("token.lifetime is {token}, but tokens end with their session, which session.lifetime ends after {session}"),
            "let token.lifetime be shorter: a token is refreshed for as long as its session lasts",
        );
    }
}

/// Says whether passkeys are offered. It is not wrong to do without them.
pub(super) fn check_passkeys(report: &mut Report, settings: &Settings) {
    if let Some(party) = settings.passkey_relying_party(settings.listen) {
        report.checked(format!("passkeys are offered for the domain {}", party.id));
    } else if let Some(reason) = settings.lacks_passkeys_because() {
        report.note(format!("passkeys are not offered, because {reason}"));
    }
}

/// Compares the settings with those of the running server.
pub(super) fn compare(report: &mut Report, settings: &Settings, running: &Status) {
    report.checked("the running server has these settings");
    for key in keys() {
        let Some(value) = running.settings.get(key.name) else { continue };
        let wanted = key.value(settings);
        if *value != wanted {
            report.add(
                Kind::SettingsChanged,
                format!("the running server has {} = {value}, these settings say {wanted}", key.name),
                "restart the server to apply it, or run this command with the settings of the server",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_prefix_is_found() {
        let names = ["doorward_listen", "DOORWARDLISTEN", "DOORWARD", "DOORWARD_LISTEN", "HOME"];
        let environment = names.map(|name| (name.into(), "x".into()));
        assert_eq!(ignored_variables(&environment), ["doorward_listen", "DOORWARDLISTEN"]);
    }
}
