//! The `[logins]` tables of a settings file: other providers that people sign in with.

use std::{net::IpAddr, ops::Range, path::PathBuf, sync::Arc, time::Duration};

use ipnet::IpNet;
use serde::Deserialize;
use serde_spanned::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{
    SettingsError,
    file::SettingsFile,
    table::{self, FromText, ShortText, Text},
    value::{MINUTE, days, enumerate, parse_duration},
};
use crate::{
    access::guard::{Condition, ConditionError, Expression, Subject, is_loopback_host},
    federation::{Credential, Login, LoginSet, Preset, Rules},
    outbound::http::host_of,
    sha256::sha256,
    spelling::suggest,
    user::{Email, Role},
};

/// Reads and checks all logins. An error in one of them rejects all.
pub(super) fn read(file: &SettingsFile, logins: &DeTable<'_>) -> Result<LoginSet, SettingsError> {
    let mut set = LoginSet::default();
    for (name, table) in logins {
        set.add(login(file, name, table, &set)?);
    }
    Ok(set)
}

/// The keys of a login.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginTable {
    preset: Option<Preset>,
    client_id: Text<Identifier>,
    client_secret_file: Option<Spanned<Text<PathBuf>>>,
    label: Option<Text<ShortText<40>>>,
    issuer: Option<Spanned<Text<Issuer>>>,
    tenant: Option<Spanned<Text<Tenant>>>,
    team_id: Option<Spanned<Text<AppleId>>>,
    key_id: Option<Spanned<Text<AppleId>>>,
    key_file: Option<Spanned<Text<PathBuf>>>,
    #[serde(default)]
    scopes: Vec<Text<Identifier>>,
    ca_file: Option<Text<PathBuf>>,
    #[serde(default)]
    allow_networks: Vec<Text<IpNet>>,
    join: Option<Spanned<String>>,
    roles: Option<Spanned<String>>,
    trust: Option<Spanned<String>>,
    #[serde(default)]
    grants: Vec<Text<Role>>,
    session: Option<Text<SessionCap>>,
    #[serde(default)]
    only_for: Vec<Spanned<Text<Domain>>>,
    #[serde(default)]
    claim: bool,
}

/// One table, with where its name is.
struct Place<'f> {
    file: &'f SettingsFile,
    /// Its path, such as `logins.work`.
    path: String,
    name: Range<usize>,
}

impl Place<'_> {
    fn error(&self, at: usize, message: &str) -> SettingsError {
        self.file.error(at, &format!("{}: {message}", self.path))
    }

    /// What the table lacks or is called.
    fn error_of_table(&self, message: &str) -> SettingsError {
        self.error(self.name.start, message)
    }

    fn error_of_key(&self, at: usize, key: &str, message: &str) -> SettingsError {
        self.file.error(at, &format!("{}.{key}: {message}", self.path))
    }

    /// Compiles a rule.
    fn rule<T>(
        &self,
        key: &str,
        text: Option<&Spanned<String>>,
        parse: fn(Subject, &str) -> Result<T, ConditionError>,
    ) -> Result<Option<T>, SettingsError> {
        let parsed = text.map(|text| {
            parse(Subject::External, text.get_ref()).map_err(|fault| {
                let at = self.file.within(text.span(), text.get_ref(), fault.at);
                self.error_of_key(at, key, &fault.message)
            })
        });
        parsed.transpose()
    }
}

