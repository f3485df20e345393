//! A provider as it is declared in the settings.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use ipnet::IpNet;

use super::{ExternalPerson, Preset};
use crate::{
    access::{
        admin_role::AdminRoles,
        guard::{CallerFacts, Condition, Expression, FieldsRead, RequestFacts},
    },
    clock::Timestamp,
    user::{Role, Roles},
};

/// A provider that people sign in with, as declared in `[logins.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    pub name: String,
    pub preset: Preset,
    /// The provider that people see: that of the preset, also where `doorward dev` answers in its place.
    pub shown_as: Preset,
    /// What people call it.
    pub label: String,
    /// Where it is.
    pub issuer: String,
    /// Whose people may sign in, for Microsoft.
    pub tenant: Option<String>,
    pub client_id: String,
    pub credential: Credential,
    /// What it is asked for besides what its preset asks for.
    pub scopes: Vec<String>,
    /// Certificates that are trusted for it besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// Networks that are not public in which it may name hosts.
    pub allow_networks: Vec<IpNet>,
    pub rules: Arc<Rules>,
    /// Changes with the declaration.
    pub version: String,
}

/// How Doorward shows a provider who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    None,
    /// A file with the secret, read when it is used.
    SecretFile(PathBuf),
    /// The key that Apple has given, with which a secret is signed for each request.
    AppleKey {
        team_id: String,
        key_id: String,
        key_file: PathBuf,
    },
}

/// What a login means here.
#[derive(Debug, Default, PartialEq)]
pub struct Rules {
    /// Who may get an account. Everybody without it.
    pub join: Option<Condition>,
    /// Which roles people have, at each sign-in anew.
    pub roles: Option<Expression>,
    /// Whose sign-in there counts as two factors.
    pub trust: Option<Condition>,
    /// Roles that administer and that `roles` may give.
    pub grants: Roles,
    /// The most that a session lasts.
    pub session: Option<Duration>,
    /// Domains of addresses whose people go straight there.
    pub only_for: Vec<String>,
    /// Whether it may become the way in to an account that was made for somebody and that nobody has used.
    pub claim: bool,
}

impl Rules {
    /// What each of them reads, by its key.
    pub fn reads(&self) -> impl Iterator<Item = (&'static str, &FieldsRead)> {
        let Self { join, roles, trust, .. } = self;
        let all = [
            ("join", join.as_ref().map(Condition::reads)),
            ("roles", roles.as_ref().map(Expression::reads)),
            ("trust", trust.as_ref().map(Condition::reads)),
        ];
        all.into_iter().filter_map(|(key, reads)| Some((key, reads?)))
    }
}

/// All logins, in the order of their names.
#[derive(Debug, Default, PartialEq)]
pub struct LoginSet(BTreeMap<String, Arc<Login>>);

impl LoginSet {
    pub fn add(&mut self, login: Login) {
        self.0.insert(login.name.clone(), Arc::new(login));
    }

