//! `doorward why`: the reason for a refusal, by the id that it carried, and what was refused to a user.

use anyhow::bail;
use chrono::DateTime;

use super::{block_on, give, print_explanation};
use crate::{
    Settings,
    access::refusals::Refusal,
    control::{Order, RefusedAction, RefusedLately, RefusedUser, Report, Who},
};

#[derive(clap::Args)]
pub(super) struct Why {
    /// The X-Decision-Id of the refusal
    #[arg(required_unless_present = "user")]
    id: Option<String>,
    /// List what was refused to a user lately: failed logins and refusals by guards
    #[arg(long, value_name = "ADDRESS|ID", conflicts_with = "id")]
    user: Option<String>,
}

impl Why {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let order = match (self.id, self.user) {
            (Some(id), _) => Order::Why(id),
            (None, who) => Order::WhyUser(Who(who.unwrap_or_default())),
        };
        match block_on(give(settings, order))? {
            Report::Refusal(refusal) => print(&refusal),
            Report::RefusedUser(refused) => print_user(&refused),
            _ => bail!("the running server is of another version"),
        }
        Ok(())
    }
}

fn print_user(RefusedUser { user, disabled, refused }: &RefusedUser) {
    match (user, disabled) {
        (Some(user), false) => say!("user  {user}"),
        (Some(user), true) => say!("user  {user}, disabled"),
        (None, _) => say!("user  none has this address"),
    }
    if refused.is_empty() {
        say!("nothing was refused lately; only the latest refusals are remembered");
    }
    for RefusedLately { time, action } in refused {
        let time = written(*time);
        match action {
            RefusedAction::Login { reason, network } => {
                say!("{time}  login  {reason}, from {network}");
            }
            RefusedAction::Guard { guard, decision, only_reported } => {
                let outcome = if *only_reported { " (only reported)" } else { "" };
                say!("{time}  guard  {guard}{outcome}: doorward why {decision}");
            }
        }
    }
}

fn written(time: i64) -> String {
    let time = DateTime::from_timestamp_millis(time).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string()
}

fn print(refusal: &Refusal) {
    let Refusal { id: _, time, guard, version, only_reported, token, user, condition, explanation } =
        refusal;
    say!("time       {}", written(*time));
    match version {
        Some(version) => say!("guard      {guard} (version {version})"),
        None => say!("guard      {guard}"),
    }
    if *only_reported {
        say!("outcome    admitted, because the guard only reports; otherwise refused");
    } else {
        say!("outcome    refused");
    }
    say!("token      {token}");
    if let Some(user) = user {
        say!("user       {user}");
    }
    if let (Some(condition), Some(explanation)) = (condition, explanation) {
        say!("condition  {condition}\n");
        print_explanation(explanation, true);
    }
}
