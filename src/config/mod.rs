//! Settings: their names, defaults and bounds, stated once, and how they are read. Nobody else reads the environment.

mod database;
mod file;
mod guards;
mod keys;
mod log_filter;

use std::{
    ffi::OsString,
    fmt, fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use toml::de::DeValue;

pub(crate) use self::database::{absolute, folder_of};
use self::file::{FileValue, SettingsFile};
pub use self::{
    database::{DatabaseUrl, NotFound},
    keys::{KEYS, Key},
};
use crate::{
    access::guard::GuardSet,
    credential::{
        oauth_client::OAuthClients,
        password::{Cost, PasswordRules},
    },
    spelling::suggest,
    store::PostgresOptions,
    throttle::ThrottleSettings,
    token::{Algorithm, TokenTerms},
};

/// Everything that an operator can choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where the service listens.
    pub listen: SocketAddr,
    /// How others reach it; by where it listens unless set.
    pub public_url: Option<PublicUrl>,
    /// Where users and sessions are kept.
    pub database: DatabaseUrl,
    /// How PostgreSQL is used.
    pub postgres: PostgresOptions,
    /// Where commands reach this instance if its database is PostgreSQL; nowhere without one.
    pub data_folder: Option<PathBuf>,
    /// Whom tokens come from and are for, and how long they live.
    pub token: TokenTerms,
    /// The operator's own keys, if they bring some.
    pub key_file: Option<PathBuf>,
    /// From signing in to having to do so again.
    pub session_lifetime: Duration,
    /// The name that the name policy admits.
    pub designated_name: String,
    /// The last segment of the path that the name policy guards.
    pub designated_segment: String,
    /// What is asked of new passwords.
    pub password_rules: PasswordRules,
    /// What a password hash costs.
    pub password_cost: Cost,
    /// Passwords that are hashed at a time.
    pub password_threads: NonZeroUsize,
    /// How often somebody may try.
    pub throttle: ThrottleSettings,
    /// Bytes of a request's body at most.
    pub body_limit: usize,
    /// Connections at most.
    pub connections: usize,
    /// Programs that may ask about tokens and end them.
    pub clients: OAuthClients,
    /// Whose account of a guarded request is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Sets of headers that tell the guarded side who was admitted, beside `X-Auth-…`.
    pub identity_headers: Vec<IdentityHeaders>,
    /// The guards that the settings file declares.
    pub guards: Arc<GuardSet>,
    /// What is logged, in the syntax of `RUST_LOG`.
    pub log: String,
    /// How it is logged.
    pub log_format: LogFormat,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            public_url: None,
            database: DatabaseUrl::Sqlite("data/doorward.db".into()),
            postgres: PostgresOptions {
                password_file: None,
                connections: 8,
                named_statements: false,
                outage_grace: Duration::from_secs(60),
            },
            data_folder: None,
            token: TokenTerms {
                issuer: "doorward".into(),
                audience: "doorward".into(),
                lifetime: Duration::from_secs(24 * 60 * 60),
                publish_before_signing: Duration::from_secs(60),
                algorithm: Algorithm::default(),
            },
            key_file: None,
            session_lifetime: Duration::from_secs(30 * 24 * 60 * 60),
            designated_name: "Miles Davis".into(),
            designated_segment: "miles".into(),
            password_rules: PasswordRules { min_length: 8, max_length: 128, refuse_common: false },
            password_cost: Cost::default(),
            password_threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            throttle: ThrottleSettings::default(),
            body_limit: 64 << 10,
            connections: 10_000,
            clients: OAuthClients::default(),
            trusted_proxies: loopback().into(),
            identity_headers: Vec::new(),
            guards: Arc::default(),
            log: "info".into(),
            log_format: LogFormat::Auto,
        }
    }
}

fn loopback() -> [IpNet; 2] {
    let v4 = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
    let v6 = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
    [v4.into(), v6.into()]
}

