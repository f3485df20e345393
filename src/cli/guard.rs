//! `doorward guard …`: lists and tests the declared guards.

use std::{net::IpAddr, time::Duration};

use axum::http::{Method, StatusCode};
use serde::Serialize;

use super::{
    Output, block_on, counted, exit_code::NotFound, no_such_user, or_not_found, parse_time_span,
    print_explanation, print_headers, print_json, within,
};
use crate::{
    Settings,
    account::guard_check::{self, BrowserCheck, GuardDecision},
    control::{self, AdminClient},
    http::api::admin::guards::{self, GuardCheck, Guards, ListedGuard, SampleRequest},
};

pub(super) const PATH: &str = "/api/admin/guards";

const NO_SUCH_GUARD: &str = "there is no such guard: `doorward guard list` shows all guards";

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
    let guards: Guards =
        block_on(async { Ok(AdminClient::open(settings).await?.get(PATH).await?) })?;
    let guards = without_decisions(guards);
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

/// What the guards are. A command that opens the database itself knows nothing of their decisions.
pub(super) fn without_decisions(Guards { guards }: Guards) -> Vec<guards::Guard> {
    guards.into_iter().map(|ListedGuard { guard, .. }| guard).collect()
}

pub(super) fn print_guards(guards: &[guards::Guard]) {
    let width = guards.iter().map(|guard| guard.name.len()).max().unwrap_or(0);
    for guard in guards {
        let guards::Guard { name, version, allow, only_reports, takes_keys, origins, .. } = guard;
        let note = if *only_reports { "  (only reports)" } else { "" };
        let keys = if *takes_keys { "  (takes keys)" } else { "" };
        let origins = match &origins[..] {
            [] => String::new(),
            origins => format!("  for {}", origins.join(", ")),
        };
        print_line!("{name:width$}  {version}  {allow}{note}{keys}{origins}");
        for (header, expression) in &guard.headers {
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
        let Some(user) = user else {
            let check = check_browsers(settings, &guard)?;
            if output.json {
                return print_json(&check);
            }
            print_browsers(&check);
            return Ok(());
        };
        if let Some(names) = &factors {
            guard_check::methods_by_name(names.iter().map(String::as_str))?;
        }
        let check = GuardCheck {
            user,
            factors,
            verified_seconds_ago: verified_ago.map(|ago| ago.as_secs()),
            request: Some(SampleRequest { method, host, path, address }),
        };
        let decided = block_on(async {
            let client = AdminClient::open(settings).await?;
            let path = format!("{}/check", within(PATH, &guard));
            Ok(client.order(Method::POST, &path, &check).await)
        })?;
        let decision: GuardDecision = match decided {
            Err(control::Error::Refused { status: StatusCode::UNPROCESSABLE_ENTITY, .. }) => {
                return Err(no_such_user());
            }
            decided => or_not_found(decided, NO_SUCH_GUARD)?,
        };
        if output.json {
            return print_json(&decision);
        }
        let GuardDecision { admitted, condition, warning, missing, explanation, headers } =
            decision;
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

/// What a guard lacks for people with a browser.
fn check_browsers(settings: Settings, name: &str) -> anyhow::Result<BrowserCheck> {
    // Only the settings decide, so they can be checked before the first start creates the database.
    if settings.database.is_missing() {
        let guard = settings.guards.by_name(name);
        let guard = guard.ok_or_else(|| NotFound(NO_SUCH_GUARD.to_owned()))?;
        return Ok(guard_check::browsers(guard, &settings, &settings.base_url(settings.listen)));
    }
    let checked = block_on(async {
        let client = AdminClient::open(settings).await?;
        Ok(client.get(&format!("{}/browsers", within(PATH, name))).await)
    })?;
    or_not_found(checked, NO_SUCH_GUARD)
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
