//! `doorward config`: prints the settings in force as a settings file.

use crate::config::{Settings, keys};

/// Prints every setting with its value, in the form of `doorward.toml`.
#[derive(clap::Args)]
pub(super) struct Config {}

impl Config {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        for key in keys() {
            print_line!("{} = {}  # {}", key.name, key.toml_value(settings), key.help());
        }
        Ok(())
    }
}
