//! Accounts at providers, as the exports of other systems name them, and which login each of them is. An export names the provider,
//! and an identity has its issuer.

use std::collections::BTreeMap;

use crate::{
    config::SettingsError,
    federation::{Login, LoginSet, Preset},
    http::api::admin::import::IdentityRecord,
};

/// An account of a user at a provider.
pub(super) struct ProviderAccount {
    /// As the other system calls it.
    pub(super) provider: String,
    pub(super) subject: Option<String>,
    pub(super) display: Option<String>,
}

/// Why an account is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    Microsoft,
    Unknown,
    WithoutSubject,
}

impl LeftOut {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Microsoft => {
                "Microsoft tells every app another subject than the one in such an export: these people link their account again"
            }
            Self::Unknown => {
                "nothing says which provider that is: declare it in the settings, and name it with --login PROVIDER=LOGIN"
            }
            Self::WithoutSubject => "the export does not say what the provider calls these people",
        }
    }
}

/// A login, and the issuer of its identities.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    login: String,
    issuer: String,
}

impl Target {
    fn of(login: &Login) -> Option<Self> {
        let issuer = login.stored_issuer()?;
        Some(Self { login: login.name.clone(), issuer })
    }
}

/// Which logins the providers of an export are.
#[derive(Default)]
pub(super) struct ProviderLogins {
    named: BTreeMap<String, Target>,
    /// Those that are known by their names alone.
    known: BTreeMap<&'static str, Target>,
}

impl ProviderLogins {
    /// Those of `--login`, and those that need no option: Google and Apple, and GitHub and GitLab if a login is at the public one and
    /// none elsewhere. Who has the number 1 at one server of GitLab is somebody else at another one.
    pub(super) fn new(
        options: &[(String, String)],
        declared: &LoginSet,
    ) -> Result<Self, SettingsError> {
        let mut named = BTreeMap::new();
        for (theirs, ours) in options {
            let refuse =
                |problem| SettingsError::new(format!("--login {theirs}={ours}: {problem}"));
            let login = declared
                .by_name(ours)
                .ok_or_else(|| refuse(format!("the settings have no [logins.{ours}]")))?;
            let target =
                Target::of(login).ok_or_else(|| refuse(LeftOut::Microsoft.reason().to_owned()))?;
            named.insert(theirs.clone(), target);
        }
        let known = Preset::ALL.into_iter().filter_map(|preset| {
            let issuer = preset.stored_issuer(preset.issuer()?)?;
            let of_preset = || declared.iter().filter(|login| login.preset == preset);
            let login = of_preset().find(|login| login.stored_issuer().as_ref() == Some(&issuer));
            let is_certain = preset.has_one_place()
                || login.is_some()
                    && of_preset().all(|login| login.stored_issuer().as_ref() == Some(&issuer));
            let login = login.map_or(preset.name(), |login| &login.name).to_owned();
            is_certain.then_some((preset.name(), Target { login, issuer }))
        });
        Ok(Self { named, known: known.collect() })
    }

    /// The identity of an account.
    pub(super) fn identity(&self, account: ProviderAccount) -> Result<IdentityRecord, LeftOut> {
        let ProviderAccount { provider, subject, display } = account;
        // Firebase names a provider by its domain.
        let name = provider.strip_suffix(".com").unwrap_or(&provider);
        let target = self.named.get(&provider).or_else(|| self.known.get(name));
        let target = target.ok_or(match name {
            "microsoft" | "azure" | "azuread" => LeftOut::Microsoft,
            _ => LeftOut::Unknown,
        })?;
        let subject = subject.ok_or(LeftOut::WithoutSubject)?;
        Ok(IdentityRecord {
            login: Some(target.login.clone()),
            issuer: target.issuer.clone(),
            subject,
            display,
            roles: Vec::new(),
            created_at: None,
            last_used_at: None,
        })
    }
}

