//! `doorward guard …`: lists and tests the declared guards.

use std::{net::IpAddr, time::Duration};

use serde::Serialize;

use super::{
    Output, block_on, counted, parse_time_span, print_explanation, print_headers, print_json, run,
    unexpected_reply,
};
use crate::{
    Settings,
    access::guard::{ExplainedHeader, Explanation, Missing},
    control::{BrowserCheck, Command, GuardInfo, Reply, SampleRequest, SampleSession, UserRef},
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward guard list
  doorward guard check staff --user ada@example.com
  doorward guard test";

#[derive(clap::Subcommand)]
pub(super) enum Guard {
    /// List the guards in force
    #[command(after_help = "Examples:\n  doorward guard list\n  doorward guard list --json")]
    List(Output),
    /// Show what a guard lacks for people with a browser, and how it decides about a user
    Check(Check),
    /// Run the examples ([[guards.NAME.expect]]) of the settings file
    #[command(after_help = "Examples:\n  doorward guard test --config new.toml")]
    Test(Output),
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward guard check staff
  doorward guard check staff --user ada@example.com --path /reports --method POST
  doorward guard check staff --user ada@example.com --factors pwd,totp --verified-ago 20m")]
pub(super) struct Check {
    /// Name of the guard
    guard: String,
    /// E-mail address or id of a user to decide about
    #[arg(long)]
    user: Option<String>,
    /// How the user has signed in: pwd, otp, totp, passkey, key, recovery, device [default: as they just would]
    #[arg(long, requires = "user", value_delimiter = ',')]
    factors: Option<Vec<String>>,
    /// How long ago they have signed in, such as 20m [default: just now]
    #[arg(long, requires = "user", value_parser = parse_time_span)]
    verified_ago: Option<Duration>,
    /// Method of the request to decide about
    #[arg(long, requires = "user")]
    method: Option<String>,
    /// Host of the request
    #[arg(long, requires = "user")]
    host: Option<String>,
    /// Path of the request
    #[arg(long, requires = "user")]
    path: Option<String>,
    /// IP address of the client
    #[arg(long, requires = "user")]
    address: Option<IpAddr>,
    #[command(flatten)]
    output: Output,
}

impl Guard {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        match self {
            Self::List(output) => list(settings, &output),
            Self::Check(check) => check.run(settings),
            Self::Test(output) => test(&settings, &output),
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
    for GuardInfo { name, version, allow, only_reports, origins, headers, .. } in guards {
        let note = if *only_reports { "  (only reports)" } else { "" };
        let origins = match &origins[..] {
            [] => String::new(),
            origins => format!("  for {}", origins.join(", ")),
        };
        print_line!("{name:width$}  {version}  {allow}{note}{origins}");
        for (header, expression) in headers {
            print_line!("{:width$}  {header}: {expression}", "");
        }
    }
    warn(guards.iter().filter_map(|guard| guard.warning.as_deref()));
}

/// Prints to standard error, so that standard output can be parsed.
fn warn<'a>(warnings: impl IntoIterator<Item = &'a str>) {
    for warning in warnings {
        eprint_line!("warning: {warning}");
    }
}

impl Check {
    fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { guard, user, factors, verified_ago, method, host, path, address, output } = self;
        let browsers = Command::CheckBrowsers { guard: guard.clone() };
        let Some(user) = user else {
            let Reply::Browsers(check) = block_on(run(settings, browsers))? else {
                return Err(unexpected_reply());
            };
            if output.json {
                return print_json(&check);
            }
            print_browsers(&check);
            return Ok(());
        };
        let request = SampleRequest { method, host, path, address };
        let session =
            SampleSession { factors, verified_ago: verified_ago.unwrap_or(Duration::ZERO) };
        let command = Command::CheckGuard { guard, user: UserRef(user), session, request };
        let Reply::Decision { admitted, condition, warning, missing, explanation, headers } =
            block_on(run(settings, command))?
        else {
            return Err(unexpected_reply());
        };
        if output.json {
            let decision = Decision { admitted, condition, warning, missing, explanation, headers };
            return print_json(&decision);
        }
        match (admitted, missing) {
            (true, _) => print_line!("admitted"),
            (false, None) => print_line!("refused"),
            (false, Some(missing)) => print_line!("refused: {}", missing.sentence()),
        }
        print_line!("\n{condition}\n");
        let is_true = explanation.steps.first().is_some_and(|whole| whole.value == "true");
        print_explanation(&explanation, !admitted && !is_true);
        if !admitted && is_true {
            print_line!("\nrefused because  sign_in.factors  is  required");
        }
        if admitted {
            print_headers(&headers);
        }
        warn(warning.as_deref());
        Ok(())
    }
}

/// The decision of a guard as JSON.
#[derive(Serialize)]
struct Decision {
    admitted: bool,
    condition: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
    explanation: Explanation,
    /// The headers that the app gets if the guard admits the user.
    headers: Vec<ExplainedHeader>,
}

/// A guard whose examples pass, as JSON.
#[derive(Serialize)]
struct Tested<'a> {
    guard: &'a str,
    passed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

fn print_browsers(check: &BrowserCheck) {
    let BrowserCheck { sign_in, origins, findings, warnings } = check;
    if !origins.is_empty() {
        print_line!("people sign in at {sign_in}");
        print_line!("and return to {}", origins.join(", "));
    }
    for finding in findings {
        print_line!("missing: {finding}");
    }
    if findings.is_empty() {
        print_line!("nothing is missing");
    }
    warn(warnings.iter().map(String::as_str));
}

/// Reports the examples. Loading the settings has run them, and fails if one of them fails.
fn test(settings: &Settings, output: &Output) -> anyhow::Result<()> {
    if output.json {
        let tested = settings.guards.iter().map(|guard| Tested {
            guard: &guard.name,
            passed: guard.expectations.len(),
            warning: guard.warning(),
        });
        return print_json(&tested.collect::<Vec<_>>());
    }
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
