//! `doorward config`: prints the settings in force as a settings file, or as JSON with the source of each value.

use serde::Serialize;

use super::{Output, exit_code::NotFound, print_json};
use crate::config::{FACTOR_KINDS, Key, Origin, Origins, Settings, keys};

/// Print the settings in force, their meaning and where each comes from
#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward config
  doorward config token --sources
  doorward config --json")]
pub(super) struct Config {
    /// Only settings with this text in their name
    text: Option<String>,
    /// Show where each value comes from instead of what it means
    #[arg(long)]
    sources: bool,
    #[command(flatten)]
    output: Output,
}

/// A setting as JSON.
#[derive(Serialize)]
struct Setting {
    name: &'static str,
    /// Without any secret part.
    value: String,
    default: String,
    /// `default`, `file`, `variable` or `flag`.
    source: &'static str,
    /// The line of the file, the variable or the flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    variable: String,
    flag: String,
    meaning: String,
    /// Why it does not do what one may expect.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Config {
    pub(super) fn run(self, settings: &Settings, origins: &Origins) -> anyhow::Result<()> {
        let text = self.text.unwrap_or_default();
        // As a flag, so that both spellings of a name are found.
        let flag = text.replace(['.', '_'], "-");
        let chosen: Vec<_> = keys().filter(|key| key.flag().contains(&flag)).collect();
        if chosen.is_empty() {
            let message =
                format!("no setting has {text} in its name: `doorward config` shows all settings");
            return Err(NotFound(message).into());
        }
        if self.output.json {
            let all: Vec<_> =
                chosen.into_iter().map(|key| setting(key, settings, origins)).collect();
            return print_json(&all);
        }
        for key in chosen {
            let comment = if self.sources { origins.of(key).to_string() } else { key.help() };
            let note = note(key, settings).map_or_else(String::new, |note| format!("; {note}"));
            print_line!("{} = {}  # {comment}{note}", key.name, key.toml_value(settings));
        }
        Ok(())
    }
}

fn setting(key: &Key, settings: &Settings, origins: &Origins) -> Setting {
    let origin = origins.of(key);
    Setting {
        name: key.name,
        value: key.value(settings),
        default: key.value(&Settings::default()),
        source: origin.kind(),
        place: (origin != Origin::Default).then(|| origin.to_string()),
        variable: key.variable(),
        flag: format!("--{}", key.flag()),
        meaning: key.help(),
        note: note(key, settings),
    }
}

/// Why a setting does not do what one may expect.
fn note(key: &Key, settings: &Settings) -> Option<String> {
    let reason = settings.lacks_passkeys_because().filter(|_| key.name == FACTOR_KINDS)?;
    Some(format!("passkeys are not offered, because {reason}"))
}
