//! What a login lacks, and which of its rules are probably wrong. The start and a reload log the warnings; `doorward doctor` and
//! `doorward login check` report both.

use std::{fs::File, path::Path};

use super::{Settings, show_duration};
use crate::{
    access::{guard::AppOrigin, scope::Scopes},
    federation::{Credential, Login, LoginSet, Preset, Rules},
    user::Role,
};

/// What a check of a login has found. Each finding says what to do about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoginFindings {
    /// Without which nobody signs in.
    pub(crate) missing: Vec<String>,
    /// What is valid but dangerous or probably wrong.
    pub(crate) warnings: Vec<String>,
}

/// Checks a login with the settings around it. `public_base` is the URL that providers send browsers back to.
pub(crate) fn login_findings(
    login: &Login,
    settings: &Settings,
    public_base: &str,
) -> LoginFindings {
    let mut missing: Vec<_> =
        files_of(login).into_iter().filter_map(|(key, file)| unreadable(key, file)).collect();
    missing.extend(without_secret(login));
    missing.extend(redirect(login, public_base));
    LoginFindings { missing, warnings: warnings(login, settings) }
}

impl Settings {
    /// Logs what is dangerous or probably wrong about each of these logins.
    pub(crate) fn log_login_warnings(&self, logins: &LoginSet) {
        for login in logins.iter() {
            for warning in warnings(login, self) {
                tracing::warn!("login {}: {warning}", login.name);
            }
        }
    }
}

fn files_of(login: &Login) -> Vec<(&'static str, &Path)> {
    let credential = match &login.credential {
        Credential::None => None,
        Credential::SecretFile(file) => Some(("client_secret_file", file.as_path())),
        Credential::AppleKey { key_file, .. } => Some(("key_file", key_file.as_path())),
    };
    let ca_file = login.ca_file.as_deref().map(|file| ("ca_file", file));
    credential.into_iter().chain(ca_file).collect()
}

fn unreadable(key: &str, file: &Path) -> Option<String> {
    let path = super::absolute(file);
    let cause = match File::open(file).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => "the file is empty".to_owned(),
        Ok(metadata) if metadata.is_dir() => "it is a folder".to_owned(),
        Ok(_) => return None,
        Err(error) => error.to_string(),
    };
    Some(format!("{key}: {}: {cause}", path.display()))
}

fn without_secret(login: &Login) -> Option<String> {
    let needs_secret = matches!(login.preset, Preset::Google | Preset::GitHub);
    (needs_secret && login.credential == Credential::None).then(|| {
        format!("client_secret_file is not set, and {} asks for a secret: save it in a file, and name the file", login.preset.label())
    })
}

fn redirect(login: &Login, public_base: &str) -> Option<String> {
    if public_base.starts_with("https://") {
        return None;
    }
    let is_loopback = AppOrigin::parse(public_base).is_ok();
    if is_loopback && login.preset != Preset::Apple {
        return None;
    }
    Some(format!(
        "people come back to {public_base}, and {} sends them only to https://: set public_url",
        login.label
    ))
}

fn warnings(login: &Login, settings: &Settings) -> Vec<String> {
    let Rules { join, roles, trust, grants, session, .. } = &*login.rules;
    let mut found = Vec::new();
    let trusting = [
        ("join", join.as_ref().is_some_and(|join| join.trusts_unverified_email())),
        ("roles", roles.as_ref().is_some_and(|roles| roles.trusts_unverified_email())),
        ("trust", trust.as_ref().is_some_and(|trust| trust.trusts_unverified_email())),
    ];
    for (key, _) in trusting.into_iter().filter(|(_, is_trusting)| *is_trusting) {
        let (verified, advice) = match login.shown_as {
            Preset::Microsoft => ("claims.xms_edov", "read claims.tid, or claims.xms_edov as well"),
            _ => ("claims.email_verified", "write `claims.email_verified && (…)`"),
        };
        found.push(format!(
            "{key} reads claims.email but not {verified}, and people may have set any address there: {advice}"
        ));
    }
    if trust.as_ref().is_some_and(|trust| !trust.reads_claims()) {
        found.push(
            "trust reads no claim, so it does not depend on how somebody has signed in there: read claims.amr or \
             claims.acr"
                .into(),
        );
    }
    found.extend(any_tenant(login));
    if !grants.is_empty() && roles.is_none() {
        found.push("grants does nothing without roles: remove it, or set roles".into());
    }
    found.extend(idle_grants(login, settings));
    found.extend(ungranted(login, settings));
    if let Some(session) = session.filter(|session| *session > settings.session_lifetime) {
        found.push(format!(
            "session is {}, but no session lasts longer than session.lifetime, which is {}",
            show_duration(session),
            show_duration(settings.session_lifetime)
        ));
    }
    found
}

