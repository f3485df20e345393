//! `doorward guard …`: lists and tests the declared guards.

use std::net::IpAddr;

use super::{Output, block_on, counted, print_explanation, print_json, run, unexpected_reply};
use crate::{
    Settings,
    control::{Command, GuardInfo, Reply, SampleRequest, UserRef},
};

#[derive(clap::Subcommand)]
pub(super) enum Guard {
    /// List the guards in force
    List(Output),
    /// Show how a guard decides about a user, and why
    Check(Check),
    /// Run the examples ([[guards.NAME.expect]]) of the settings file
    Test,
}

#[derive(clap::Args)]
pub(super) struct Check {
    /// Name of the guard
    guard: String,
    /// E-mail address or id of the user
    #[arg(long)]
    user: String,
    /// Method of the request to decide about
    #[arg(long)]
    method: Option<String>,
    /// Host of the request
    #[arg(long)]
    host: Option<String>,
    /// Path of the request
    #[arg(long)]
    path: Option<String>,
    /// IP address of the client
    #[arg(long)]
    address: Option<IpAddr>,
}

impl Guard {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        match self {
            Self::List(output) => list(settings, &output),
            Self::Check(check) => check.run(settings),
            Self::Test => test(&settings),
        }
    }
}

fn list(settings: Settings, output: &Output) -> anyhow::Result<()> {
    let Reply::Guards(guards) = block_on(run(settings, Command::ListGuards))? else {
        return Err(unexpected_reply());
    };
    if output.json {
        return print_json(&guards);
    }
    if guards.is_empty() {
        print_no_guards();
    }
    print_guards(&guards);
    Ok(())
}

fn print_no_guards() {
    print_line!("no guards are declared: add a [guards.NAME] table to doorward.toml");
}

pub(super) fn print_guards(guards: &[GuardInfo]) {
    let width = guards.iter().map(|guard| guard.name.len()).max().unwrap_or(0);
    for GuardInfo { name, version, allow, only_reports, .. } in guards {
        let note = if *only_reports { "  (only reports)" } else { "" };
        print_line!("{name:width$}  {version}  {allow}{note}");
    }
    warn(guards.iter().filter_map(|guard| guard.warning.as_deref()));
}

/// Prints to standard error, so that standard output can be parsed.
fn warn<'a>(warnings: impl IntoIterator<Item = &'a str>) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}

impl Check {
    fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { guard, user, method, host, path, address } = self;
        let request = SampleRequest { method, host, path, address };
        let command = Command::CheckGuard { guard, user: UserRef(user), request };
        let Reply::Decision { admitted, condition, warning, explanation } =
            block_on(run(settings, command))?
        else {
            return Err(unexpected_reply());
        };
        print_line!("{}", if admitted { "admitted" } else { "refused" });
        print_line!("\n{condition}\n");
        print_explanation(&explanation, !admitted);
        warn(warning.as_deref());
        Ok(())
    }
}

/// Reports the examples. Loading the settings has run them, and fails if one of them fails.
fn test(settings: &Settings) -> anyhow::Result<()> {
    if settings.guards.is_empty() {
        print_no_guards();
    }
    let mut examples = 0;
    for guard in settings.guards.iter() {
        let count = guard.expectations.len();
        print_line!("{}: {}", guard.name, counted(count, "example passes", "examples pass"));
        examples += count;
        warn(guard.warning().as_deref());
    }
    print_line!("{examples} passed, 0 failed");
    Ok(())
}
