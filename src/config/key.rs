//! One setting: its name, purpose and values.

use super::{
    Settings, SettingsError,
    value::{NONE, Value},
};

/// One setting.
pub struct Key {
    /// The name in `doorward.toml`; a dot stands for a table.
    pub name: &'static str,
    /// Its purpose, without its bounds.
    pub(super) purpose: &'static str,
    pub(super) value: &'static dyn Value,
}

/// The prefix of all environment variables.
pub(crate) const VARIABLE_PREFIX: &str = "DOORWARD_";

impl Key {
    /// Its purpose and its bounds.
    pub fn help(&self) -> String {
        match self.value.bounds() {
            Some(bounds) => format!("{} ({bounds})", self.purpose),
            None => self.purpose.to_owned(),
        }
    }

    /// The name of its environment variable.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.name.replace('.', "_").to_uppercase())
    }

    /// The name of its flag, without the leading dashes.
    pub fn flag(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }

    /// Its value without any secret part.
    pub fn value(&self, settings: &Settings) -> String {
        self.value.show(settings)
    }

    /// Its value in the syntax of `doorward.toml`.
    pub fn toml_value(&self, settings: &Settings) -> String {
        let value = self.value(settings);
        match self.value.is_list() {
            true if value == NONE => "[]".into(),
            true => format!("{:?}", value.split(' ').collect::<Vec<_>>()),
            false => format!("{value:?}"),
        }
    }

    pub(super) fn is_list(&self) -> bool {
        self.value.is_list()
    }

    /// What is wrong inside a text that [`Self::set`] refuses, and the byte where.
    pub(super) fn fault_in(&self, text: &str) -> Option<(usize, String)> {
        self.value.fault_in(text)
    }

    pub(super) fn is_secret(&self) -> bool {
        self.value.is_secret()
    }

    /// Sets its value. `place` is where the text comes from.
    pub(super) fn set(
        &self,
        settings: &mut Settings,
        text: &str,
        place: &str,
    ) -> Result<(), SettingsError> {
        self.value.set(settings, text).ok_or_else(|| {
            if let Some((at, message)) = self.value.fault_in(text) {
                let character = text[..at].chars().count() + 1;
                return SettingsError::new(format!(
                    "{place}: {message} (at character {character})"
                ));
            }
            if let Some(refusal) = self.value.refusal(text) {
                return SettingsError::new(format!("{place}: {refusal}"));
            }
            // A mistyped database URL may contain a password.
            let shown =
                if self.value.is_secret() { "the value".into() } else { format!("\"{text}\"") };
            let hint = did_you_mean(self.value.suggestion(text));
            SettingsError::new(format!("{place}: {shown} is not {}{hint}", self.value.allowed()))
        })
    }
}

pub(super) fn did_you_mean(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!(": did you mean {meant}?"))
}
