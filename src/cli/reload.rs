//! `doorward reload`: makes the running server read its guards and its certificate again.

use super::{Output, block_on, counted, guard::print_guards, print_json, run, unexpected_reply};
use crate::{
    Settings,
    control::{Command, Reply},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  doorward reload\n  doorward reload --json")]
pub(super) struct Reload {
    #[command(flatten)]
    output: Output,
}

impl Reload {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Reply::Guards(guards) = block_on(run(settings, Command::ReloadGuards))? else {
            return Err(unexpected_reply());
        };
        if self.output.json {
            return print_json(&guards);
        }
        print_line!("{}", counted(guards.len(), "guard is in force", "guards are in force"));
        print_guards(&guards);
        Ok(())
    }
}
