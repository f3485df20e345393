//! `doorward reload`: the running server reads its guards anew.

use anyhow::bail;

use super::{block_on, give, guard::print_guards};
use crate::{
    Settings,
    control::{Order, Report},
};

#[derive(clap::Args)]
pub(super) struct Reload {}

impl Reload {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Report::Guards(guards) = block_on(give(settings, Order::Reload))? else {
            bail!("the running server is of another version");
        };
        say!("{} guards are in force", guards.len());
        print_guards(&guards);
        Ok(())
    }
}
