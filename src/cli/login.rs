//! `doorward login …`: lists the declared logins, and says what they lack. It reads the settings and asks the providers itself, so it
//! needs neither a server nor a database.

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Output, block_on,
    exit_code::{Negative, NotFound},
    print_json,
};
use crate::{
    Settings,
    clock::{Clock, Timestamp},
    config::{login_findings, show_duration},
    federation::{Finding, FindingLevel, Login as Declared, Rules, check_login},
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward login list
  doorward login check google";

#[derive(clap::Subcommand)]
pub(super) enum Login {
    /// List the declared logins: where each provider is, the redirect URI to register there, and the rules
    #[command(after_help = "Examples:\n  doorward login list\n  doorward login list --json")]
    List(Output),
    /// Print the redirect URI to register at a provider, ask the provider, and say what is wrong
    Check(Check),
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward login check
  doorward login check google --json")]
pub(super) struct Check {
    /// Name of the login [default: all]
    login: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// A login, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    preset: &'static str,
    label: &'a str,
    issuer: &'a str,
    redirect_uri: String,
    /// Those that are set.
    rules: Map<String, Value>,
}

/// What the check of a login has found, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    name: &'a str,
    redirect_uri: String,
    findings: &'a [Finding],
}

impl Login {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        match self {
            Self::List(output) => list(settings, &output),
            Self::Check(check) => check.run(settings),
        }
    }
}

impl<'a> Listed<'a> {
    fn new(login: &'a Declared, public_base: &str) -> Self {
        Self {
            name: &login.name,
            preset: login.preset.name(),
            label: &login.label,
            issuer: &login.issuer,
            redirect_uri: login.redirect_uri(public_base),
            rules: set_rules(&login.rules),
        }
    }

    /// Each rule in a line, as it stands in the settings but for the quotes.
    fn rule_lines(&self) -> impl Iterator<Item = String> {
        self.rules.iter().map(|(name, rule)| {
            let name = if name == ONLY_FOR { "only_for" } else { name };
            match rule {
                Value::String(text) => format!("{name} = {text}"),
                Value::Array(list) => {
                    let texts: Vec<_> = list.iter().filter_map(Value::as_str).collect();
                    format!("{name} = {}", texts.join(", "))
                }
                other => format!("{name} = {other}"),
            }
        })
    }
}

/// The only name of a rule that JSON writes in another way than the settings.
const ONLY_FOR: &str = "onlyFor";

fn set_rules(rules: &Rules) -> Map<String, Value> {
    let Rules { join, roles, trust, grants, session, only_for, claim } = rules;
    let all = [
        ("join", join.as_ref().map(|rule| json!(rule.text()))),
        ("roles", roles.as_ref().map(|rule| json!(rule.text()))),
        ("trust", trust.as_ref().map(|rule| json!(rule.text()))),
        ("grants", (!grants.is_empty()).then(|| grants.iter().collect())),
        ("session", session.map(|session| json!(show_duration(session)))),
        (ONLY_FOR, (!only_for.is_empty()).then(|| json!(only_for))),
        ("claim", claim.then(|| json!(true))),
    ];
    all.into_iter().filter_map(|(name, rule)| Some((name.to_owned(), rule?))).collect()
}

fn print_no_logins() {
    print_line!("no logins are declared: add a [logins.NAME] table to doorward.toml");
}

fn public_base(settings: &Settings) -> String {
    settings.base_url(settings.listen)
}

fn list(settings: &Settings, output: &Output) -> anyhow::Result<()> {
    let base = public_base(settings);
    let logins: Vec<_> = settings.logins.iter().map(|login| Listed::new(login, &base)).collect();
    if output.json {
        return print_json(&logins);
    }
    if settings.logins.is_empty() {
        print_no_logins();
    }
    let width = logins.iter().map(|login| login.name.len()).max().unwrap_or(0);
    for login in &logins {
        let Listed { name, preset, label, issuer, redirect_uri, rules: _ } = login;
        print_line!("{name:width$}  {preset}  {issuer}  {label}");
        print_line!("{:width$}  register {redirect_uri}", "");
        login.rule_lines().for_each(|rule| print_line!("{:width$}  {rule}", ""));
    }
    Ok(())
}

