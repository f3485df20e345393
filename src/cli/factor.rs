//! `doorward user factor …`: the second factors of a user, and the way back for one who has lost all of them.

use axum::http::Method;
use serde::Serialize;

use super::{
    print_json,
    user_arguments::{UserArguments, of_known_user, path_below, path_of},
};
use crate::{
    Settings,
    account::factor_list::{FactorInfo, TrustedDeviceInfo},
    control::AdminClient,
    http::api::admin::{
        credentials::FactorReset,
        users::{Held, UserInfo},
    },
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward user factor list ada@example.com
  doorward user factor reset ada@example.com";

#[derive(clap::Subcommand)]
pub(super) enum Factor {
    /// List the second factors of a user, the number of their recovery codes, and the browsers that they trust
    #[command(after_help = "Examples:\n  doorward user factor list ada@example.com")]
    List(UserArguments),
    /// Print a link with which the user can remove all their second factors, once within 30 minutes. Whoever has a password
    /// needs it, too. The user is told by mail
    #[command(after_help = "Examples:\n  doorward user factor reset ada@example.com")]
    Reset(UserArguments),
}

/// What a user holds, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HeldFactors<'a> {
    factors: &'a [FactorInfo],
    recovery_codes: usize,
    trusted_devices: &'a [TrustedDeviceInfo],
}

impl Factor {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        matches!(self, Self::Reset(_))
    }

    pub(super) async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let client = AdminClient::open(settings).await?;
        match self {
            Self::List(UserArguments { user, output }) => {
                let user: UserInfo = of_known_user(client.get(&path_of(&user)).await)?;
                let Some(Held { factors, recovery_codes, trusted_devices, .. }) = &user.held else {
                    anyhow::bail!(
                        "the answer has no factors: does the running server have another version?"
                    );
                };
                if output.json {
                    let recovery_codes = *recovery_codes;
                    return print_json(&HeldFactors { factors, recovery_codes, trusted_devices });
                }
                factors.iter().for_each(|factor| print_line!("{}", factor_in_words(factor)));
                if factors.is_empty() {
                    eprint_line!("no second factors");
                    return Ok(());
                }
                print_line!("recovery codes  {recovery_codes}");
                for device in trusted_devices {
                    print_line!("trusted device  {}", device_in_words(device));
                }
            }
            Self::Reset(UserArguments { user, output }) => {
                let path = path_below(&user, "factor-reset");
                let made = client.order(Method::POST, &path, &()).await;
                let reset: FactorReset = of_known_user(made)?;
                match output.json {
                    true => print_json(&reset)?,
                    false => {
                        print_line!("{}", reset.link.as_ref().unwrap_or(&reset.secret).as_str())
                    }
                }
            }
        }
        Ok(())
    }
}

/// A second factor in a line.
pub(super) fn factor_in_words(factor: &FactorInfo) -> String {
    let FactorInfo { kind, name, created_at, last_used_at } = factor;
    let name = name.as_deref().map(|name| format!("  {name}")).unwrap_or_default();
    let used = last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
    format!("{:<7}{name}  since {created_at}, last used {used}", kind.name())
}

/// A trusted browser in a line.
pub(super) fn device_in_words(device: &TrustedDeviceInfo) -> String {
    let TrustedDeviceInfo { address, user_agent, created_at, expires_at } = device;
    let program = if user_agent.is_empty() { "an unknown program" } else { user_agent };
    format!("since {created_at}, until {expires_at}, from {address} with {program}")
}
