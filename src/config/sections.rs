//! The table of all settings.

use super::{
    SettingsError, audit, branding, clients, cors, database, designated,
    key::{Key, did_you_mean},
    limits, log, mail, metrics, password, proxies, registration, server, session, sign_in,
    throttle, tls, token,
};
use crate::spelling;

/// All settings by section, in the order of the help text.
static SECTIONS: [&[Key]; 19] = [
    server::KEYS,
    tls::KEYS,
    database::KEYS,
    token::KEYS,
    session::KEYS,
    designated::KEYS,
    password::KEYS,
    throttle::KEYS,
    limits::KEYS,
    clients::KEYS,
    cors::KEYS,
    proxies::KEYS,
    branding::KEYS,
    registration::KEYS,
    mail::KEYS,
    sign_in::KEYS,
    audit::KEYS,
    log::KEYS,
    metrics::KEYS,
];

/// All settings, in the order of the help text.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().copied().flatten()
}

/// The setting with this name, or an error that suggests one.
pub(super) fn key_by_name(name: &str) -> Result<&'static Key, SettingsError> {
    keys().find(|key| key.name == name).ok_or_else(|| {
        let hint = || did_you_mean(spelling::suggest(name, keys().map(|key| key.name)));
        let hint = misspelt_table(name).or_else(|| misplaced(name)).unwrap_or_else(hint);
        SettingsError::new(format!("{name}: unknown setting{hint}"))
    })
}

/// What was meant by a table such as `[login.google]`.
fn misspelt_table(name: &str) -> Option<String> {
    let (table, rest) = name.split_once('.')?;
    let (own_name, _) = rest.split_once('.')?;
    let meant = spelling::suggest(table, ["guards", "logins"].into_iter())?;
    Some(format!(": did you mean [{meant}.{own_name}]?"))
}

/// What to do about a setting that stands in a table to which it does not belong: in TOML everything below `[table]` is in it.
fn misplaced(name: &str) -> Option<String> {
    let (table, setting) = name.split_once('.')?;
    Some(match is_setting_of_file(setting) {
        true => format!(": {setting} is not in [{table}]: {}", move_up(setting)),
        // A table in a table.
        false => return misplaced(setting),
    })
}

/// Where a setting belongs that stands below a table which does not have it.
pub(super) fn move_up(setting: &str) -> String {
    match setting.split_once('.') {
        None => "move it above the first [table]".into(),
        Some((table, setting)) => {
            format!("move it above the first [table], or write {setting} below [{table}]")
        }
    }
}

/// Whether a file can have this setting outside of all tables.
pub(super) fn is_setting_of_file(name: &str) -> bool {
    keys().any(|key| key.name == name)
}
