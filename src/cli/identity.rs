//! `doorward user logins …`: the accounts of a user at other providers.

use axum::http::Method;
use serde::Serialize;

use super::{
    Output, or_not_found, print_json,
    user_arguments::{of_known_user, path_below},
    within,
};
use crate::{
    Settings, account::identity_list::IdentityInfo, control::AdminClient,
    http::api::admin::identities::Identities,
};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward user logins ada@example.com
  doorward user logins ada@example.com --remove 0190a0a0-0000-4000-8000-00000000000a")]
pub(super) struct Logins {
    /// E-mail address or id
    user: String,
    /// Remove the account with this id, also if it is the last way to sign in; sessions in which they have signed in with a provider end. Can be repeated
    #[arg(long, value_name = "ID")]
    remove: Vec<String>,
    #[command(flatten)]
    output: Output,
}

/// How many accounts were removed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Removed {
    identities_removed: usize,
}

impl Logins {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        !self.remove.is_empty()
    }

    pub(super) async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { user, remove, output } = self;
        let (client, path) = (AdminClient::open(settings).await?, path_below(&user, "identities"));
        let Identities { identities } = of_known_user(client.get(&path).await)?;
        for id in &remove {
            let removed = client.order(Method::DELETE, &within(&path, id), &()).await;
            let () = or_not_found(
                removed,
                "the user has no such account: `doorward user logins USER` shows all",
            )?;
            if !output.json {
                print_line!("{id}  removed");
            }
        }
        match (remove.is_empty(), output.json) {
            (false, true) => return print_json(&Removed { identities_removed: remove.len() }),
            (false, false) => return Ok(()),
            (true, true) => return print_json(&identities),
            (true, false) => {}
        }
        for identity in &identities {
            print_line!("{}  {}", identity.id, in_words(identity));
        }
        if identities.is_empty() {
            eprint_line!("no accounts at other providers");
        }
        Ok(())
    }
}

/// An account at another provider in a line.
pub(super) fn in_words(identity: &IdentityInfo) -> String {
    let IdentityInfo { login, display, created_at, last_used_at, .. } = identity;
    let used = last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
    format!("{login}  {display}  since {created_at}, last used {used}")
}