fn login(
    file: &SettingsFile,
    name: &Spanned<DeString<'_>>,
    table: &Spanned<DeValue<'_>>,
    others: &LoginSet,
) -> Result<Login, SettingsError> {
    let text = name.get_ref().as_ref();
    let place = Place { file, path: format!("logins.{text}"), name: name.span() };
    if !Login::is_name(text) {
        return Err(place.error_of_table(&format!(
            "not the name of a login: use 1 to {} of a-z, 0-9 and -, a letter first",
            Login::MAX_NAME
        )));
    }
    let table: LoginTable = table::read(file, "logins", name, table)?;
    let preset = match table.preset {
        Some(preset) => preset,
        None => Preset::by_name(text).ok_or_else(|| place.error_of_table(&without_preset(text)))?,
    };
    let credential = credential(&place, preset, &table)?;
    let rules = Rules {
        join: place.rule("join", table.join.as_ref(), Condition::parse_about)?,
        roles: place.rule("roles", table.roles.as_ref(), Expression::parse_list_about)?,
        trust: place.rule("trust", table.trust.as_ref(), Condition::parse_about)?,
        grants: table.grants.into_iter().map(|Text(role)| role).collect(),
        session: table.session.map(|Text(SessionCap(session))| session),
        only_for: only_for(&place, table.only_for, others)?,
        claim: table.claim,
    };
    let login = Login {
        name: text.to_owned(),
        preset,
        shown_as: preset,
        label: match table.label {
            Some(Text(ShortText(label))) => label,
            None if preset == Preset::Oidc => text.to_owned(),
            None => preset.label().to_owned(),
        },
        issuer: issuer(&place, preset, table.issuer)?,
        tenant: tenant(&place, preset, table.tenant)?,
        client_id: table.client_id.0.0,
        credential,
        scopes: table.scopes.into_iter().map(|Text(Identifier(scope))| scope).collect(),
        ca_file: table.ca_file.map(|Text(path)| path),
        allow_networks: table.allow_networks.into_iter().map(|Text(network)| network).collect(),
        rules: Arc::new(rules),
        version: String::new(),
    };
    // What the declaration says is all that a login has.
    let digest = sha256(format!("{login:?}"));
    let version = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Login { version, ..login })
}

fn without_preset(name: &str) -> String {
    let presets = Preset::ALL.map(Preset::name).into_iter();
    match suggest(name, presets.clone()) {
        Some(meant) => {
            format!("did you mean [logins.{meant}]? Under another name, set preset = \"{meant}\"")
        }
        None => format!(
            "preset is missing: write preset = \"oidc\" and the issuer, or one of {}",
            enumerate(presets, "or")
        ),
    }
}

/// Where an administrator of any tenant chooses the addresses of its people, and whether they count as verified.
const MICROSOFT_HOSTS: [&str; 4] = [
    "login.microsoftonline.com",
    "login.microsoftonline.us",
    "login.partner.microsoftonline.cn",
    "sts.windows.net",
];

fn issuer(
    place: &Place<'_>,
    preset: Preset,
    typed: Option<Spanned<Text<Issuer>>>,
) -> Result<String, SettingsError> {
    let Some(typed) = typed else {
        return preset.issuer().map(str::to_owned).ok_or_else(|| {
            place.error_of_table("issuer is missing: the https:// URL of the provider")
        });
    };
    let at = typed.span().start;
    let Text(Issuer(issuer)) = typed.into_inner();
    // It is where they are, and not what their tokens say.
    let is_base = matches!(preset, Preset::GitHub | Preset::Microsoft);
    if is_base && issuer.ends_with('/') {
        return Err(place.error_of_key(at, "issuer", "remove the slash at the end"));
    }
    let is_microsoft = |host: String| MICROSOFT_HOSTS.contains(&host.as_str());
    if preset == Preset::Oidc && host_of(&issuer).is_some_and(is_microsoft) {
        let message = "Microsoft's addresses are not verified: write preset = \"microsoft\" and tenant = \"…\"";
        return Err(place.error_of_key(at, "issuer", message));
    }
    Ok(issuer)
}

fn tenant(
    place: &Place<'_>,
    preset: Preset,
    typed: Option<Spanned<Text<Tenant>>>,
) -> Result<Option<String>, SettingsError> {
    match (preset, typed) {
        (Preset::Microsoft, Some(typed)) => Ok(Some(typed.into_inner().0.0)),
        (Preset::Microsoft, None) => Err(place.error_of_table(
            "tenant is missing: the id or a domain of your organisation, or \"organizations\" (every organisation), \
             \"consumers\" (private accounts) or \"common\" (both)",
        )),
        (_, Some(typed)) => {
            let message = "only microsoft has tenants: remove it";
            Err(place.error_of_key(typed.span().start, "tenant", message))
        }
        (_, None) => Ok(None),
    }
}

