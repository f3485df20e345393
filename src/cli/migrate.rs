//! `doorward migrate --to URL`: copies all data to another database.

use anyhow::{Context, bail};

use super::{block_on, progress::ProgressLine};
use crate::{
    Settings,
    clock::Clock,
    config::DatabaseUrl,
    doorward::open_database,
    store::transfer::{self, Progress},
};

#[derive(clap::Args)]
pub(super) struct Migrate {
    /// URL of the new database, in the form of database_url. The settings name the old one
    #[arg(long, value_name = "URL")]
    to: String,
}

impl Migrate {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let to = DatabaseUrl::parse(&self.to).with_context(|| {
            // Without the value, which may contain a password.
            "--to: the value is not sqlite:// and a file, or postgres:// as libpq reads it"
        })?;
        let from = settings.database.clone();
        if to == from {
            bail!("--to: {to} is the old database");
        }
        from.ensure_exists().context("the old database")?;
        let new_settings = Settings { database: to.clone(), data_folder: None, ..settings.clone() };
        let moved = block_on(async {
            let old = open_database(&settings).await?;
            let new = open_database(&new_settings).await?;
            let signs_at = Clock::system().now() + settings.token.publish_before_signing;
            let mut line = ProgressLine::new();
            let mut report = |Progress { step, total, done }: Progress| line.set(step, done, total);
            let (old, new) = (&old.installation, &new.installation);
            Ok(transfer::migrate(old, new, signs_at, &mut report).await?)
        })?;
        print_line!("copied {from} to {to} and compared them: {moved}");
        print_line!(
            "start the servers with the new database_url, and keep the old database until they work"
        );
        Ok(())
    }
}