    pub fn by_name(&self, name: &str) -> Option<&Arc<Login>> {
        self.0.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Login>> {
        self.0.values()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first login whose identities are stored under this issuer.
    pub fn by_issuer(&self, issuer: &str) -> Option<&Arc<Login>> {
        self.iter().find(|login| login.stored_issuer().as_deref() == Some(issuer))
    }

    /// Whether a login still signs in by an identity of this issuer, which was used last by the login with this name.
    pub fn can_use(&self, issuer: &str, name: &str) -> bool {
        let by_name = || self.by_name(name).is_some_and(|login| login.stored_issuer().is_none());
        self.by_issuer(issuer).is_some() || by_name()
    }

    /// The login where the people of this domain sign in.
    pub fn for_domain(&self, domain: &str) -> Option<&Arc<Login>> {
        let has = |listed: &String| listed.eq_ignore_ascii_case(domain);
        self.iter().find(|login| login.rules.only_for.iter().any(has))
    }
}

impl Login {
    /// The issuer under which the identities of its people are stored. `None` if each tenant has its own.
    pub fn stored_issuer(&self) -> Option<String> {
        self.preset.stored_issuer(&self.issuer)
    }

    /// The most bytes of a name.
    pub const MAX_NAME: usize = 40;

    /// Whether a login can have this name.
    pub fn is_name(name: &str) -> bool {
        let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (1..=Self::MAX_NAME).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(is_allowed)
    }

    /// Where people come back to.
    pub fn redirect_uri(&self, public_base: &str) -> String {
        format!("{public_base}/sign-in/with/{}/back", self.name)
    }

    /// Whether one of its rules may depend on this claim, so that a provider that has to be asked for it is asked.
    pub fn reads_claim(&self, name: &str) -> bool {
        self.rules.reads().any(|(_, reads)| reads.claim(name))
    }

    /// Whether somebody may get an account. Not if `join` cannot be evaluated, for example because a claim is absent.
    pub fn admits(&self, person: &ExternalPerson, address: Option<IpAddr>, now: Timestamp) -> bool {
        self.rules.join.as_ref().is_none_or(|join| holds(join, person, address, now))
    }

    /// The roles that somebody has by it: none if `roles` cannot be evaluated. What is not the name of a role gives none, and a role
    /// that administers is given only if `grants` names it.
    pub fn roles_of(
        &self,
        person: &ExternalPerson,
        address: Option<IpAddr>,
        now: Timestamp,
        administrators: &AdminRoles,
    ) -> Roles {
        let mut given = Roles::default();
        let Some(roles) = &self.rules.roles else { return given };
        let facts = CallerFacts::of_external(&person.claims);
        let names = roles.texts(&facts, &request(address, now)).unwrap_or_default();
        let may_give = |role: &Role| {
            !administrators.administers(role) || self.rules.grants.contains(role.as_str())
        };
        for role in names.iter().filter_map(|name| Role::parse(name)).filter(may_give) {
            given.grant(role);
        }
        given
    }

    /// Whether the sign-in of somebody there counts as two factors. Not if `trust` is not set or cannot be evaluated.
    pub fn trusts(&self, person: &ExternalPerson, address: Option<IpAddr>, now: Timestamp) -> bool {
        self.rules.trust.as_ref().is_some_and(|trust| holds(trust, person, address, now))
    }
}

fn holds(
    condition: &Condition,
    person: &ExternalPerson,
    address: Option<IpAddr>,
    now: Timestamp,
) -> bool {
    let facts = CallerFacts::of_external(&person.claims);
    condition.holds(&facts, &request(address, now)).is_ok()
}

fn request(address: Option<IpAddr>, now: Timestamp) -> RequestFacts<'static> {
    let address = address.map(|address| address.to_canonical());
    RequestFacts { address, ..RequestFacts::at(now) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{access::guard::Subject, user::MAX_ROLES};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn login(rules: Rules) -> Login {
        Login {
            name: "work".into(),
            preset: Preset::Oidc,
            shown_as: Preset::Oidc,
            label: "Work".into(),
            issuer: "https://sso.example.com".into(),
            tenant: None,
            client_id: "doorward".into(),
            credential: Credential::None,
            scopes: Vec::new(),
            ca_file: None,
            allow_networks: Vec::new(),
            rules: Arc::new(rules),
            version: String::new(),
        }
    }

    fn condition(text: &str) -> Option<Condition> {
        let parsed = Condition::parse_about(Subject::External, text);
        Some(parsed.unwrap_or_else(|error| panic!("{text}: {error:?}")))
    }

    fn roles(text: &str) -> Option<Expression> {
        let parsed = Expression::parse_list_about(Subject::External, text);
        Some(parsed.unwrap_or_else(|error| panic!("{text}: {error:?}")))
    }

    fn person(claims: &str) -> ExternalPerson {
        ExternalPerson {
            issuer: "https://sso.example.com".into(),
            subject: "1".into(),
            email: None,
            name: None,
            display: "ada".into(),
            authenticated_at: None,
            session_id: None,
            claims: serde_json::from_str(claims).unwrap(),
        }
    }

    fn given(text: &str, grants: &[&str], claims: &str) -> String {
        let grants = grants.iter().filter_map(|role| Role::parse(role)).collect();
        let login = login(Rules { roles: roles(text), grants, ..Rules::default() });
        login.roles_of(&person(claims), None, NOW, &AdminRoles::default()).to_text()
    }

    #[test]
    fn everybody_is_admitted_and_nobody_trusted_without_a_rule() {
        let login = login(Rules::default());
        assert!(login.admits(&person("{}"), None, NOW));
        assert!(!login.trusts(&person("{}"), None, NOW));
        assert!(login.roles_of(&person("{}"), None, NOW, &AdminRoles::default()).is_empty());
    }

    #[test]
    fn a_rule_decides_by_claims_address_and_time() {
        for (text, claims, holds) in [
            (r#"claims.hd == "example.com""#, r#"{"hd":"example.com"}"#, true),
            (r#"claims.hd == "example.com""#, r#"{"hd":"elsewhere.example"}"#, false),
            (r#""mfa" in claims.amr"#, r#"{"amr":["pwd","mfa"]}"#, true),
            (r#""mfa" in claims.amr"#, r#"{"amr":["pwd"]}"#, false),
            (r#"request.address.inNetwork("192.0.2.0/24")"#, "{}", true),
            ("request.time.getFullYear() == 2027", "{}", true),
        ] {
            let rules = Rules { join: condition(text), trust: condition(text), ..Rules::default() };
            let login = login(rules);
            let address = Some("::ffff:192.0.2.7".parse().unwrap());
            assert_eq!(login.admits(&person(claims), address, NOW), holds, "{text}");
            assert_eq!(login.trusts(&person(claims), address, NOW), holds, "{text}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_evaluated_admits_and_trusts_nobody_and_gives_no_role() {
        for text in [
            r#"claims.hd == "example.com""#,
            r#"claims.hd != "example.com""#,
            r#"!("banned" in claims.groups)"#,
            "claims.realm_access.roles.size() == 0",
            "request.address.inNetwork('::/0')",
            "claims.name",
        ] {
            let rules = Rules { join: condition(text), trust: condition(text), ..Rules::default() };
            let login = login(rules);
            let nobody = person(r#"{"sub":"1","name":"Ada","groups":null}"#);
            assert!(!login.admits(&nobody, None, NOW), "{text}");
            assert!(!login.trusts(&nobody, None, NOW), "{text}");
        }
        for text in ["claims.groups", r#"claims.groups.map(g, "team:" + g)"#, "claims.name"] {
            assert_eq!(given(text, &[], r#"{"name":"Ada","groups":["a",1]}"#), "", "{text}");
        }
    }

    #[test]
    fn roles_are_those_of_the_list_that_are_valid() {
        let claims = r#"{"hd":"example.com","groups":["a","two words","","ü","b/c"]}"#;
        for (text, expected) in [
            ("claims.groups", "a b/c"),
            (r#"claims.groups.filter(g, g != "a")"#, "b/c"),
            (r#"["a", "b"].map(g, "team:" + g)"#, "team:a team:b"),
            (r#"claims.hd == "example.com" ? ["staff"] : []"#, "staff"),
            (r#"claims.hd == "other.example" ? ["staff"] : []"#, ""),
            (r#"["staff"]"#, "staff"),
            (r#"["of:" + claims.hd, string(claims.hd)]"#, "example.com of:example.com"),
        ] {
            assert_eq!(given(text, &[], claims), expected, "{text}");
        }
    }

    #[test]
    fn a_role_that_administers_is_given_only_if_grants_names_it() {
        let claims = r#"{"groups":["admin","staff"]}"#;
        assert_eq!(given("claims.groups", &[], claims), "staff");
        assert_eq!(given("claims.groups", &["support"], claims), "staff");
        assert_eq!(given("claims.groups", &["admin"], claims), "admin staff");
        assert_eq!(given("claims.groups", &["admin"], r#"{"groups":["staff"]}"#), "staff");
    }

    #[test]
    fn no_more_roles_are_given_than_a_user_can_have() {
        let groups: Vec<_> = (0..MAX_ROLES + 10).map(|number| format!("g{number}")).collect();
        let claims = serde_json::json!({ "groups": groups }).to_string();
        let roles = given("claims.groups", &[], &claims);
        assert_eq!(roles.split(' ').count(), MAX_ROLES);
    }

    #[test]
    fn the_claims_that_rules_read_are_known() {
        let rules = Rules {
            join: condition(r#"has(claims.hd) && claims.address.country == "DE""#),
            roles: roles(r#"claims["teams"]"#),
            trust: condition("request.time.getHours() > 5"),
            ..Rules::default()
        };
        let some = login(rules);
        for (name, is_read) in
            [("hd", true), ("address", true), ("teams", true), ("country", false), ("amr", false)]
        {
            assert_eq!(some.reads_claim(name), is_read, "{name}");
        }
        let rules = Rules { join: condition(r#""hd" in claims"#), ..Rules::default() };
        assert!(login(rules).reads_claim("anything"));
    }

    #[test]
    fn a_domain_leads_to_its_login_in_any_case() {
        let mut set = LoginSet::default();
        let rules = Rules { only_for: vec!["example.com".into()], ..Rules::default() };
        set.add(login(rules));
        assert_eq!(set.for_domain("Example.COM").map(|login| &*login.name), Some("work"));
        assert_eq!(set.for_domain("sub.example.com"), None);
    }
}
