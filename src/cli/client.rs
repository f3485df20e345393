//! `doorward client …`: OAuth clients, which may introspect and revoke tokens.

use anyhow::bail;

use crate::{
    Settings,
    credential::oauth_client::{ClientSecret, OAuthClient},
};

#[derive(clap::Subcommand)]
pub(super) enum Client {
    /// Print a new secret for a client, and the setting that registers the client
    Secret {
        /// Name of the client
        name: String,
    },
}

impl Client {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self::Secret { name } = self;
        let secret = ClientSecret::random();
        let Some(client) = OAuthClient::new(&name, &secret) else {
            bail!("\"{name}\" is not a client name: use 1 to 64 letters, digits and - _ .");
        };
        print_line!("The secret of {name}, shown only once:\n\n  {}\n", secret.as_str());
        print_line!("Set this in doorward.toml and restart the server:\n");
        let clients = settings.clients.with(client);
        let clients: Vec<_> = clients.iter().map(ToString::to_string).collect();
        print_line!("  clients = {clients:?}");
        Ok(())
    }
}