/// With what the service shows a provider who it is.
fn credential(
    place: &Place<'_>,
    preset: Preset,
    table: &LoginTable,
) -> Result<Credential, SettingsError> {
    let LoginTable { client_secret_file, team_id, key_id, key_file, .. } = table;
    if preset == Preset::Apple {
        if let Some(file) = client_secret_file {
            let message = "apple gives no secret but a key: set team_id, key_id and key_file";
            return Err(place.error_of_key(file.span().start, "client_secret_file", message));
        }
        let missing = |key: &str| place.error_of_table(&format!("{key} is missing"));
        let team_id = team_id.as_ref().ok_or_else(|| missing("team_id"))?;
        let key_id = key_id.as_ref().ok_or_else(|| missing("key_id"))?;
        let key_file = key_file.as_ref().ok_or_else(|| missing("key_file"))?;
        return Ok(Credential::AppleKey {
            team_id: team_id.get_ref().0.0.clone(),
            key_id: key_id.get_ref().0.0.clone(),
            key_file: key_file.get_ref().0.clone(),
        });
    }
    for (key, span) in [
        ("team_id", team_id.as_ref().map(Spanned::span)),
        ("key_id", key_id.as_ref().map(Spanned::span)),
        ("key_file", key_file.as_ref().map(Spanned::span)),
    ] {
        if let Some(span) = span {
            let message = "only apple has it: set client_secret_file, or neither";
            return Err(place.error_of_key(span.start, key, message));
        }
    }
    let secret = client_secret_file.as_ref();
    Ok(secret.map_or(Credential::None, |file| Credential::SecretFile(file.get_ref().0.clone())))
}

fn only_for(
    place: &Place<'_>,
    typed: Vec<Spanned<Text<Domain>>>,
    others: &LoginSet,
) -> Result<Vec<String>, SettingsError> {
    let mut domains = Vec::new();
    for domain in typed {
        let at = domain.span().start;
        let Text(Domain(domain)) = domain.into_inner();
        if let Some(other) = others.for_domain(&domain) {
            let message = format!("{domain} is already in only_for of logins.{}", other.name);
            return Err(place.error_of_key(at, "only_for", &message));
        }
        if !domains.contains(&domain) {
            domains.push(domain);
        }
    }
    Ok(domains)
}

/// What a provider calls this service, or a scope.
struct Identifier(String);

impl FromText for Identifier {
    fn from_text(text: String) -> Result<Self, String> {
        const MAX_BYTES: usize = 500;
        let is_id = (1..=MAX_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
        match is_id {
            true => Ok(Self(text)),
            false => Err(format!(
                "not a text of 1 to {MAX_BYTES} ASCII characters without spaces, quotation marks and backslashes"
            )),
        }
    }
}

impl FromText for PathBuf {
    fn from_text(text: String) -> Result<Self, String> {
        match text.is_empty() {
            true => Err("not the path of a file".into()),
            false => Ok(text.into()),
        }
    }
}

/// The URL of a provider, byte for byte: it is compared with what the provider says.
struct Issuer(String);

impl FromText for Issuer {
    fn from_text(text: String) -> Result<Self, String> {
        const MAX_BYTES: usize = 500;
        const DISCOVERY: &str = "/.well-known/";
        if let Some(end) = text.find(DISCOVERY) {
            let issuer = &text[..end];
            return Err(format!("the URL of a document: write what is before it, \"{issuer}\""));
        }
        let no_url = "not an https:// URL, such as https://sso.example.com";
        let is_https = text.starts_with("https://");
        if !is_https && !text.starts_with("http://") {
            return Err(no_url.into());
        }
        if text.contains(['?', '#', '@', '\\']) {
            return Err("more than a scheme, a host and a path: remove the rest".into());
        }
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        let Some(host) = host_of(&text).filter(|_| is_visible && text.len() <= MAX_BYTES) else {
            return Err(no_url.into());
        };
        match is_https || is_loopback_host(&host) {
            true => Ok(Self(text)),
            false => Err("plain HTTP: everybody in between could sign in as anybody. Use https://, except on localhost".into()),
        }
    }
}

/// Whose people may sign in at Microsoft, in lower case as in its tokens.
struct Tenant(String);

impl FromText for Tenant {
    fn from_text(text: String) -> Result<Self, String> {
        let tenant = text.to_ascii_lowercase();
        let is_known = ["common", "organizations", "consumers"].contains(&tenant.as_str());
        let is_id = tenant.len() == 36 && uuid::Uuid::parse_str(&tenant).is_ok();
        match is_known || is_id || is_domain(&tenant) {
            true => Ok(Self(tenant)),
            false => Err(
                "not the id of a tenant, a domain, \"common\", \"organizations\" or \"consumers\""
                    .into(),
            ),
        }
    }
}

/// The id of a team or a key at Apple.
struct AppleId(String);

impl FromText for AppleId {
    fn from_text(text: String) -> Result<Self, String> {
        match text.len() == 10 && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
            true => Ok(Self(text)),
            false => Err("not the 10 letters and digits that Apple shows".into()),
        }
    }
}

