//! `doorward migrate`: gives the database the schema of this version. `--to URL` copies all data to another database.

use anyhow::{Context, anyhow};
use serde::Serialize;

use super::{Output, block_on, print_json, progress::ProgressLine};
use crate::{
    Settings,
    backup::transfer::{self, Inventory, Progress},
    clock::Clock,
    config::{DatabaseUrl, SettingsError},
    control::this_operator,
    doorward::open_database,
    event::{Event, EventKind},
    store::{
        OldSchema,
        archive::{SESSIONS, USERS},
        ensure_postgres_unused,
    },
};

/// A finished migration as JSON.
#[derive(Serialize)]
struct Migrated {
    from: String,
    to: String,
    users: u64,
    sessions: u64,
    checksum: String,
}

/// A database with the schema of this version, as JSON.
#[derive(Serialize)]
struct Adapted {
    database: String,
    schema: usize,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward migrate
  doorward migrate --to postgres://doorward@db.example.com/doorward
  doorward migrate --to sqlite://new/doorward.db --json")]
pub(super) struct Migrate {
    /// URL of the new database, in the form of database_url. The settings name the old one
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Keep no copy of a SQLite file before its schema is changed
    #[arg(long)]
    no_copy: bool,
    #[command(flatten)]
    output: Output,
}

impl Migrate {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Some(to) = &self.to else { return self.adapt(&settings) };
        let to = DatabaseUrl::parse(to).ok_or_else(|| {
            // Without the value, which may contain a password.
            SettingsError::new(
                "--to: the value is not sqlite:// and a file, or postgres:// as libpq reads it",
            )
        })?;
        let from = settings.database.clone();
        if to == from {
            return Err(SettingsError::new(format!("--to: {to} is the old database")).into());
        }
        from.ensure_exists().context("the old database")?;
        let new_settings = Settings { database: to.clone(), data_folder: None, ..settings.clone() };
        let moved = block_on(async {
            // A data folder is locked by its server. Before this command connects, because its own connections look the same.
            for database in [&from, &to] {
                ensure_unused(database, &settings).await?;
            }
            let old = open_database(&settings, self.old_schema()).await?;
            let new = open_database(&new_settings, self.old_schema()).await?;
            let now = Clock::system().now();
            let kind = EventKind::DataMoved { to: new.installation.store.kind().name() };
            // Before the copy, so that both databases have it.
            let event = Event::by_administrator(&this_operator(), None, now, kind);
            old.record(event).await.map_err(|error| anyhow!("the old database: {error}"))?;
            let signs_at = now + settings.token.publish_before_signing;
            let mut line = ProgressLine::new();
            let mut report = |Progress { step, total, done }: Progress| line.set(step, done, total);
            let (old, new) = (&old.installation, &new.installation);
            Ok(transfer::migrate(old, new, signs_at, &mut report).await?)
        })?;
        if self.output.json {
            let Inventory { counts, checksum } = moved;
            return print_json(&Migrated {
                from: from.to_string(),
                to: to.to_string(),
                users: counts.of(&USERS),
                sessions: counts.of(&SESSIONS),
                checksum,
            });
        }
        print_line!("copied {from} to {to} and compared them: {moved}");
        print_line!(
            "start the servers with the new database_url, and keep the old database until they work"
        );
        Ok(())
    }

    /// Gives the database the schema of this version, as the start of a server does.
    fn adapt(&self, settings: &Settings) -> anyhow::Result<()> {
        settings.database.ensure_exists()?;
        // A server on PostgreSQL may run meanwhile.
        let settings = Settings { data_folder: None, ..settings.clone() };
        let schema = block_on(async {
            let opened = open_database(&settings, self.old_schema()).await?;
            Ok(opened.installation.store.kind().schema())
        })?;
        let database = settings.database.to_string();
        if self.output.json {
            return print_json(&Adapted { database, schema });
        }
        print_line!("{database} has schema {schema}, that of this version");
        Ok(())
    }

    fn old_schema(&self) -> OldSchema {
        OldSchema::Migrate {
            announce: |change| eprint_line!("doorward: {change}"),
            copy: !self.no_copy,
        }
    }
}

/// Refuses a PostgreSQL database that a server uses: what it writes after the copy would be lost.
async fn ensure_unused(database: &DatabaseUrl, settings: &Settings) -> anyhow::Result<()> {
    match database {
        DatabaseUrl::Postgres(url) => ensure_postgres_unused(url, settings.postgres.clone())
            .await
            .with_context(|| database.to_string()),
        DatabaseUrl::Sqlite(_) | DatabaseUrl::Memory(_) => Ok(()),
    }
}
