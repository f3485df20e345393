//! `doorward login …`: lists the declared logins, and says what they lack. It reads the settings and asks the providers itself, so it
//! needs neither a server nor a database.

use futures_util::future::join_all;
use serde::Serialize;

use super::{
    Output, block_on,
    exit_code::{Negative, NotFound},
    print_json,
};
use crate::{
    Settings,
    clock::{Clock, Timestamp},
    config::{LoginFindings, login_findings, show_duration},
    federation::{Finding, FindingLevel, Login as Declared, Providers, Rules},
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
    rules: SetRules<'a>,
}

/// The rules that are set.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetRules<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    join: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    roles: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grants: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    only_for: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    claim: bool,
}

/// What the check of a login has found, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    name: &'a str,
    redirect_uri: String,
    findings: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    level: &'static str,
    text: &'a str,
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
        let Rules { join, roles, trust, grants, session, only_for, claim } = &*login.rules;
        Self {
            name: &login.name,
            preset: login.preset.name(),
            label: &login.label,
            issuer: &login.issuer,
            redirect_uri: login.redirect_uri(public_base),
            rules: SetRules {
                join: join.as_ref().map(|rule| rule.text()),
                roles: roles.as_ref().map(|rule| rule.text()),
                trust: trust.as_ref().map(|rule| rule.text()),
                grants: grants.iter().collect(),
                session: session.map(show_duration),
                only_for,
                claim: *claim,
            },
        }
    }
}

impl SetRules<'_> {
    /// Each rule in a line, as it stands in the settings but for the quotes.
    fn lines(&self) -> Vec<String> {
        let Self { join, roles, trust, grants, session, only_for, claim } = self;
        let list = |items: String| (!items.is_empty()).then_some(items);
        let rules = [
            ("join", join.map(str::to_owned)),
            ("roles", roles.map(str::to_owned)),
            ("trust", trust.map(str::to_owned)),
            ("grants", list(grants.join(", "))),
            ("session", session.clone()),
            ("only_for", list(only_for.join(", "))),
            ("claim", claim.then(|| "true".to_owned())),
        ];
        rules.into_iter().filter_map(|(name, rule)| Some(format!("{name} = {}", rule?))).collect()
    }
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
    for Listed { name, preset, label, issuer, redirect_uri, rules } in &logins {
        print_line!("{name:width$}  {preset}  {issuer}  {label}");
        print_line!("{:width$}  register {redirect_uri}", "");
        rules.lines().iter().for_each(|rule| print_line!("{:width$}  {rule}", ""));
    }
    Ok(())
}

/// What the settings lack for a login, and what its provider says.
pub(super) async fn findings(
    login: &Declared,
    settings: &Settings,
    providers: &Providers,
    now: Timestamp,
) -> Vec<Finding> {
    let LoginFindings { missing, warnings } =
        login_findings(login, settings, &public_base(settings));
    let lacks_secret = missing.iter().any(|missing| is_about_secret(missing));
    let finding = |level| move |text| Finding { level, text };
    let missing = missing.into_iter().map(finding(FindingLevel::Error));
    let warnings = warnings.into_iter().map(finding(FindingLevel::Warning));
    // Its first finding is about the secret, which is said already if there is none.
    let of_provider = providers.check(login, now).await;
    let of_provider = of_provider.into_iter().skip(usize::from(lacks_secret));
    missing.chain(of_provider).chain(warnings).collect()
}

fn is_about_secret(missing: &str) -> bool {
    missing.starts_with("client_secret_file") || missing.starts_with("key_file")
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
        let (providers, now) = (Providers::new(), Clock::system().now());
        let found = chosen.iter().map(|login| findings(login, settings, &providers, now));
        let found = block_on(async { Ok(join_all(found).await) })?;
        let base = public_base(settings);
        let is_wrong = found.iter().flatten().any(|found| found.level == FindingLevel::Error);
        let checked = chosen.iter().zip(&found).map(|(login, findings)| Checked {
            name: &login.name,
            redirect_uri: login.redirect_uri(&base),
            findings: findings.iter().map(Found::new).collect(),
        });
        match output.json {
            true => print_json(&checked.collect::<Vec<_>>())?,
            false => checked.for_each(|checked| checked.print()),
        }
        if is_wrong { Err(Negative.into()) } else { Ok(()) }
    }
}

impl<'a> Found<'a> {
    fn new(finding: &'a Finding) -> Self {
        let level = match finding.level {
            FindingLevel::Fine => "ok",
            FindingLevel::Warning => "warning",
            FindingLevel::Error => "wrong",
        };
        Self { level, text: &finding.text }
    }
}

impl Checked<'_> {
    fn print(&self) {
        print_line!("{}: register {}", self.name, self.redirect_uri);
        for Found { level, text } in &self.findings {
            print_line!("  {level}: {text}");
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
            listed.rules.lines(),
            [
                "trust = \"mfa\" in claims.amr",
                "session = 12h",
                "only_for = example.com, example.org",
                "claim = true"
            ]
        );
        let rules = serde_json::to_value(&listed.rules).unwrap();
        let names: Vec<_> = rules.as_object().unwrap().keys().collect();
        assert_eq!(names, ["trust", "session", "onlyFor", "claim"]);
    }

    #[tokio::test]
    async fn a_secret_that_is_missing_is_reported_once_and_the_provider_is_asked_nevertheless() {
        let settings = settings("client_secret_file = '/nowhere/work.secret'");
        let login = settings.logins.by_name("work").unwrap();
        let found = findings(login, &settings, &Providers::new(), Clock::system().now()).await;
        let wrong: Vec<_> =
            found.iter().filter(|found| found.level == FindingLevel::Error).collect();
        assert_eq!(wrong.len(), 2, "{found:?}");
        assert!(wrong[0].text.starts_with("client_secret_file: /nowhere/work.secret: "));
    }
}