impl FromText for IpNet {
    fn from_text(text: String) -> Result<Self, String> {
        let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().map(IpNet::from).ok());
        network.ok_or_else(|| "not a network or an address, such as 10.0.0.0/8 or ::1".into())
    }
}

/// The most that a session lasts.
struct SessionCap(Duration);

impl FromText for SessionCap {
    fn from_text(text: String) -> Result<Self, String> {
        let allowed = 5 * MINUTE..=days(90);
        let duration = parse_duration(&text).filter(|duration| allowed.contains(duration));
        duration
            .map(Self)
            .ok_or_else(|| "not a duration from 5m to 90d, such as 90m, 12h or 7d".into())
    }
}

/// A domain of e-mail addresses, in lower case.
struct Domain(String);

impl FromText for Domain {
    fn from_text(text: String) -> Result<Self, String> {
        let domain = text.to_ascii_lowercase();
        if is_domain(&domain) {
            return Ok(Self(domain));
        }
        let hint = match domain.rsplit_once('@') {
            Some((_, domain)) if is_domain(domain) => format!(": write {domain}"),
            _ => String::new(),
        };
        Err(format!("not a domain of e-mail addresses, such as example.com{hint}"))
    }
}

fn is_domain(text: &str) -> bool {
    !text.contains('@') && Email::parse(format!("a@{text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;
    use crate::config::{Settings, tests::load};

    fn logins(file: &str) -> Settings {
        load(&[], &[], file).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    const GOOGLE: &str = "[logins.google]\nclient_id = 'a'\nclient_secret_file = 'google.secret'\n";
    const WORK: &str =
        "[logins.work]\npreset = 'oidc'\nclient_id = 'a'\nissuer = 'https://sso.example.com'\n";

    #[test]
    fn a_login_needs_little_and_has_the_defaults_of_its_preset() {
        let settings = logins(&format!("{GOOGLE}{WORK}"));
        let google = settings.logins.by_name("google").unwrap();
        assert_eq!((google.preset, &*google.label), (Preset::Google, "Google"));
        assert_eq!(Some(&*google.issuer), Preset::Google.issuer());
        let secret = Credential::SecretFile("google.secret".into());
        assert_eq!((&*google.client_id, &google.credential), ("a", &secret));
        assert_eq!(*google.rules, Rules::default());
        let work = settings.logins.by_name("work").unwrap();
        assert_eq!((&*work.label, &*work.issuer), ("work", "https://sso.example.com"));
        assert_eq!(work.credential, Credential::None);
        let names: Vec<_> = settings.logins.iter().map(|login| &*login.name).collect();
        assert_eq!(names, ["google", "work"]);
        assert!(logins("").logins.is_empty());
    }

    #[test]
    fn every_key_is_read() {
        let settings = logins(
            "[logins.sso]\npreset = 'gitlab'\nclient_id = 'a-b.c'\nclient_secret_file = '/run/secret'\nlabel = ' Our GitLab '\n\
             issuer = 'https://git.example.com:8443/x/'\nscopes = ['read_api']\nca_file = 'ca.pem'\n\
             allow_networks = ['10.0.0.0/8', '::1']\njoin = 'claims.email_verified'\nroles = 'claims.groups'\n\
             trust = '\"mfa\" in claims.amr'\ngrants = ['admin']\nsession = '12h'\n\
             only_for = ['Example.com', 'example.org', 'example.com']\nclaim = true\n",
        );
        let login = settings.logins.by_name("sso").unwrap();
        assert_eq!((login.preset, &*login.label), (Preset::GitLab, "Our GitLab"));
        assert_eq!(login.issuer, "https://git.example.com:8443/x/");
        assert_eq!(login.scopes, ["read_api"]);
        assert_eq!(login.ca_file.as_deref(), Some(Path::new("ca.pem")));
        let networks: Vec<_> = login.allow_networks.iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["10.0.0.0/8", "::1/128"]);
        let rules = &login.rules;
        assert_eq!(rules.join.as_ref().map(Condition::text), Some("claims.email_verified"));
        assert_eq!(rules.roles.as_ref().map(Expression::text), Some("claims.groups"));
        assert_eq!(rules.trust.as_ref().map(Condition::text), Some("\"mfa\" in claims.amr"));
        assert_eq!(rules.grants.to_text(), "admin");
        assert_eq!(rules.session, Some(Duration::from_secs(12 * 60 * 60)));
        assert_eq!(rules.only_for, ["example.com", "example.org"]);
        assert!(rules.claim);
        let found = settings.logins.for_domain("EXAMPLE.org");
        assert_eq!(found.map(|login| &*login.name), Some("sso"));
    }

    #[test]
    fn microsoft_has_a_tenant_and_apple_a_key() {
        let settings = logins(
            "[logins.microsoft]\nclient_id = 'a'\ntenant = '8EAEF023-2B34-4DA1-9BAA-8BC8C9D6A490'\n\
             [logins.apple]\nclient_id = 'a'\nteam_id = 'ABCDE12345'\nkey_id = 'FGHIJ67890'\nkey_file = 'key.p8'\n",
        );
        let microsoft = settings.logins.by_name("microsoft").unwrap();
        assert_eq!(microsoft.tenant.as_deref(), Some("8eaef023-2b34-4da1-9baa-8bc8c9d6a490"));
        let key = Credential::AppleKey {
            team_id: "ABCDE12345".into(),
            key_id: "FGHIJ67890".into(),
            key_file: "key.p8".into(),
        };
        assert_eq!(settings.logins.by_name("apple").unwrap().credential, key);
        for tenant in ["common", "organizations", "consumers", "contoso.onmicrosoft.com"] {
            logins(&format!("[logins.microsoft]\nclient_id = 'a'\ntenant = '{tenant}'\n"));
        }
    }

    #[test]
    fn an_issuer_stays_as_it_is_typed() {
        for issuer in [
            "https://sso.example.com/",
            "https://SSO.example.com/realms/Main",
            "http://localhost:9400",
            "http://127.0.0.1:9400/x/",
            "http://[::1]:9400",
        ] {
            let settings = logins(&WORK.replace("https://sso.example.com", issuer));
            assert_eq!(settings.logins.by_name("work").unwrap().issuer, issuer);
        }
    }

    #[test]
    fn a_mistake_is_refused_with_its_place_and_what_to_do() {
        let google = |line: &str| format!("{GOOGLE}{line}\n");
        let work = |line: &str| format!("{WORK}{line}\n");
        let issuer = |issuer: &str| WORK.replace("https://sso.example.com", issuer);
        let microsoft = "[logins.microsoft]\nclient_id = 'a'\n";
        let apple = "[logins.apple]\nclient_id = 'a'\nteam_id = 'ABCDE12345'\n";
        let both = format!(
            "{GOOGLE}only_for = ['example.com']\n{WORK}only_for = ['a.example', 'Example.com']\n"
        );
        for (file, error) in [
            ("logins = 1".into(), "1:10: logins: not a table: write [logins.NAME]"),
            ("logins.a = 1".into(), "1:8: logins.a: a value of type integer is not a table"),
            (
                "[logins.Work]\n".into(),
                "1:9: logins.Work: not the name of a login: use 1 to 40 of a-z, 0-9 and -, a letter first",
            ),
            ("[logins.1a]\n".into(), "1:9: logins.1a: not the name of a login"),
            ("[logins.google]\n".into(), "1:9: logins.google: client_id is missing"),
            (
                "[logins.gogle]\nclient_id = 'a'".into(),
                "1:9: logins.gogle: did you mean [logins.google]? Under another name, set preset = \"google\"",
            ),
            (
                "[logins.work]\nclient_id = 'a'".into(),
                "1:9: logins.work: preset is missing: write preset = \"oidc\" and the issuer, or one of google, github, \
                 microsoft, apple, gitlab or oidc",
            ),
            (
                "[logins.work]\nclient_id = 'a'\npreset = 'gogle'".into(),
                "3:10: logins.work.preset: \"gogle\" is not one of google, github, microsoft, apple, gitlab, oidc: did you \
                 mean google?",
            ),
            (
                "[logins.oidc]\nclient_id = 'a'".into(),
                "1:9: logins.oidc: issuer is missing: the https:// URL of the provider",
            ),
            (
                google("jion = 'true'"),
                "4:1: logins.google.jion: unknown setting: did you mean join?",
            ),
            (
                google("mail = 1"),
                "4:1: logins.google.mail: unknown setting: there are preset, client_id, ",
            ),
            (
                google("listen = '127.0.0.1:1'"),
                "4:1: logins.google.listen: unknown setting: listen is not of this table: move it above the first [table]",
            ),
            (
                "[logins.google]\nclient_id = 'a b'".into(),
                "2:13: logins.google.client_id: not a text of 1 to 500",
            ),
            (
                google("tenant = 'common'"),
                "4:10: logins.google.tenant: only microsoft has tenants: remove it",
            ),
            (
                microsoft.into(),
                "1:9: logins.microsoft: tenant is missing: the id or a domain of your organisation, or ",
            ),
            (
                format!("{microsoft}tenant = 'x'"),
                "3:10: logins.microsoft.tenant: not the id of a tenant, a domain, ",
            ),
            (apple.into(), "1:9: logins.apple: key_id is missing"),
            (
                format!("{apple}key_id = 'a'"),
                "4:10: logins.apple.key_id: not the 10 letters and digits that Apple shows",
            ),
            (
                format!("{apple}client_secret_file = 'a'"),
                "4:22: logins.apple.client_secret_file: apple gives no secret but a key: set team_id, key_id and key_file",
            ),
            (
                google("key_file = 'a'"),
                "4:12: logins.google.key_file: only apple has it: set client_secret_file, or neither",
            ),
            (
                google("client_secret_file = ''").replacen(
                    "client_secret_file = 'google.secret'\n",
                    "",
                    1,
                ),
                "3:22: ",
            ),
            (
                issuer("http://sso.example.com"),
                "4:10: logins.work.issuer: plain HTTP: everybody in between could ",
            ),
            (
                issuer("sso.example.com"),
                "4:10: logins.work.issuer: not an https:// URL, such as https://sso.",
            ),
            (issuer("https://"), "4:10: logins.work.issuer: not an https:// URL"),
            (issuer("https://a b"), "4:10: logins.work.issuer: not an https:// URL"),
            (issuer("https://[a]"), "4:10: logins.work.issuer: not an https:// URL"),
            (issuer("https://a:0"), "4:10: logins.work.issuer: not an https:// URL"),
            (
                issuer("https://a/?b"),
                "4:10: logins.work.issuer: more than a scheme, a host and a path: remove the rest",
            ),
            (issuer("https://u@a"), "4:10: logins.work.issuer: more than a scheme"),
            (
                issuer("https://Login.microsoftonline.com/common/v2.0"),
                "4:10: logins.work.issuer: Microsoft's addresses are not verified: write preset = \"microsoft\" and \
                 tenant = \"…\"",
            ),
            (
                issuer("https://sts.windows.net/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/"),
                "4:10: logins.work.issuer: Microsoft's addresses are not verified",
            ),
            (
                issuer("https://a/b/.well-known/openid-configuration"),
                "4:10: logins.work.issuer: the URL of a document: write what is before it, \"https://a/b\"",
            ),
            (
                "[logins.github]\nclient_id = 'a'\nissuer = 'https://git.example.com/'".into(),
                "3:10: logins.github.issuer: remove the slash at the end",
            ),
            (google("scopes = ['a', 'b c']"), "4:16: logins.google.scopes: not a text of 1 to 500"),
            (
                google("allow_networks = ['10.0.0.0/33']"),
                "4:19: logins.google.allow_networks: not a network or an address",
            ),
            (google("grants = ['two words']"), "4:11: logins.google.grants: not a role: "),
            (
                google("session = '1m'"),
                "4:11: logins.google.session: not a duration from 5m to 90d, such as 90m, 12h or 7d",
            ),
            (
                google("session = 5"),
                "4:11: logins.google.session: a value of type integer is not a text",
            ),
            (
                google("claim = 'yes'"),
                "4:9: logins.google.claim: a value of type string is not true or false",
            ),
            (
                google("only_for = ['@example.com']"),
                "4:13: logins.google.only_for: not a domain of e-mail addresses, such as \
                 example.com: write example.com",
            ),
            (google("only_for = ['example']"), "4:13: logins.google.only_for: not a domain"),
            (
                both,
                "9:26: logins.work.only_for: example.com is already in only_for of logins.google",
            ),
            (
                work("join = 'claim.hd == \"x\"'"),
                "5:9: logins.work.join: claim: did you mean claims?",
            ),
            (
                work("join = '''\n  claims.hd == \"x\" &&\n  \"a\" in user.roles'''"),
                "7:10: logins.work.join: user: cannot be read when somebody signs in at a provider (there are claims and \
                 request)",
            ),
            (work("trust = '\"mfa\"'"), "5:10: logins.work.trust: gives string, not true or false"),
            (
                work("roles = '\"staff\"'"),
                "5:10: logins.work.roles: gives string, not a list of texts",
            ),
            (
                work("roles = 'claims.hd == \"x\" ? \"staff\" : []'"),
                "5:29: logins.work.roles: gives string, not a list of texts",
            ),
            (
                work("roles = '\"a\" in claims.groups'"),
                "5:14: logins.work.roles: gives bool, not a list of texts",
            ),
        ] {
            let found = load(&[], &[], &file).map(|_| ()).unwrap_err();
            assert!(
                found.starts_with(&format!("doorward.toml:{error}")),
                "{file}\n{found}\n{error}"
            );
        }
    }

    #[test]
    fn a_version_changes_with_the_declaration_and_only_then() {
        let version = |file: &str| logins(file).logins.by_name("work").unwrap().version.clone();
        assert_eq!(version(WORK), version(&format!("# a comment\n{WORK}{GOOGLE}")));
        for line in [
            "label = 'W'",
            "join = 'true'",
            "roles = '[]'",
            "trust = 'true'",
            "grants = ['a']",
            "session = '1h'",
            "only_for = ['a.example']",
            "claim = true",
            "ca_file = 'a'",
            "scopes = ['a']",
            "allow_networks = ['::1']",
            "client_secret_file = 'a'",
        ] {
            assert_ne!(version(WORK), version(&format!("{WORK}{line}\n")), "{line}");
        }
        assert_eq!(version(WORK).len(), 8);
    }

    #[test]
    fn a_text_of_an_app_declares_logins_too() {
        let settings = Settings::new().with_toml(WORK);
        assert_eq!(settings.check(), Ok(()));
        assert!(settings.logins.by_name("work").is_some());
        let replaced = settings.with_toml(GOOGLE);
        assert!(replaced.logins.by_name("work").is_none());
        let refused = Settings::new().with_toml("[logins.work]\n").check().unwrap_err();
        assert!(
            refused.to_string().starts_with("settings:1:9: logins.work: client_id"),
            "{refused}"
        );
    }
}
