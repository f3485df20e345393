//! Settings for an app that embeds Doorward: read as the binary reads them, or set by their names.

use std::{fmt::Display, path::Path};

use super::{Settings, SettingsError, Sources, file::SettingsFile, sections::key_by_name};

/// Reads settings.
impl Settings {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the settings as the command `doorward` does: from the file that `DOORWARD_CONFIG` names, or `doorward.toml` in
    /// the current folder, or `/etc/doorward/doorward.toml`, and from the variables `DOORWARD_…`, which override the file.
    ///
    /// # Errors
    /// For the first setting that is unknown or cannot be used.
    pub fn load() -> Result<Self, SettingsError> {
        Self::from_sources(Sources::from_process(Vec::new(), None))
    }

    /// Reads the settings from a file with the syntax of `doorward.toml`. The environment is ignored.
    ///
    /// # Errors
    /// If the file cannot be read, or for the first setting in it that is unknown or cannot be used.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SettingsError> {
        let file = Some(path.as_ref().to_owned());
        Self::from_sources(Sources { flags: Vec::new(), file, environment: Vec::new() })
    }

    /// Applies a text with the syntax of `doorward.toml`. Its `[guards]` replace those declared before, and so do its
    /// `[logins]`.
    #[must_use]
    pub fn with_toml(self, text: &str) -> Self {
        self.change(|settings| settings.apply_file(&SettingsFile::from_text(text)).map(drop))
    }

    /// Sets a setting by its name in `doorward.toml`, such as `("limits.body", "128KiB")`. The items of a list are separated by
    /// spaces.
    #[must_use]
    pub fn with(self, name: &str, value: impl Display) -> Self {
        self.change(|settings| key_by_name(name)?.set(settings, &value.to_string(), name))
    }

    fn change(mut self, change: impl FnOnce(&mut Self) -> Result<(), SettingsError>) -> Self {
        if let Err(refused) = change(&mut self) {
            self.refused.get_or_insert(refused);
        }
        self
    }
}

/// For Doorward's own tests and benchmarks.
#[cfg(feature = "internals")]
impl Settings {
    /// This cost for password hashes, which may be below the bounds, and one thread.
    #[must_use]
    pub fn with_cheap_passwords(mut self, cost: super::Cost) -> Self {
        self.password_cost = cost;
        self.password_threads = std::num::NonZeroUsize::MIN;
        self
    }

    /// The last path segment of the designated route.
    pub fn designated_segment(&self) -> &str {
        &self.designated_segment
    }

    pub fn guards(&self) -> std::sync::Arc<crate::access::guard::GuardSet> {
        std::sync::Arc::clone(&self.guards)
    }

    pub fn database(&self) -> &super::DatabaseUrl {
        &self.database
    }

    /// Another database, whose URL may have a password.
    #[must_use]
    pub fn with_database(mut self, database: super::DatabaseUrl) -> Self {
        self.database = database;
        self
    }
}
