//! `doorward client …`: other programs that may ask about tokens.

use anyhow::bail;

use crate::{
    Settings,
    credential::oauth_client::{ClientSecret, OAuthClient},
};

#[derive(clap::Subcommand)]
pub(super) enum Client {
    /// Print a new secret for a client, and the setting with which the server knows it
    Secret {
        /// What the client is called
        name: String,
    },
}

impl Client {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self::Secret { name } = self;
        let secret = ClientSecret::random();
        let Some(client) = OAuthClient::new(&name, &secret) else {
            bail!("\"{name}\" is not a name for a client: 1 to 64 letters, digits and - _ .");
        };
        say!("The secret of {name}, shown only here:\n\n  {}\n", secret.as_str());
        say!("The line for doorward.toml, in force after a restart:\n");
        let clients = settings.clients.with(client);
        let clients: Vec<_> = clients.iter().map(ToString::to_string).collect();
        say!("  clients = {clients:?}");
        Ok(())
    }
}