/// What its provider says of a login, and what the settings lack for it.
pub(super) async fn findings(
    login: &Declared,
    settings: &Settings,
    now: Timestamp,
) -> Vec<Finding> {
    let mut findings = check_login(login, now).await;
    findings.extend(login_findings(login, settings, &public_base(settings)));
    findings
}

impl Check {
    fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self { login, output } = self;
        let chosen: Vec<_> = match &login {
            None => settings.logins.iter().collect(),
            Some(name) => {
                let login = settings.logins.by_name(name);
                let unknown = || {
                    NotFound(format!(
                        "there is no login {name}: `doorward login list` shows all logins"
                    ))
                };
                vec![login.ok_or_else(unknown)?]
            }
        };
        if chosen.is_empty() && !output.json {
            print_no_logins();
        }
        let now = Clock::system().now();
        let found = chosen.iter().map(|login| findings(login, settings, now));
        let found = block_on(async { Ok(join_all(found).await) })?;
        let base = public_base(settings);
        let is_wrong = found.iter().flatten().any(|found| found.level == FindingLevel::Error);
        let checked = chosen.iter().zip(&found).map(|(login, findings)| Checked {
            name: &login.name,
            redirect_uri: login.redirect_uri(&base),
            findings,
        });
        match output.json {
            true => print_json(&checked.collect::<Vec<_>>())?,
            false => checked.for_each(|checked| checked.print()),
        }
        if is_wrong { Err(Negative.into()) } else { Ok(()) }
    }
}

impl Checked<'_> {
    fn print(&self) {
        print_line!("{}: register {}", self.name, self.redirect_uri);
        for Finding { level, text } in self.findings {
            print_line!("  {}: {text}", level.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: &str = "public_url = 'https://auth.example.com'\n\
        [logins.work]\npreset = 'oidc'\nissuer = 'http://127.0.0.1:1'\nclient_id = 'a'\n";

    fn settings(rules: &str) -> Settings {
        let settings = Settings::new().with_toml(&format!("{PRIVATE}{rules}"));
        settings.check().unwrap();
        settings
    }

    #[test]
    fn a_login_is_listed_with_its_redirect_uri_and_the_rules_that_are_set() {
        let settings = settings(
            "trust = '\"mfa\" in claims.amr'\nsession = '12h'\nonly_for = ['example.com', 'example.org']\nclaim = true",
        );
        let login = settings.logins.by_name("work").unwrap();
        let listed = Listed::new(login, &public_base(&settings));
        assert_eq!(listed.redirect_uri, "https://auth.example.com/sign-in/with/work/back");
        assert_eq!(
            Vec::from_iter(listed.rule_lines()),
            [
                "trust = \"mfa\" in claims.amr",
                "session = 12h",
                "only_for = example.com, example.org",
                "claim = true"
            ]
        );
        let names: Vec<_> = listed.rules.keys().collect();
        assert_eq!(names, ["trust", "session", "onlyFor", "claim"]);
    }

    #[tokio::test]
    async fn a_secret_that_is_missing_is_reported_once_and_the_provider_is_asked_nevertheless() {
        let settings = settings("client_secret_file = '/nowhere/work.secret'");
        let login = settings.logins.by_name("work").unwrap();
        let found = findings(login, &settings, Clock::system().now()).await;
        let wrong: Vec<_> =
            found.iter().filter(|found| found.level == FindingLevel::Error).collect();
        assert_eq!(wrong.len(), 2, "{found:?}");
        assert!(wrong[0].text.contains("/nowhere/work.secret: No such file"), "{found:?}");
    }
}
