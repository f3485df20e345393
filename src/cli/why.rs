//! `doorward why`: explains a refusal by its id, and lists what was refused to a user.

use super::{
    Output, block_on, no_such_user, or_not_found, print_explanation, print_headers, print_json,
    within,
};
use crate::{
    Settings,
    access::refusals::Refusal,
    account::refused::{
        BudgetState, NetworkBudgetState, RecentRefusal, RecentRefusals, RefusedAction,
        ThrottleState,
    },
    control::{self, AdminClient},
};

#[derive(clap::Args)]
#[command(
    override_usage = "doorward why [OPTIONS] <ID>\n       doorward why [OPTIONS] --user <ADDRESS|ID>"
)]
#[command(after_help = "Examples:
  doorward why 7f3c9a51e0b24d68
  doorward why --user ada@example.com --json")]
pub(super) struct Why {
    /// X-Decision-Id of the refusal
    #[arg(required_unless_present = "user")]
    id: Option<String>,
    /// List failed logins and refusals of a user
    #[arg(long, value_name = "ADDRESS|ID", conflicts_with = "id")]
    user: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Why {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let open = || AdminClient::open_server(settings, control::Error::NothingInMemory);
        if let Some(id) = self.id {
            let path = within("/api/admin/refusals", &id);
            let shown = block_on(async { Ok(open().await?.get(&path).await) })?;
            let unknown =
                "there is no such refusal: the server keeps only the latest ones, until it stops";
            let refusal: Refusal = or_not_found(shown, unknown)?;
            if self.output.json {
                return print_json(&refusal);
            }
            print(&refusal);
            return Ok(());
        }
        let user = self.user.unwrap_or_default();
        let path = format!("{}/refusals", within("/api/admin/users", &user));
        let listed = block_on(async { Ok(open().await?.get(&path).await) })?;
        let recent: RecentRefusals = match listed {
            Err(error) if error.is_not_found() => return Err(no_such_user()),
            listed => listed?,
        };
        if self.output.json {
            return print_json(&recent);
        }
        print_recent(&recent);
        Ok(())
    }
}

fn print_recent(RecentRefusals { user, disabled, throttle, refused }: &RecentRefusals) {
    match (user, disabled) {
        (Some(user), false) => print_line!("user  {user}"),
        (Some(user), true) => print_line!("user  {user}, disabled"),
        (None, _) => print_line!("user  nobody has this address"),
    }
    let ThrottleState { from_everywhere, from_networks } = throttle;
    print_line!("failed logins that count  {}", used(from_everywhere));
    for NetworkBudgetState { network, is_known, budget } in from_networks {
        let known = if *is_known { ", a known network" } else { "" };
        print_line!("  from {network}{known}  {}", used(budget));
    }
    if refused.is_empty() {
        print_line!("nothing was refused recently; the server keeps only the latest refusals");
    }
    for RecentRefusal { refused_at, action } in refused {
        let time = refused_at.to_exact_text();
        match action {
            RefusedAction::Login { reason, network } => {
                print_line!("{time}  login  {reason}, from {network}");
            }
            RefusedAction::Guard { guard, decision, only_reported } => {
                let outcome = if *only_reported { " (only reported)" } else { "" };
                print_line!("{time}  guard  {guard}{outcome}: doorward why {decision}");
            }
        }
    }
}

fn used(BudgetState { used, size, recovers_at }: &BudgetState) -> String {
    let until = recovers_at.as_ref().map(|at| format!(", the last until {at}")).unwrap_or_default();
    format!("{used} of {size}{until}")
}

fn print(refusal: &Refusal) {
    let Refusal {
        id: _,
        refused_at,
        guard,
        version,
        only_reported,
        token,
        user,
        key,
        condition,
        explanation,
        proxy_address,
        missing,
        headers,
    } = refusal;
    print_line!("time       {}", refused_at.to_exact_text());
    match version {
        Some(version) => print_line!("guard      {guard} (version {version})"),
        None => print_line!("guard      {guard}"),
    }
    if *only_reported {
        print_line!("outcome    admitted, because the guard only reports; otherwise refused");
    } else if let Some(missing) = missing {
        print_line!("outcome    refused: {}", missing.sentence());
    } else {
        print_line!("outcome    refused");
    }
    print_line!("token      {token}");
    if let Some(user) = user {
        print_line!("user       {user}");
    }
    if let Some(key) = key {
        print_line!("API key    {key}");
    }
    if let (Some(condition), Some(explanation)) = (condition, explanation) {
        print_line!("condition  {condition}\n");
        print_explanation(explanation, true);
    }
    if let Some(address) = proxy_address {
        print_line!(
            "\nrequest.address was {address}, the address of the proxy itself: the guard names no proxy, so it does not read whom the \
             proxy has sent the request for\nset proxy = \"nginx\" (or traefik, caddy, haproxy, envoy) at the guard, and list the proxy \
             in trusted_proxies"
        );
    }
    print_headers(headers);
}
