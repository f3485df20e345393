//! `doorward reload`: reloads the guards of the running server.

use super::{block_on, counted, guard::print_guards, run, unexpected_reply};
use crate::{
    Settings,
    control::{Command, Reply},
};

#[derive(clap::Args)]
pub(super) struct Reload {}

impl Reload {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Reply::Guards(guards) = block_on(run(settings, Command::ReloadGuards))? else {
            return Err(unexpected_reply());
        };
        print_line!("{}", counted(guards.len(), "guard is in force", "guards are in force"));
        print_guards(&guards);
        Ok(())
    }
}
