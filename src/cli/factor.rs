//! `doorward user factor …`: the second factors of a user, and the way back for one who has lost all of them.

use serde::Serialize;

use super::{print_json, run, unexpected_reply, user_arguments::UserArguments};
use crate::{
    Settings,
    control::{Command, FactorInfo, FactorResetInfo, Reply, TrustedDeviceInfo, UserInfo, UserRef},
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
struct Held {
    factors: Vec<FactorInfo>,
    recovery_codes: usize,
    trusted_devices: Vec<TrustedDeviceInfo>,
}

/// A link as JSON.
#[derive(Serialize)]
struct NewLink<'a> {
    link: Option<&'a str>,
    secret: &'a str,
}

impl Factor {
    pub(super) async fn run(self, settings: Settings) -> anyhow::Result<()> {
        match self {
            Self::List(UserArguments { user, output }) => {
                let command = Command::ShowUser(UserRef(user));
                let Reply::User(UserInfo { factors, recovery_codes, trusted_devices, .. }) =
                    run(settings, command).await?
                else {
                    return Err(unexpected_reply());
                };
                let (factors, recovery_codes, trusted_devices) = (
                    factors.unwrap_or_default(),
                    recovery_codes.unwrap_or_default(),
                    trusted_devices.unwrap_or_default(),
                );
                if output.json {
                    return print_json(&Held { factors, recovery_codes, trusted_devices });
                }
                factors.iter().for_each(|factor| print_line!("{}", factor_in_words(factor)));
                if factors.is_empty() {
                    eprint_line!("no second factors");
                    return Ok(());
                }
                print_line!("recovery codes  {recovery_codes}");
                for device in &trusted_devices {
                    print_line!("trusted device  {}", device_in_words(device));
                }
            }
            Self::Reset(UserArguments { user, output }) => {
                let Reply::FactorReset(FactorResetInfo { link, secret }) =
                    run(settings, Command::CreateFactorReset(UserRef(user))).await?
                else {
                    return Err(unexpected_reply());
                };
                let link = link.as_ref().map(|link| link.as_str());
                match output.json {
                    true => print_json(&NewLink { link, secret: secret.as_str() })?,
                    false => print_line!("{}", link.unwrap_or(secret.as_str())),
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
    let used = last_used_at.as_deref().unwrap_or("never");
    format!("{:<7}{name}  since {created_at}, last used {used}", kind.name())
}

/// A trusted browser in a line.
pub(super) fn device_in_words(device: &TrustedDeviceInfo) -> String {
    let TrustedDeviceInfo { address, user_agent, created_at, expires_at } = device;
    let program = if user_agent.is_empty() { "an unknown program" } else { user_agent };
    format!("since {created_at}, until {expires_at}, from {address} with {program}")
}
