//! The table of all settings.

use super::{
    SettingsError, branding, clients, database, designated,
    key::{Key, did_you_mean},
    limits, log, mail, metrics, password, proxies, registration, server, session, throttle, tls,
    token,
};
use crate::spelling;

/// All settings by section, in the order of the help text.
static SECTIONS: [&[Key]; 16] = [
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
    proxies::KEYS,
    branding::KEYS,
    registration::KEYS,
    mail::KEYS,
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
        let hint = did_you_mean(spelling::suggest(name, keys().map(|key| key.name)));
        SettingsError::new(format!("{name}: unknown setting{hint}"))
    })
}
