//! Settings: their names, defaults and bounds, stated once, and how they are read. Nobody else reads the environment.

mod file;
mod guards;

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
use toml::de::{DeTable, DeValue};

use self::file::SettingsFile;
use crate::{
    guard::{GuardSet, RESERVED_NAMES},
    nearest::nearest,
    oauth_client::{OAuthClient, OAuthClients},
    password::{Cost, PasswordLength},
    token::TokenTerms,
    user::Name,
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
    /// Whom tokens come from and are for, and how long they live.
    pub token: TokenTerms,
    /// From signing in to having to do so again.
    pub session_lifetime: Duration,
    /// The name that the name policy admits.
    pub designated_name: String,
    /// The last segment of the path that the name policy guards.
    pub designated_segment: String,
    /// Length of new passwords.
    pub password_length: PasswordLength,
    /// What a password hash costs.
    pub password_cost: Cost,
    /// Threads that hash passwords.
    pub password_threads: NonZeroUsize,
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
            token: TokenTerms {
                issuer: "doorward".into(),
                audience: "doorward".into(),
                lifetime: Duration::from_secs(24 * 60 * 60),
                publish_before_signing: Duration::from_secs(60),
            },
            session_lifetime: Duration::from_secs(30 * 24 * 60 * 60),
            designated_name: "Miles Davis".into(),
            designated_segment: "miles".into(),
            password_length: PasswordLength { min: 8, max: 128 },
            password_cost: Cost::default(),
            password_threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
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

/// Which database, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of the embedded database.
    Sqlite(PathBuf),
}

