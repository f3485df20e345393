//! `doorward keys …`: the keys that tokens are signed with.

use super::{Output, block_on, print_json, run, unexpected_reply};
use crate::{
    Settings,
    control::{Command, KeyInfo, Reply},
    token::signing_keys::KeyStatus,
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward keys list
  doorward keys rotate";

#[derive(clap::Subcommand)]
pub(super) enum Keys {
    /// List the keys and what each is used for
    #[command(after_help = "Examples:\n  doorward keys list\n  doorward keys list --json")]
    List(Output),
    /// Publish a new key, which signs after token.publish_before_signing. No session ends
    #[command(after_help = "Examples:\n  doorward keys rotate")]
    Rotate(Output),
    /// Refuse all tokens of a key from the next request on. Another key signs in its place
    #[command(after_help = "Examples:\n  doorward keys revoke 2Rj3wq0bV7mXc1Yt")]
    Revoke {
        /// Id of the key, as `keys list` shows it
        // One id in 64 begins with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: String,
        #[command(flatten)]
        output: Output,
    },
}

impl Keys {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let (command, output) = match self {
            Self::List(output) => (Command::ListKeys, output),
            Self::Rotate(output) => (Command::RotateKeys, output),
            Self::Revoke { kid, output } => (Command::RevokeKey(kid), output),
        };
        let Reply::Keys(keys) = block_on(run(settings, command))? else {
            return Err(unexpected_reply());
        };
        if output.json {
            return print_json(&keys);
        }
        for KeyInfo { kid, algorithm, stage, until } in &keys {
            let until = until.as_deref().unwrap_or_default();
            print_line!(
                "{kid}  {algorithm}  {}",
                match stage {
                    KeyStatus::Signing => "signs".to_owned(),
                    KeyStatus::Next => format!("next, signs from {until}"),
                    KeyStatus::Verifying => "verifies".to_owned(),
                    KeyStatus::Retired => format!("retired, verifies until {until}"),
                    KeyStatus::Refreshing => {
                        format!("retired, refreshes expired tokens until {until}")
                    }
                }
            );
        }
        Ok(())
    }
}