/// The name of a provider in an export, and that of the login that it is.
pub(super) fn parse_login(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((theirs, ours)) if !theirs.is_empty() && !ours.is_empty() => {
            Ok((theirs.to_owned(), ours.to_owned()))
        }
        _ => Err("write PROVIDER=LOGIN, such as google=google".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::federation::Credential;

    fn login(name: &str, preset: Preset, issuer: Option<&str>) -> Login {
        Login {
            name: name.into(),
            preset,
            shown_as: preset,
            label: name.into(),
            issuer: issuer.or(preset.issuer()).unwrap().into(),
            tenant: None,
            client_id: "doorward".into(),
            credential: Credential::None,
            scopes: Vec::new(),
            ca_file: None,
            allow_networks: Vec::new(),
            rules: Arc::default(),
            version: String::new(),
        }
    }

    fn declared(logins: impl IntoIterator<Item = Login>) -> LoginSet {
        let mut set = LoginSet::default();
        logins.into_iter().for_each(|login| set.add(login));
        set
    }

    fn account(provider: &str) -> ProviderAccount {
        ProviderAccount { provider: provider.into(), subject: Some("7".into()), display: None }
    }

    fn found(logins: &ProviderLogins, provider: &str) -> Result<String, LeftOut> {
        let identity = logins.identity(account(provider))?;
        Ok(format!("{} {}", identity.login.unwrap(), identity.issuer))
    }

    #[test]
    fn google_and_apple_are_known_and_github_and_gitlab_if_a_login_says_which() {
        let none = ProviderLogins::new(&[], &LoginSet::default()).unwrap();
        let google = Ok("google https://accounts.google.com".to_owned());
        assert_eq!(found(&none, "google"), google);
        assert_eq!(found(&none, "google.com"), google);
        assert_eq!(found(&none, "apple"), Ok("apple https://appleid.apple.com".into()));
        for unknown in ["github", "github.com", "gitlab", "oidc", "work", "password.com"] {
            assert_eq!(found(&none, unknown), Err(LeftOut::Unknown), "{unknown}");
        }
        let set = declared([
            login("hub", Preset::GitHub, None),
            login("gitlab", Preset::GitLab, Some("https://git.example.com")),
        ]);
        let logins = ProviderLogins::new(&[], &set).unwrap();
        assert_eq!(found(&logins, "github"), Ok("hub https://github.com/login/oauth".into()));
        assert_eq!(
            found(&logins, "gitlab"),
            Err(LeftOut::Unknown),
            "the one here is not the public one"
        );
        let set = declared([
            login("gitlab", Preset::GitLab, None),
            login("own", Preset::GitLab, Some("https://git.example.com")),
        ]);
        let logins = ProviderLogins::new(&[], &set).unwrap();
        assert_eq!(found(&logins, "gitlab"), Err(LeftOut::Unknown), "it may be either");
    }

    #[test]
    fn an_option_says_which_login_a_provider_is() {
        let set = declared([
            login("work", Preset::Oidc, Some("https://sso.example.com/realms/a")),
            login("office", Preset::Microsoft, None),
            login("own", Preset::GitHub, Some("https://git.example.com")),
        ]);
        let named = |options: &[(&str, &str)]| {
            let owned = options.iter().map(|(one, other)| ((*one).into(), (*other).into()));
            ProviderLogins::new(&owned.collect::<Vec<_>>(), &set)
        };
        let logins = named(&[("google", "work"), ("a=b", "work"), ("github", "own")]).unwrap();
        let work = Ok("work https://sso.example.com/realms/a".to_owned());
        assert_eq!((found(&logins, "google"), found(&logins, "a=b")), (work.clone(), work));
        assert_eq!(found(&logins, "github"), Ok("own https://git.example.com/login/oauth".into()));
        for (theirs, ours, problem) in [
            ("x", "nobody", "--login x=nobody: the settings have no [logins.nobody]"),
            ("azure", "office", "--login azure=office: Microsoft tells every app another subject"),
        ] {
            let error = named(&[(theirs, ours)]).err().unwrap().to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert_eq!(parse_login("a=b=work"), Ok(("a=b".into(), "work".into())));
        assert!(["google", "=work", "google="].iter().all(|text| parse_login(text).is_err()));
    }

    #[test]
    fn accounts_at_microsoft_and_without_a_subject_are_left_out() {
        let logins = ProviderLogins::new(&[], &LoginSet::default()).unwrap();
        for name in ["microsoft", "azure", "microsoft.com"] {
            assert_eq!(found(&logins, name), Err(LeftOut::Microsoft));
        }
        let without = ProviderAccount { subject: None, ..account("google") };
        assert_eq!(logins.identity(without).unwrap_err(), LeftOut::WithoutSubject);
    }
}
