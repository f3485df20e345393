//! `doorward guard …`: the declared guards, tried out from the command line.

use std::net::IpAddr;

use anyhow::bail;

use super::{Output, block_on, give, print_explanation};
use crate::{
    Settings,
    control::{AskFor, GuardReport, Order, Report, Who},
};

#[derive(clap::Subcommand)]
pub(super) enum Guard {
    /// List the guards in force
    List(Output),
    /// Decide about a user, and say why
    Check(Check),
    /// Run the examples ([[guards.NAME.expect]]) of the settings file
    Test,
}

#[derive(clap::Args)]
pub(super) struct Check {
    /// The guard
    guard: String,
    /// E-mail address or id of the user
    #[arg(long)]
    user: String,
    /// The method of the imagined request
    #[arg(long)]
    method: Option<String>,
    /// Its host
    #[arg(long)]
    host: Option<String>,
    /// Its path
    #[arg(long)]
    path: Option<String>,
    /// The address that it comes from
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
    let Report::Guards(guards) = block_on(give(settings, Order::Guards))? else {
        bail!("the running server is of another version");
    };
    if output.json {
        say!("{}", serde_json::to_string_pretty(&guards)?);
        return Ok(());
    }
    if guards.is_empty() {
        say!("no guards are declared: see [guards] in the README");
    }
    print_guards(&guards);
    Ok(())
}

pub(super) fn print_guards(guards: &[GuardReport]) {
    let width = guards.iter().map(|guard| guard.name.len()).max().unwrap_or(0);
    for GuardReport { name, version, allow, only_reports, .. } in guards {
        let note = if *only_reports { "  (only reports)" } else { "" };
        say!("{name:width$}  {version}  {allow}{note}");
    }
    warn(guards.iter().filter_map(|guard| guard.warning.as_deref()));
}

/// On standard error, so that what programs read stays as it is.
fn warn<'a>(warnings: impl IntoIterator<Item = &'a str>) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}

impl Check {
    fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { guard, user, method, host, path, address } = self;
        let request = AskFor { method, host, path, address };
        let order = Order::CheckGuard { guard, who: Who(user), request };
        let Report::Verdict { admitted, condition, warning, explanation } =
            block_on(give(settings, order))?
        else {
            bail!("the running server is of another version");
        };
        say!("{}", if admitted { "admitted" } else { "refused" });
        say!("\n{condition}\n");
        print_explanation(&explanation, !admitted);
        warn(warning.as_deref());
        Ok(())
    }
}

/// The examples were run when the settings were loaded: had one failed, the command would not have come this far.
fn test(settings: &Settings) -> anyhow::Result<()> {
    let mut examples = 0;
    for guard in settings.guards.iter() {
        say!("{}: {} examples hold", guard.name, guard.expectations.len());
        examples += guard.expectations.len();
        warn(guard.warning().as_deref());
    }
    say!("{examples} passed, 0 failed");
    Ok(())
}