/// Whoever runs a tenant chooses what its tokens say.
fn any_tenant(login: &Login) -> Option<String> {
    let tenant = login.tenant.as_deref()?;
    let Rules { roles, trust, .. } = &*login.rules;
    let takes_any = ["common", "organizations"].contains(&tenant);
    let by_roles =
        roles.as_ref().is_some_and(|rule| rule.reads_claims() && !rule.reads_claim("tid"));
    let by_trust =
        trust.as_ref().is_some_and(|rule| rule.reads_claims() && !rule.reads_claim("tid"));
    let key = if by_roles { "roles" } else { "trust" };
    (takes_any && (by_roles || by_trust)).then(|| {
        format!(
            "tenant is \"{tenant}\", and whoever has a tenant of their own chooses what {key} reads: read claims.tid as \
             well, or set tenant to yours"
        )
    })
}

/// Probably a misspelled role.
fn idle_grants(login: &Login, settings: &Settings) -> Option<String> {
    let administers =
        |role: &str| Role::parse(role).is_some_and(|role| settings.admin_roles.administers(&role));
    let idle = login.rules.grants.iter().find(|role| !administers(role))?;
    Some(format!("grants has {idle}, which does not administer: roles gives it without grants"))
}

/// A role that administers and that `roles` names, but never gives.
fn ungranted(login: &Login, settings: &Settings) -> Option<String> {
    let Rules { roles, grants, .. } = &*login.rules;
    let text = roles.as_ref()?.text();
    let is_named =
        |role: &&str| text.contains(&format!("\"{role}\"")) || text.contains(&format!("'{role}'"));
    let administering = settings.admin_roles.beyond(Scopes::NONE).map(Role::as_str);
    let role = administering.into_iter().filter(|role| !grants.contains(role)).find(is_named)?;
    Some(format!(
        "roles names {role}, which administers and is never given: set grants = [\"{role}\"], or remove it"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(login: &str) -> Settings {
        let settings = Settings::new()
            .with_toml(&format!("[admin.support]\nscopes = ['users:read']\n{login}\n"));
        settings.check().unwrap_or_else(|error| panic!("{login}: {error}"));
        settings
    }

    fn findings(login: &str, public_base: &str) -> LoginFindings {
        let settings = settings(login);
        let login = settings.logins.iter().next().unwrap();
        login_findings(login, &settings, public_base)
    }

    const BASE: &str = "https://auth.example.com";
    const GITLAB: &str = "[logins.gitlab]\nclient_id = 'a'\n";

    #[test]
    fn a_sound_login_has_no_findings() {
        for rules in [
            "",
            "join = 'claims.hd == \"example.com\"'",
            "join = 'claims.email_verified && claims.email.endsWith(\"@example.com\")'",
            "roles = 'claims.groups'\ngrants = ['support']",
            "trust = '\"mfa\" in claims.amr'\nsession = '30d'",
            "roles = 'claims.hd == \"x\" ? [\"admin\"] : []'\ngrants = ['admin']",
        ] {
            assert_eq!(
                findings(&format!("{GITLAB}{rules}"), BASE),
                LoginFindings::default(),
                "{rules}"
            );
        }
    }

    #[test]
    fn a_dangerous_or_useless_rule_is_warned_of() {
        let gitlab = |rule: &str| format!("{GITLAB}{rule}");
        let microsoft =
            |rule: &str| format!("[logins.microsoft]\nclient_id = 'a'\ntenant = 'common'\n{rule}");
        for (login, start) in [
            (
                gitlab("join = 'claims.email == \"a@b.example\"'"),
                "join reads claims.email but not claims.email_verified",
            ),
            (gitlab("roles = '[string(claims.email)]'"), "roles reads claims.email but not"),
            (gitlab("trust = 'claims.email == \"a\"'"), "trust reads claims.email but not"),
            (
                microsoft("join = 'claims.email == \"a\"'"),
                "join reads claims.email but not claims.xms_edov",
            ),
            (gitlab("trust = 'true'"), "trust reads no claim"),
            (
                microsoft("roles = 'claims.groups'"),
                "tenant is \"common\", and whoever has a tenant of their own chooses what roles",
            ),
            (
                microsoft("trust = '\"mfa\" in claims.amr'"),
                "tenant is \"common\", and whoever has a tenant of their own chooses what trust",
            ),
            (gitlab("grants = ['admin']"), "grants does nothing without roles"),
            (
                gitlab("grants = ['amdin']\nroles = 'claims.groups'"),
                "grants has amdin, which does not administer",
            ),
            (
                gitlab("roles = '[\"support\"]'"),
                "roles names support, which administers and is never given",
            ),
            (
                gitlab("session = '60d'"),
                "session is 60d, but no session lasts longer than session.lifetime, which is 30d",
            ),
        ] {
            let found = findings(&login, BASE);
            let [warning] = &found.warnings[..] else { panic!("{login}: {found:?}") };
            assert!(warning.starts_with(start), "{warning}");
            assert_eq!(found.missing, [""; 0]);
        }
        let tid = microsoft("roles = 'claims.tid == \"x\" ? claims.groups : []'");
        assert_eq!(findings(&tid, BASE), LoginFindings::default());
    }

    #[test]
    fn files_that_cannot_be_read_are_missing_and_no_error_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).display().to_string();
        fs::write(file("secret"), "hunter2").unwrap();
        fs::write(file("empty"), "").unwrap();
        let login = |secret: &str| format!("{GITLAB}client_secret_file = '{}'", file(secret));
        assert_eq!(findings(&login("secret"), BASE), LoginFindings::default());
        for (login, start) in [
            (login("nothing"), format!("client_secret_file: {}: No such file", file("nothing"))),
            (login("empty"), format!("client_secret_file: {}: the file is empty", file("empty"))),
            (login(""), format!("client_secret_file: {}: it is a folder", file(""))),
            (
                format!("{GITLAB}ca_file = '{}'", file("ca")),
                format!("ca_file: {}: No such", file("ca")),
            ),
            (
                format!(
                    "[logins.apple]\nclient_id = 'a'\nteam_id = 'ABCDE12345'\nkey_id = 'ABCDE12345'\nkey_file = '{}'",
                    file("key")
                ),
                format!("key_file: {}: No such file", file("key")),
            ),
        ] {
            let found = findings(&login, BASE).missing;
            let [missing] = &found[..] else { panic!("{login}: {found:?}") };
            assert!(missing.starts_with(&start), "{missing}");
        }
    }

    #[test]
    fn what_a_provider_asks_for_is_missing() {
        let google = findings("[logins.google]\nclient_id = 'a'", BASE).missing;
        assert!(
            google[0].starts_with("client_secret_file is not set, and Google asks"),
            "{google:?}"
        );
        for (base, is_missing) in [
            (BASE, false),
            ("http://localhost:3000", false),
            ("http://127.0.0.1:3000", false),
            ("http://auth.example.com", true),
            ("http://192.0.2.7:3000", true),
        ] {
            let missing = findings(GITLAB, base).missing;
            assert_eq!(missing.len(), usize::from(is_missing), "{base}: {missing:?}");
        }
    }
}
