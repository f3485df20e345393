//! What a login lacks, and which of its rules are probably wrong. The start and a reload log the warnings; `doorward doctor` and
//! `doorward login check` report both.

use super::{Settings, show_duration};
use crate::{
    access::{guard::AppOrigin, scope::Scopes},
    federation::{Finding, FindingLevel, Login, LoginSet, Preset, Rules},
    user::Role,
};

/// What a login lacks with the settings around it, and which of its rules are probably wrong. `public_base` is the URL that
/// providers send browsers back to.
pub(crate) fn login_findings(
    login: &Login,
    settings: &Settings,
    public_base: &str,
) -> Vec<Finding> {
    let finding = |level| move |text| Finding { level, text };
    let missing = redirect(login, public_base).map(finding(FindingLevel::Error));
    let warnings = warnings(login, settings).into_iter().map(finding(FindingLevel::Warning));
    missing.into_iter().chain(warnings).collect()
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
    let Rules { roles, trust, grants, session, .. } = &*login.rules;
    let mut found = Vec::new();
    for (key, _) in login.rules.reads().filter(|(_, reads)| reads.trusts_unverified_email()) {
        let (verified, advice) = match login.shown_as {
            Preset::Microsoft => ("claims.xms_edov", "read claims.tid, or claims.xms_edov as well"),
            _ => ("claims.email_verified", "write `claims.email_verified && (…)`"),
        };
        found.push(format!(
            "{key} reads claims.email but not {verified}, and people may have set any address there: {advice}"
        ));
    }
    if trust.as_ref().is_some_and(|trust| !trust.reads().any_claim()) {
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
    if !["common", "organizations"].contains(&tenant) {
        return None;
    }
    let mut of_sign_in = login.rules.reads().filter(|(key, _)| *key != "join");
    let (key, _) = of_sign_in.find(|(_, reads)| reads.any_claim() && !reads.claim("tid"))?;
    Some(format!(
        "tenant is \"{tenant}\", and whoever has a tenant of their own chooses what {key} reads: read claims.tid as \
         well, or set tenant to yours"
    ))
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
    use super::*;

    fn settings(login: &str) -> Settings {
        let settings = Settings::new()
            .with_toml(&format!("[admin.support]\nscopes = ['users:read']\n{login}\n"));
        settings.check().unwrap_or_else(|error| panic!("{login}: {error}"));
        settings
    }

    fn findings(login: &str, public_base: &str) -> Vec<Finding> {
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
            assert_eq!(findings(&format!("{GITLAB}{rules}"), BASE), [], "{rules}");
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
            let [Finding { level: FindingLevel::Warning, text }] = &found[..] else {
                panic!("{login}: {found:?}")
            };
            assert!(text.starts_with(start), "{text}");
        }
        let tid = microsoft("roles = 'claims.tid == \"x\" ? claims.groups : []'");
        assert_eq!(findings(&tid, BASE), []);
    }

    #[test]
    fn a_provider_sends_people_back_only_to_https_or_this_machine() {
        for (base, is_missing) in [
            (BASE, false),
            ("http://localhost:3000", false),
            ("http://127.0.0.1:3000", false),
            ("http://auth.example.com", true),
            ("http://192.0.2.7:3000", true),
        ] {
            let levels: Vec<_> = findings(GITLAB, base).iter().map(|found| found.level).collect();
            let expected = if is_missing { &[FindingLevel::Error][..] } else { &[] };
            assert_eq!(levels, expected, "{base}");
        }
    }
}
