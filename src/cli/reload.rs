//! `doorward reload`: makes the running server read its guards and its certificate again.

use axum::http::Method;

use super::{
    Output, block_on, counted,
    guard::{PATH, print_guards, without_decisions},
    print_json,
};
use crate::{
    Settings,
    control::{self, AdminClient},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  doorward reload\n  doorward reload --json")]
pub(super) struct Reload {
    #[command(flatten)]
    output: Output,
}

impl Reload {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let guards = block_on(async {
            let client = AdminClient::open_server(settings, control::Error::NotRunning).await?;
            Ok(client.order(Method::POST, &format!("{PATH}/reload"), &()).await?)
        })?;
        let guards = without_decisions(guards);
        if self.output.json {
            return print_json(&guards);
        }
        print_line!("{}", counted(guards.len(), "guard is in force", "guards are in force"));
        print_guards(&guards);
        Ok(())
    }
}
