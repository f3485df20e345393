//! `doorward keys …`: the keys that tokens are signed with.

use axum::http::Method;

use super::{Output, block_on, or_not_found, print_json, within};
use crate::{
    Settings,
    control::AdminClient,
    http::api::admin::signing_keys::{SigningKey, SigningKeys},
    token::signing_keys::KeyStatus,
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward keys list
  doorward keys rotate";

const PATH: &str = "/api/admin/signing-keys";

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
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        !matches!(self, Self::List(_))
    }

    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let (method, path, output) = match self {
            Self::List(output) => (Method::GET, PATH.to_owned(), output),
            Self::Rotate(output) => (Method::POST, PATH.to_owned(), output),
            Self::Revoke { kid, output } => (Method::DELETE, within(PATH, &kid), output),
        };
        let ordered = block_on(async {
            let client = AdminClient::open(settings).await?;
            Ok(client.order(method, &path, &()).await)
        })?;
        let SigningKeys { signing_keys: keys } =
            or_not_found(ordered, "there is no such key: `doorward keys list` shows all keys")?;
        if output.json {
            return print_json(&keys);
        }
        for SigningKey { kid, algorithm, stage, until } in &keys {
            let until = until.map(|until| until.to_string()).unwrap_or_default();
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