impl DatabaseUrl {
    /// The folder that holds the database and what belongs to it.
    pub fn data_folder(&self) -> &Path {
        let Self::Sqlite(file) = self;
        match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let file = text.strip_prefix("sqlite://")?;
        let names_a_file = !file.is_empty() && !file.ends_with('/') && !file.contains(['?', '#']);
        names_a_file.then(|| Self::Sqlite(file.into()))
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Sqlite(file) = self;
        write!(f, "sqlite://{}", file.display())
    }
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

/// One setting: how it is called, what it means, what it may be.
pub struct Key {
    /// The name in `doorward.toml`; a dot stands for a table.
    pub name: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// What may stand there, to follow "is not".
    allowed: &'static str,
    /// Never shown, and readable from a file named by the variable with `_FILE`.
    secret: bool,
    set: fn(&mut Settings, &str) -> Option<()>,
    show: fn(&Settings) -> String,
}

impl Key {
    /// The name of its environment variable.
    pub fn variable(&self) -> String {
        format!("DOORWARD_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// The name of its flag, without the dashes in front.
    pub fn flag(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }

    /// Its value, or a placeholder for a secret.
    pub fn value(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }
}

/// All settings, in the order in which they are explained.
pub const KEYS: &[Key] = &[
    Key {
        name: "listen",
        help: "Address and port to listen on",
        allowed: "an address and a port, such as 127.0.0.1:3000 or [::]:3000",
        secret: false,
        set: |s, text| text.parse().ok().map(|address| s.listen = address),
        show: |s| s.listen.to_string(),
    },
    Key {
        name: "public_url",
        help: "How others reach the service; auto is http:// and the address it listens on",
        allowed: "auto, or http:// or https:// and a host, such as https://auth.example.com",
        secret: false,
        set: |s, text| {
            s.public_url = match text {
                AUTO => None,
                url => Some(PublicUrl::parse(url)?),
            };
            Some(())
        },
        show: |s| s.public_url.as_ref().map_or_else(|| AUTO.into(), PublicUrl::to_string),
    },
    Key {
        name: "database_url",
        help: "Database; its folder also holds the signing keys",
        allowed: "sqlite:// and a file, such as sqlite://data/doorward.db or sqlite:///var/lib/doorward/doorward.db",
        secret: true,
        set: |s, text| DatabaseUrl::parse(text).map(|url| s.database = url),
        show: |s| s.database.to_string(),
    },
    Key {
        name: "token.lifetime",
        help: "How long a token is good for",
        allowed: "a duration from 5m to 30d, such as 90m, 24h or 7d",
        secret: false,
        set: |s, text| {
            let range = Duration::from_secs(5 * 60)..=Duration::from_secs(30 * 24 * 60 * 60);
            let lifetime = parse_duration(text).filter(|lifetime| range.contains(lifetime))?;
            s.token.lifetime = lifetime;
            Some(())
        },
        show: |s| show_duration(s.token.lifetime),
    },
    Key {
        name: "token.issuer",
        help: "Who the tokens say they come from (`iss`); changing it signs everybody out",
        allowed: "a text of 1 to 200 characters without spaces",
        secret: false,
        set: |s, text| parse_identifier(text).map(|issuer| s.token.issuer = issuer),
        show: |s| s.token.issuer.clone(),
    },
    Key {
        name: "token.audience",
        help: "Whom the tokens say they are for (`aud`); changing it signs everybody out",
        allowed: "a text of 1 to 200 characters without spaces",
        secret: false,
        set: |s, text| parse_identifier(text).map(|audience| s.token.audience = audience),
        show: |s| s.token.audience.clone(),
    },
    Key {
        name: "token.publish_before_signing",
        help: "How long a new key is published before it signs; no shorter than others keep the key set",
        allowed: "a duration from 0s to 7d, such as 1m or 1h",
        secret: false,
        set: |s, text| {
            let most = Duration::from_secs(7 * 24 * 60 * 60);
            let delay = parse_duration(text).filter(|delay| *delay <= most)?;
            s.token.publish_before_signing = delay;
            Some(())
        },
        show: |s| show_duration(s.token.publish_before_signing),
    },
    Key {
        name: "session.lifetime",
        help: "How long a session lasts at most, however often its token is refreshed",
        allowed: "a duration from 1h to 90d, such as 12h or 30d",
        secret: false,
        set: |s, text| {
            let range = Duration::from_secs(60 * 60)..=Duration::from_secs(90 * 24 * 60 * 60);
            let lifetime = parse_duration(text).filter(|lifetime| range.contains(lifetime))?;
            s.session_lifetime = lifetime;
            Some(())
        },
        show: |s| show_duration(s.session_lifetime),
    },
    Key {
        name: "designated.name",
        help: "The name that the name policy admits",
        allowed: "a name of 2 to 200 characters",
        secret: false,
        set: |s, text| {
            s.designated_name = Name::parse(text.into()).ok()?.as_str().to_owned();
            Some(())
        },
        show: |s| s.designated_name.clone(),
    },
    Key {
        name: "designated.segment",
        help: "The path that it guards: /api/auth/<segment>",
        allowed: "1 to 64 of a-z, 0-9 and -, other than guard, login, logout, logout-everywhere, refresh and reset",
        secret: false,
        set: |s, text| {
            let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let free = !RESERVED_NAMES.contains(&text);
            let valid = (1..=64).contains(&text.len()) && text.bytes().all(allowed) && free;
            valid.then(|| s.designated_segment = text.to_owned())
        },
        show: |s| s.designated_segment.clone(),
    },
    Key {
        name: "password.min_length",
        help: "Characters of a new password at least",
        allowed: "a number from 1 to 1024, not above password.max_length",
        secret: false,
        set: |s, text| parse_in(text, 1..=1024).map(|min| s.password_length.min = min),
        show: |s| s.password_length.min.to_string(),
    },
    Key {
        name: "password.max_length",
        help: "Characters of a new password at most",
        allowed: "a number from 64 to 1024",
        secret: false,
        set: |s, text| parse_in(text, 64..=1024).map(|max| s.password_length.max = max),
        show: |s| s.password_length.max.to_string(),
    },
    Key {
        name: "password.memory_kib",
        help: "Memory that hashing a password takes, in KiB; users are rehashed when they log in",
        allowed: "a number from 7168 to 1048576",
        secret: false,
        set: |s, text| {
            parse_in(text, 7168..=1 << 20).map(|memory| s.password_cost.memory_kib = memory)
        },
        show: |s| s.password_cost.memory_kib.to_string(),
    },
    Key {
        name: "password.passes",
        help: "Passes over that memory",
        allowed: "a number from 1 to 16",
        secret: false,
        set: |s, text| parse_in(text, 1..=16).map(|passes| s.password_cost.passes = passes),
        show: |s| s.password_cost.passes.to_string(),
    },
    Key {
        name: "password.threads",
        help: "Threads that hash passwords; one a core unless set",
        allowed: "a number from 1 to 256",
        secret: false,
        set: |s, text| {
            s.password_threads = NonZeroUsize::new(parse_in(text, 1..=256)?)?;
            Some(())
        },
        show: |s| s.password_threads.to_string(),
    },
    Key {
        name: "limits.body",
        help: "Bytes of a request's body at most",
        allowed: "a size from 1KiB to 16MiB, such as 65536 or 64KiB",
        secret: false,
        set: |s, text| {
            let range = 1 << 10..=16 << 20;
            let limit = parse_size(text).filter(|limit| range.contains(limit))?;
            s.body_limit = limit;
            Some(())
        },
        show: |s| s.body_limit.to_string(),
    },
    Key {
        name: "limits.connections",
        help: "Connections at most; beyond it the one that has been silent longest makes room",
        allowed: "a number from 16 to 1000000",
        secret: false,
        set: |s, text| parse_in(text, 16..=1_000_000).map(|most| s.connections = most),
        show: |s| s.connections.to_string(),
    },
    Key {
        name: "clients",
        help: "Programs that may ask about tokens, from `doorward client secret NAME`",
        allowed: "name:SHA-256 of each client's secret, separated by spaces, no name twice, or none",
        secret: true,
        set: |s, text| {
            s.clients = OAuthClients::new(parse_list(text, OAuthClient::parse)?)?;
            Some(())
        },
        show: |s| show_clients(&s.clients),
    },
    Key {
        name: "trusted_proxies",
        help: "Networks of proxies whose account of the guarded request is believed",
        allowed: "networks or addresses separated by spaces, such as 127.0.0.0/8 ::1/128, or none",
        secret: false,
        set: |s, text| {
            let network = |text: &str| {
                let address = || text.parse::<IpAddr>().map(IpNet::from).ok();
                text.parse().ok().or_else(address)
            };
            s.trusted_proxies = parse_list(text, network)?;
            Some(())
        },
        show: |s| show_list(s.trusted_proxies.iter().map(ToString::to_string)),
    },
    Key {
        name: "identity_headers",
        help: "Headers of an admission beside X-Auth-…: remote, x-auth-request",
        allowed: "remote, x-auth-request, both separated by a space, or none",
        secret: false,
        set: |s, text| {
            let set = |text: &str| {
                let known = IdentityHeaders::NAMES.iter().find(|(name, _)| *name == text);
                known.map(|(_, set)| *set)
            };
            s.identity_headers = parse_list(text, set)?;
            Some(())
        },
        show: |s| {
            let name = |set: &IdentityHeaders| {
                IdentityHeaders::NAMES.iter().find(|(_, known)| known == set).map(|(name, _)| *name)
            };
            show_list(s.identity_headers.iter().filter_map(name).map(str::to_owned))
        },
    },
    Key {
        name: "log",
        help: "What to log: error, warn, info, debug, trace, or RUST_LOG's syntax",
        allowed: "a level such as info or debug, or directives such as info,doorward=debug",
        secret: false,
        set: |s, text| {
            text.parse::<tracing_subscriber::EnvFilter>().ok()?;
            s.log = text.to_owned();
            Some(())
        },
        show: |s| s.log.clone(),
    },
    Key {
        name: "log_format",
        help: "How to log: auto is text on a terminal and json elsewhere",
        allowed: "auto, text or json",
        secret: false,
        set: |s, text| {
            s.log_format = match text {
                "auto" => LogFormat::Auto,
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return None,
            };
            Some(())
        },
        show: |s| match s.log_format {
            LogFormat::Auto => "auto".into(),
            LogFormat::Text => "text".into(),
            LogFormat::Json => "json".into(),
        },
    },
];

/// The variable that names the settings file.
pub const CONFIG_VARIABLE: &str = "DOORWARD_CONFIG";
const GUARDS: &str = "guards";
const FILE_SUFFIX: &str = "_FILE";

/// A setting that cannot be used: one line with its name, its value and what is allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

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
    pub fn of_process(flags: Vec<(&'static Key, String)>, file: Option<PathBuf>) -> Self {
        Self { flags, file, environment: std::env::vars_os().collect() }
    }
}

impl Settings {
    /// How others reach the service, without a slash at the end.
    pub fn public_base(&self) -> String {
        self.public_url
            .as_ref()
            .map_or_else(|| format!("http://{}", self.listen), PublicUrl::to_string)
    }

    /// Reads the settings: flags over environment over file over defaults.
    ///
    /// # Errors
    /// For the first setting that is unknown or cannot be used.
    pub fn load(sources: Sources) -> Result<Self, Error> {
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
        let PasswordLength { min, max } = settings.password_length;
        if min > max {
            return Err(Error(format!(
                "password.min_length: {min} is not a number up to password.max_length, which is {max}"
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
            let Some(variable) = variable.to_str().filter(|name| name.starts_with("DOORWARD_"))
            else {
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
        Err(Error(format!("{variable}: unknown setting{}", did_you_mean(variable, names))))
    }
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
    flatten("", &table, &mut values);
    for (name, offset, value) in values {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let hint = did_you_mean(&name, KEYS.iter().map(|key| key.name));
            return Err(file.error(offset, &format!("{name}: unknown setting{hint}")));
        };
        apply(settings, key, &value, &format!("{}: {name}", file.place(offset)))?;
    }
    Ok(())
}

/// Lists the values of a table under their dotted names, each with the place of its key.
fn flatten(prefix: &str, table: &DeTable<'_>, values: &mut Vec<(String, usize, String)>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        let text = match value.get_ref() {
            DeValue::Table(inner) => {
                flatten(&format!("{name}."), inner, values);
                continue;
            }
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            other => format!("a value of type {}", other.type_str()),
        };
        values.push((name, key.span().start, text));
    }
}

fn apply(settings: &mut Settings, key: &Key, value: &str, place: &str) -> Result<(), Error> {
    (key.set)(settings, value).ok_or_else(|| {
        // A mistyped database URL may well contain a password.
        let shown = if key.secret { "the value".into() } else { format!("\"{value}\"") };
        Error(format!("{place}: {shown} is not {}", key.allowed))
    })
}

fn did_you_mean<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest(typed, names).map_or_else(String::new, |name| format!(": did you mean {name}?"))
}

/// What stands for a value that follows from others.
const AUTO: &str = "auto";
/// What stands for an empty list, so that a setting can be emptied on the command line.
const NONE: &str = "none";

fn parse_list<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    if text == NONE { Some(Vec::new()) } else { text.split_whitespace().map(parse).collect() }
}

fn show_list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    if items.is_empty() { NONE.into() } else { items.join(" ") }
}

/// The clients as the setting has them.
pub(crate) fn show_clients(clients: &OAuthClients) -> String {
    show_list(clients.iter().map(ToString::to_string))
}

fn parse_in<T: std::str::FromStr + PartialOrd>(
    text: &str,
    range: std::ops::RangeInclusive<T>,
) -> Option<T> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn parse_identifier(text: &str) -> Option<String> {
    let valid = (1..=200).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic());
    valid.then(|| text.to_owned())
}

const SECONDS_PER_UNIT: [(char, u64); 4] =
    [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

fn parse_duration(text: &str) -> Option<Duration> {
    let (unit, seconds) = SECONDS_PER_UNIT.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    count.checked_mul(seconds).map(Duration::from_secs)
}

fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let whole = SECONDS_PER_UNIT.into_iter().find(|(_, each)| seconds.is_multiple_of(*each));
    let (unit, each) = whole.unwrap_or(('s', 1));
    format!("{}{unit}", seconds / each)
}

fn parse_size(text: &str) -> Option<usize> {
    let (number, factor) = match text {
        _ if text.ends_with("KiB") => (text.strip_suffix("KiB")?, 1 << 10),
        _ if text.ends_with("MiB") => (text.strip_suffix("MiB")?, 1 << 20),
        _ => (text, 1),
    };
    number.trim_end().parse::<usize>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> &'static Key {
        KEYS.iter().find(|key| key.name == name).unwrap()
    }

    /// Loads settings with an empty file unless one is given.
    fn load(
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
        Settings::load(sources).map_err(|error| error.0.replace(&shortened, ""))
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
        let url = |text| load(&[("public_url", text)], &[], "").unwrap().public_base();
        assert_eq!(url("https://auth.example.com/"), "https://auth.example.com");
        assert_eq!(url("http://[::1]:3000/auth"), "http://[::1]:3000/auth");
        assert_eq!(url("auto"), "http://127.0.0.1:3000");
    }

    #[test]
    fn a_named_file_must_exist() {
        let sources =
            Sources { flags: vec![], file: Some("no/such.toml".into()), environment: vec![] };
        let error = Settings::load(sources).unwrap_err().0;
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
        assert_eq!(settings.database.data_folder(), Path::new("/srv/auth"));

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
        assert_eq!(url.data_folder(), Path::new("."));
        for bad in ["", "sqlite:", "sqlite://", "sqlite://data/", "users.db", "sqlite://a.db?x=1"] {
            assert_eq!(DatabaseUrl::parse(bad), None, "{bad}");
        }
    }
}
