//! `doorward client …`: OAuth clients, which may introspect and revoke tokens.

use serde::Serialize;

use super::{Output, print_json};
use crate::{
    Settings,
    config::SettingsError,
    credential::oauth_client::{ClientSecret, OAuthClient},
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward client secret gateway";

#[derive(clap::Subcommand)]
pub(super) enum Client {
    /// Print a new secret for a client, and the setting that registers the client
    #[command(
        after_help = "Examples:\n  doorward client secret gateway\n  doorward client secret gateway --json"
    )]
    Secret {
        /// Name of the client
        name: String,
        #[command(flatten)]
        output: Output,
    },
}

/// A new secret as JSON.
#[derive(Serialize)]
struct NewSecret<'a> {
    name: &'a str,
    secret: &'a str,
    /// The value of the setting `clients`.
    clients: &'a [String],
}

impl Client {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self::Secret { name, output } = self;
        let secret = ClientSecret::random();
        let Some(client) = OAuthClient::new(&name, &secret) else {
            return Err(SettingsError::new(format!(
                "\"{name}\" is not a client name: use 1 to 64 letters, digits and - _ ."
            ))
            .into());
        };
        let clients = settings.clients.with(client);
        let clients: Vec<_> = clients.iter().map(ToString::to_string).collect();
        if output.json {
            return print_json(&NewSecret {
                name: &name,
                secret: secret.as_str(),
                clients: &clients,
            });
        }
        print_line!("The secret of {name}, shown only once:\n\n  {}\n", secret.as_str());
        print_line!("Set this in doorward.toml and restart the server:\n");
        print_line!("  clients = {clients:?}");
        Ok(())
    }
}