/// How others reach the service: `http://` or `https://`, a host, and perhaps a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
        let plain = rest.chars().all(|c| c.is_ascii_graphic() && !r#"?#@"\<>"#.contains(c));
        let valid = plain && !rest.is_empty() && !rest.starts_with('/') && text.len() <= 200;
        valid.then(|| Self(text.trim_end_matches('/').to_owned()))
    }

    fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A set of headers that other programs have made a habit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityHeaders {
    /// `Remote-User`, `-Name`, `-Email`, `-Groups`, as Authelia sends them.
    Remote,
    /// `X-Auth-Request-User`, `-Preferred-Username`, `-Email`, `-Groups`, as oauth2-proxy sends them.
    XAuthRequest,
}

impl IdentityHeaders {
    const NAMES: [(&str, Self); 2] =
        [("remote", Self::Remote), ("x-auth-request", Self::XAuthRequest)];
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// The variable that names the settings file.
pub const CONFIG_VARIABLE: &str = "DOORWARD_CONFIG";
const GUARDS: &str = "guards";
/// What the names of all variables begin with.
const PREFIX: &str = "DOORWARD_";
const FILE_SUFFIX: &str = "_FILE";

/// A setting that cannot be used: one line with its name, its value and what is allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// What is wrong, for an app that reads its settings in a way of its own.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Where settings may come from, first the strongest.
#[derive(Clone)]
pub struct Sources {
    /// From the command line: keys and values.
    pub flags: Vec<(&'static Key, String)>,
    /// The file named on the command line.
    pub file: Option<PathBuf>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl Sources {
    /// The command line's share and the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn from_process(flags: Vec<(&'static Key, String)>, file: Option<PathBuf>) -> Self {
        Self { flags, file, environment: std::env::vars_os().collect() }
    }
}

impl Settings {
    /// The folder that belongs to this process: that of the embedded database, or the one that was chosen.
    pub fn folder(&self) -> Option<&Path> {
        match &self.database {
            DatabaseUrl::Sqlite(file) => Some(folder_of(file)),
            DatabaseUrl::Postgres(_) => self.data_folder.as_deref(),
        }
    }

    /// How others reach a service that listens on this address, without a slash at the end.
    pub fn base_url(&self, mut listening: SocketAddr) -> String {
        if let Some(url) = &self.public_url {
            return url.to_string();
        }
        // Whoever is on this machine can use it; how others get here is not known.
        match listening.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => listening.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => listening.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("http://{listening}")
    }

    /// Whether other machines can connect and nothing tells of a proxy in front that speaks TLS.
    pub fn is_exposed(&self) -> bool {
        let local = |ip: IpAddr| ip.to_canonical().is_loopback();
        let behind_tls = self.public_url.as_ref().is_some_and(PublicUrl::is_https);
        let behind_proxy = !self.trusted_proxies.iter().all(|network| local(network.addr()));
        !local(self.listen.ip()) && !behind_tls && !behind_proxy
    }

    /// Reads the settings: flags over environment over file over defaults.
    ///
    /// # Errors
    /// For the first setting that is unknown or cannot be used.
    pub fn from_sources(sources: Sources) -> Result<Self, Error> {
        let environment = Environment::read(sources.environment)?;
        let mut settings = Self::default();
        if let Some(file) = SettingsFile::read(sources.file.or(environment.config_file))? {
            apply_file(&mut settings, &file)?;
        }
        for (key, variable, value) in environment.values {
            apply(&mut settings, key, &value, &variable)?;
        }
        for (key, value) in sources.flags {
            apply(&mut settings, key, &value, &format!("--{}", key.flag()))?;
        }
        let PasswordRules { min_length: min, max_length: max, .. } = settings.password_rules;
        if min > max {
            return Err(Error(format!(
                "password.min_length: {min} is not a number up to password.max_length, which is {max}"
            )));
        }
        if let (Some(folder), DatabaseUrl::Sqlite(_)) = (&settings.data_folder, &settings.database)
        {
            return Err(Error(format!(
                "data_folder: \"{}\" is not for the embedded database, whose folder is that of its file: \
                 leave data_folder out",
                folder.display()
            )));
        }
        let segment = &settings.designated_segment;
        if settings.guards.by_name(segment).is_some() {
            return Err(Error(format!(
                "guards.{segment}: the name policy guards /api/auth/{segment} (designated.segment): \
                 choose another name"
            )));
        }
        Ok(settings)
    }
}

struct Environment {
    config_file: Option<PathBuf>,
    values: Vec<(&'static Key, String, String)>,
}

impl Environment {
    fn read(variables: Vec<(OsString, OsString)>) -> Result<Self, Error> {
        let mut environment = Self { config_file: None, values: Vec::new() };
        for (variable, value) in variables {
            let Some(variable) = variable.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if variable == CONFIG_VARIABLE {
                environment.config_file = Some(value.into());
                continue;
            }
            let Ok(value) = value.into_string() else {
                return Err(Error(format!("{variable}: its value is not UTF-8 text")));
            };
            let (key, value) = Self::key_and_value(variable, value)?;
            if environment.values.iter().any(|(other, ..)| std::ptr::eq(*other, key)) {
                let name = key.variable();
                return Err(Error(format!("{name} and {name}{FILE_SUFFIX}: set only one of them")));
            }
            environment.values.push((key, variable.to_owned(), value));
        }
        Ok(environment)
    }

