//! `doorward why`: the reason for a refusal, by the id that it carried.

use anyhow::bail;
use chrono::DateTime;

use super::{block_on, give, print_explanation};
use crate::{
    Settings,
    control::{Order, Report},
    guard::Refusal,
};

#[derive(clap::Args)]
pub(super) struct Why {
    /// The X-Decision-Id of the refusal
    id: String,
}

impl Why {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Report::Refusal(refusal) = block_on(give(settings, Order::Why(self.id)))? else {
            bail!("the running server is of another version");
        };
        print(&refusal);
        Ok(())
    }
}

fn print(refusal: &Refusal) {
    let Refusal { id: _, time, guard, version, only_reported, token, user, condition, explanation } =
        refusal;
    let time = DateTime::from_timestamp_millis(*time).unwrap_or_default();
    say!("time       {}", time.format("%Y-%m-%d %H:%M:%S%.3f UTC"));
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
