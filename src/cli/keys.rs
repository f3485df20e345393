//! `doorward keys …`: the keys that tokens are signed with.

use anyhow::bail;

use super::{Output, block_on, give};
use crate::{
    Settings,
    control::{KeyReport, Order, Report},
    token::signing_keys::KeyStatus,
};

#[derive(clap::Subcommand)]
pub(super) enum Keys {
    /// List the keys and what each is for
    List(Output),
    /// Publish a new key, which signs after token.publish_before_signing; nobody is signed out
    Rotate(Output),
    /// Refuse all tokens of a key from the next request on; another one signs in its place
    Revoke {
        /// The key's id, as `keys list` shows it
        // One in 64 begins with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: String,
        #[command(flatten)]
        output: Output,
    },
}

impl Keys {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let (order, output) = match self {
            Self::List(output) => (Order::Keys, output),
            Self::Rotate(output) => (Order::RotateKeys, output),
            Self::Revoke { kid, output } => (Order::RevokeKey(kid), output),
        };
        let Report::Keys(keys) = block_on(give(settings, order))? else {
            bail!("the running server is of another version");
        };
        if output.json {
            say!("{}", serde_json::to_string_pretty(&keys)?);
            return Ok(());
        }
        for KeyReport { kid, algorithm, stage, until } in &keys {
            let until = until.as_deref().unwrap_or_default();
            say!(
                "{kid}  {algorithm}  {}",
                match stage {
                    KeyStatus::Signing => "signs".to_owned(),
                    KeyStatus::Next => format!("next, signs from {until}"),
                    KeyStatus::Verifying => "verifies".to_owned(),
                    KeyStatus::Retired => format!("retired, verifies until {until}"),
                }
            );
        }
        Ok(())
    }
}
