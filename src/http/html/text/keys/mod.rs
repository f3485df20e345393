//! The words of the page about API keys.

pub(super) mod de;
pub(super) mod en;

/// The texts about API keys in one language.
pub struct KeyTexts {
    pub keys: &'static str,
    /// The words of the link to the page, and what it is for.
    pub show_keys: &'static str,
    pub keys_explanation: &'static str,
    pub new_key: &'static str,
    pub explanation: &'static str,
    pub no_apps: &'static str,
    pub name_hint: &'static str,
    pub for_app: &'static str,
    pub every_app: &'static str,
    pub valid_for: &'static str,
    pub days: fn(u64) -> String,
    pub create: &'static str,
    pub made: &'static str,
    pub how_to_use: &'static str,
    pub your_keys: &'static str,
    pub your_keys_explanation: &'static str,
    pub no_keys: &'static str,
    pub more_keys: &'static str,
    /// The time.
    pub expired: fn(&str) -> String,
    pub revoked: fn(&str) -> String,
    /// With the name of the key.
    pub revoke_key: fn(&str) -> String,
}