    fn key_and_value(variable: &str, value: String) -> Result<(&'static Key, String), Error> {
        if let Some(key) = KEYS.iter().find(|key| key.variable() == variable) {
            return Ok((key, value));
        }
        let from_file = |key: &&Key| key.secret && variable == key.variable() + FILE_SUFFIX;
        if let Some(key) = KEYS.iter().find(from_file) {
            let read = fs::read_to_string(&value);
            let text = read.map_err(|error| Error(format!("{variable}: {value}: {error}")))?;
            return Ok((key, text.trim_end().to_owned()));
        }
        let names: Vec<_> = KEYS.iter().map(Key::variable).collect();
        let names = names.iter().map(String::as_str).chain([CONFIG_VARIABLE]);
        // The prefix that all of them share would make any two similar.
        let meant = suggest(own_part(variable), names.map(own_part));
        let hint = meant.map(|name| format!(": did you mean {PREFIX}{name}?"));
        Err(Error(format!("{variable}: unknown setting{}", hint.unwrap_or_default())))
    }
}

fn own_part(variable: &str) -> &str {
    variable.strip_prefix(PREFIX).unwrap_or(variable)
}

fn apply_file(settings: &mut Settings, file: &SettingsFile) -> Result<(), Error> {
    let mut table = file.parse()?;
    if let Some(guards) = table.remove(GUARDS) {
        let DeValue::Table(tables) = guards.get_ref() else {
            return Err(file.error(guards.span().start, "guards: not a table: write [guards.NAME]"));
        };
        settings.guards = Arc::new(guards::read(file, tables)?);
    }
    let mut values = Vec::new();
    file::flatten("", &table, &mut values);
    for FileValue { name, offset, text, items } in values {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let hint = did_you_mean(&name, KEYS.iter().map(|key| key.name));
            return Err(file.error(offset, &format!("{name}: unknown setting{hint}")));
        };
        let place = |offset| format!("{}: {name}", file.place(offset));
        let text = match items {
            Some(items) if key.is_list() => {
                // One after the other first, so that the error points at the bad one.
                for (offset, item) in &items {
                    apply(&mut settings.clone(), key, item, &place(*offset))?;
                }
                let items: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
                if items.is_empty() { keys::NONE.into() } else { items.join(" ") }
            }
            _ => text,
        };
        apply(settings, key, &text, &place(offset))?;
    }
    Ok(())
}

fn apply(settings: &mut Settings, key: &Key, value: &str, place: &str) -> Result<(), Error> {
    (key.set)(settings, value).ok_or_else(|| {
        // A mistyped database URL may well contain a password.
        let shown = if key.secret { "the value".into() } else { format!("\"{value}\"") };
        let hint = key.suggestion(value).map(|meant| format!(": did you mean {meant}?"));
        Error(format!("{place}: {shown} is not {}{}", key.allowed, hint.unwrap_or_default()))
    })
}

fn did_you_mean<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> String {
    suggest(typed, names).map_or_else(String::new, |name| format!(": did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn key(name: &str) -> &'static Key {
        KEYS.iter().find(|key| key.name == name).unwrap()
    }

    /// Loads settings with an empty file unless one is given.
    pub(super) fn load(
        flags: &[(&str, &str)],
        variables: &[(&str, &str)],
        file: &str,
    ) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("doorward.toml");
        fs::write(&path, file).unwrap();
        let sources = Sources {
            flags: flags.iter().map(|(name, value)| (key(name), value.to_string())).collect(),
            file: Some(path),
            environment: variables.iter().map(|(n, v)| (n.into(), v.into())).collect(),
        };
        let shortened = format!("{}/", folder.path().display());
        Settings::from_sources(sources).map_err(|error| error.0.replace(&shortened, ""))
    }

    #[test]
    fn flags_win_over_the_environment_over_the_file_over_the_defaults() {
        let file = "listen = \"127.0.0.1:1\"\n[token]\nlifetime = \"1h\"\n[limits]\nbody = 2048\n";
        let variables = [("DOORWARD_LISTEN", "127.0.0.1:2"), ("DOORWARD_TOKEN_LIFETIME", "2h")];
        let settings = load(&[("listen", "127.0.0.1:3")], &variables, file).unwrap();
        assert_eq!(settings.listen.port(), 3);
        assert_eq!(settings.token.lifetime, Duration::from_secs(2 * 60 * 60));
        assert_eq!(settings.body_limit, 2048);
        assert_eq!(settings.designated_name, "Miles Davis");
    }

    #[test]
    fn every_default_is_an_allowed_value() {
        for key in KEYS {
            let mut settings = Settings::default();
            assert!(
                (key.set)(&mut settings, &key.value(&Settings::default())).is_some(),
                "{}",
                key.name
            );
            assert_eq!(settings, Settings::default(), "{}", key.name);
        }
    }

    #[test]
    fn an_unknown_setting_is_refused_with_its_place_and_the_nearest_name() {
        assert_eq!(
            load(&[], &[], "[token]\n  lifetme = \"1h\"\n"),
            Err("doorward.toml:2:3: token.lifetme: unknown setting: did you mean token.lifetime?"
                .into())
        );
        assert_eq!(
            load(&[], &[("DOORWARD_LISTN", "x")], ""),
            Err("DOORWARD_LISTN: unknown setting: did you mean DOORWARD_LISTEN?".into())
        );
        assert_eq!(
            load(&[], &[("DOORWARD_UNHEARD_OF", "x")], ""),
            Err("DOORWARD_UNHEARD_OF: unknown setting".into())
        );
        assert_eq!(
            load(&[], &[], "unheard_of = 1\n"),
            Err("doorward.toml:1:1: unheard_of: unknown setting".into())
        );
    }

    #[test]
    fn a_bad_value_is_refused_with_its_place_and_what_is_allowed() {
        assert_eq!(
            load(&[], &[("DOORWARD_LISTEN", "3000")], ""),
            Err("DOORWARD_LISTEN: \"3000\" is not an address and a port, such as 127.0.0.1:3000 or [::]:3000".into())
        );
        assert_eq!(
            load(&[("token.lifetime", "1y")], &[], ""),
            Err(
                "--token-lifetime: \"1y\" is not a duration from 5m to 30d, such as 90m, 24h or 7d"
                    .into()
            )
        );
        assert_eq!(
            load(&[], &[], "log_format = \"xml\"\n"),
            Err("doorward.toml:1:1: log_format: \"xml\" is not auto, text or json".into())
        );
        assert_eq!(
            load(&[], &[], "\nlisten = [1]\n"),
            Err("doorward.toml:2:1: listen: \"a value of type array\" is not an address and a port, \
                 such as 127.0.0.1:3000 or [::]:3000".into())
        );
        for (name, value) in [
            ("designated.segment", "login"),
            ("designated.segment", "logout-everywhere"),
            ("session.lifetime", "59m"),
            ("session.lifetime", "91d"),
            ("designated.segment", "Miles"),
            ("designated.segment", ""),
            ("designated.name", "x"),
            ("password.min_length", "0"),
            ("password.max_length", "63"),
            ("password.memory_kib", "7167"),
            ("limits.body", "17MiB"),
            ("token.lifetime", "31d"),
            ("token.lifetime", "4m"),
            ("token.issuer", "a b"),
            ("token.publish_before_signing", "8d"),
            ("public_url", "auth.example.com"),
            ("public_url", "https://"),
            ("public_url", "https://auth.example.com/?x"),
            ("public_url", "https://me@auth.example.com"),
            ("clients", "shop"),
            ("log", "doorward=loud"),
        ] {
            assert!(load(&[(name, value)], &[], "").is_err(), "{name} = {value}");
        }
        assert!(load(&[("password.min_length", "129")], &[], "").is_err(), "min above max");
    }

    #[test]
    fn a_file_that_is_not_toml_is_refused_with_line_and_column() {
        let error = load(&[], &[], "listen = \"x\"\nbody 5\n").unwrap_err();
        assert!(error.starts_with("doorward.toml:2:"), "{error}");
    }

    #[test]
    fn a_public_url_ends_without_a_slash() {
        let url = |text| {
            let settings = load(&[("public_url", text)], &[], "").unwrap();
            settings.base_url(settings.listen)
        };
        assert_eq!(url("https://auth.example.com/"), "https://auth.example.com");
        assert_eq!(url("http://[::1]:3000/auth"), "http://[::1]:3000/auth");
        assert_eq!(url("auto"), "http://127.0.0.1:3000");
    }

    #[test]
    fn a_service_that_others_reach_without_tls_is_exposed() {
        for (listen, url, proxies, exposed) in [
            ("127.0.0.1:3000", "auto", "127.0.0.0/8", false),
            ("[::1]:3000", "http://auth.example.com", "127.0.0.0/8", false),
            ("0.0.0.0:3000", "auto", "127.0.0.0/8 ::1", true),
            ("[::]:3000", "http://auth.example.com", "none", true),
            ("192.0.2.1:3000", "auto", "127.0.0.0/8", true),
            ("0.0.0.0:3000", "https://auth.example.com", "127.0.0.0/8", false),
            ("0.0.0.0:3000", "auto", "10.0.0.0/8", false),
        ] {
            let flags = [("listen", listen), ("public_url", url), ("trusted_proxies", proxies)];
            assert_eq!(load(&flags, &[], "").unwrap().is_exposed(), exposed, "{flags:?}");
        }
    }

    #[test]
    fn a_named_file_must_exist() {
        let sources =
            Sources { flags: vec![], file: Some("no/such.toml".into()), environment: vec![] };
        let error = Settings::from_sources(sources).unwrap_err().0;
        assert!(error.starts_with("no/such.toml: "), "{error}");
    }

    #[test]
    fn a_secret_is_read_from_a_file_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("url");
        fs::write(&path, "sqlite:///srv/auth/users.db\n").unwrap();
        let path = path.to_str().unwrap();
        let settings = load(&[], &[("DOORWARD_DATABASE_URL_FILE", path)], "").unwrap();
        assert_eq!(settings.database, DatabaseUrl::Sqlite("/srv/auth/users.db".into()));
        assert_eq!(settings.folder(), Some(Path::new("/srv/auth")));

        let both =
            [("DOORWARD_DATABASE_URL_FILE", path), ("DOORWARD_DATABASE_URL", "sqlite://a.db")];
        assert!(load(&[], &both, "").unwrap_err().contains("set only one"));
        let error =
            load(&[], &[("DOORWARD_DATABASE_URL", "mysql://me:hunter2@db")], "").unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(load(&[], &[("DOORWARD_LISTEN_FILE", path)], "").is_err(), "not a secret");
        let error = load(&[], &[], "clients = \"shop:hunter2\"\n").unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_database_without_a_folder_lives_in_the_current_one() {
        let url = DatabaseUrl::parse("sqlite://users.db").unwrap();
        let settings = Settings { database: url, ..Settings::default() };
        assert_eq!(settings.folder(), Some(Path::new(".")));
        for bad in ["", "sqlite:", "sqlite://", "sqlite://data/", "users.db", "sqlite://a.db?x=1"] {
            assert_eq!(DatabaseUrl::parse(bad), None, "{bad}");
        }
    }
}
