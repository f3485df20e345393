//! Every setting: how it is called, what it means, what it may be.

use std::{net::IpAddr, num::NonZeroUsize, path::PathBuf, time::Duration};

use ipnet::IpNet;

use super::{DatabaseUrl, IdentityHeaders, LogFormat, PublicUrl, Settings, log_filter};
use crate::{
    credential::oauth_client::{OAuthClient, OAuthClients},
    routes::is_reserved_guard_name,
    spelling::suggest,
    token::Algorithm,
    user::Name,
};

/// One setting: how it is called, what it means, what it may be.
pub struct Key {
    /// The name in `doorward.toml`; a dot stands for a table.
    pub name: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// What may stand there, to follow "is not".
    pub(super) allowed: &'static str,
    /// Never shown, and readable from a file named by the variable with `_FILE`.
    pub(super) secret: bool,
    pub(super) set: fn(&mut Settings, &str) -> Option<()>,
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

    /// Its value as `doorward.toml` has it.
    pub fn toml_value(&self, settings: &Settings) -> String {
        let value = self.value(settings);
        match self.is_list() {
            true if value == NONE => "[]".into(),
            true => format!("{:?}", value.split(' ').collect::<Vec<_>>()),
            false => format!("{value:?}"),
        }
    }

    /// Whether it is an array in `doorward.toml`.
    pub(super) fn is_list(&self) -> bool {
        LISTS.contains(&self.name)
    }

    /// What somebody probably meant by a value that is not allowed.
    pub(super) fn suggestion(&self, value: &str) -> Option<&'static str> {
        let words: &[&str] = match self.name {
            "log" => return log_filter::suggestion(value),
            "log_format" => &["auto", "text", "json"],
            "token.algorithm" => &["ES256", "EdDSA", "RS256"],
            "database.statements" => &["unnamed", "named"],
            "identity_headers" => &["remote", "x-auth-request"],
            _ => &[],
        };
        suggest(value, words.iter().copied())
    }
}

/// Settings with any number of values.
const LISTS: [&str; 3] = ["clients", "trusted_proxies", "identity_headers"];

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
        help: "Database: the embedded one, whose folder also holds the signing keys, or PostgreSQL",
        allowed: "sqlite:// and a file, such as sqlite://data/doorward.db, or postgres:// as libpq reads it, such as \
                  postgres://user:password@host1,host2/name?sslmode=verify-full",
        secret: true,
        set: |s, text| DatabaseUrl::parse(text).map(|url| s.database = url),
        show: |s| s.database.to_string(),
    },
    Key {
        name: "database.password_file",
        help: "File with the password for PostgreSQL, read for each connection; none takes it from the URL",
        allowed: "none, or a file",
        secret: false,
        set: |s, text| parse_path(text).map(|path| s.postgres.password_file = path),
        show: |s| show_path(s.postgres.password_file.as_ref()),
    },
    Key {
        name: "database.connections",
        help: "Connections for writing to PostgreSQL at most; reading and listening take three more",
        allowed: "a number from 1 to 100",
        secret: false,
        set: |s, text| parse_in(text, 1..=100).map(|number| s.postgres.connections = number),
        show: |s| s.postgres.connections.to_string(),
    },
    Key {
        name: "database.statements",
        help: "How statements are sent to PostgreSQL: unnamed goes through every pooler, named saves it work",
        allowed: "unnamed or named",
        secret: false,
        set: |s, text| {
            s.postgres.named_statements = match text {
                "unnamed" => false,
                "named" => true,
                _ => return None,
            };
            Some(())
        },
        show: |s| if s.postgres.named_statements { "named" } else { "unnamed" }.into(),
    },
    Key {
        name: "database.outage_grace",
        help: "How long guards still admit callers that they know while PostgreSQL is away",
        allowed: "a duration from 1s to 1h, such as 60s or 10m",
        secret: false,
        set: |s, text| {
            let range = Duration::from_secs(1)..=Duration::from_secs(60 * 60);
            let grace = parse_duration(text).filter(|grace| range.contains(grace))?;
            s.postgres.outage_grace = grace;
            Some(())
        },
        show: |s| show_duration(s.postgres.outage_grace),
    },
    Key {
        name: "data_folder",
        help: "Folder in which commands reach a server that runs on PostgreSQL; each server needs its own",
        allowed: "none, or a folder",
        secret: false,
        set: |s, text| parse_path(text).map(|path| s.data_folder = path),
        show: |s| show_path(s.data_folder.as_ref()),
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
        name: "token.algorithm",
        help: "How tokens are signed: ES256, EdDSA or RS256; for keys that are made from now on",
        allowed: "ES256, EdDSA or RS256",
        secret: false,
        set: |s, text| Algorithm::by_name(text).map(|algorithm| s.token.algorithm = algorithm),
        show: |s| s.token.algorithm.name().into(),
    },
    Key {
        name: "token.key_file",
        help: "A file with own keys, PKCS#8 in PEM: the first signs, the others verify",
        allowed: "the path of a file, or none",
        secret: false,
        set: |s, text| {
            s.key_file = (text != NONE).then(|| text.into());
            (!text.is_empty()).then_some(())
        },
        show: |s| s.key_file.as_ref().map_or(NONE.into(), |path| path.display().to_string()),
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
        allowed: "1 to 64 of a-z, 0-9 and -, and not a route of the service under /api/auth/",
        secret: false,
        set: |s, text| {
            let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let free = !is_reserved_guard_name(text);
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
        set: |s, text| parse_in(text, 1..=1024).map(|min| s.password_rules.min_length = min),
        show: |s| s.password_rules.min_length.to_string(),
    },
    Key {
        name: "password.max_length",
        help: "Characters of a new password at most",
        allowed: "a number from 64 to 1024",
        secret: false,
        set: |s, text| parse_in(text, 64..=1024).map(|max| s.password_rules.max_length = max),
        show: |s| s.password_rules.max_length.to_string(),
    },
    Key {
        name: "password.refuse_common",
        help: "Whether common passwords, and one's own name or e-mail address as one, are refused",
        allowed: "true or false",
        secret: false,
        set: |s, text| text.parse().ok().map(|refuse| s.password_rules.refuse_common = refuse),
        show: |s| s.password_rules.refuse_common.to_string(),
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
        help: "Passwords hashed at a time; one a core unless set",
        allowed: "a number from 1 to 256",
        secret: false,
        set: |s, text| {
            s.password_threads = NonZeroUsize::new(parse_in(text, 1..=256)?)?;
            Some(())
        },
        show: |s| s.password_threads.to_string(),
    },
    Key {
        name: "throttle.account_failures",
        help: "Failed logins in a row on one account, from everywhere",
        allowed: "a number from 5 to 100",
        secret: false,
        set: |s, text| {
            parse_in(text, 5..=100).map(|failures| s.throttle.account_failures = failures)
        },
        show: |s| s.throttle.account_failures.to_string(),
    },
    Key {
        name: "throttle.account_recovery",
        help: "After this time one failed login on an account is forgiven; a success forgives all",
        allowed: "a duration from 10m to 30d, such as 1h or 1d",
        secret: false,
        set: |s, text| {
            let range = Duration::from_secs(10 * 60)..=Duration::from_secs(30 * 24 * 60 * 60);
            let recovery = parse_duration(text).filter(|recovery| range.contains(recovery))?;
            s.throttle.account_recovery = recovery;
            Some(())
        },
        show: |s| show_duration(s.throttle.account_recovery),
    },
    Key {
        name: "throttle.account_failures_per_network",
        help: "Failed logins on one account from one network; a network that its owner has used has as many again",
        allowed: "a number from 3 to 100",
        secret: false,
        set: |s, text| {
            let failures = parse_in(text, 3..=100)?;
            s.throttle.account_failures_per_network = failures;
            Some(())
        },
        show: |s| s.throttle.account_failures_per_network.to_string(),
    },
    Key {
        name: "throttle.network_recovery",
        help: "After this time one failed login on an account from one network is forgiven",
        allowed: "a duration from 1m to 1d, such as 10m or 1h",
        secret: false,
        set: |s, text| {
            let range = Duration::from_secs(60)..=Duration::from_secs(24 * 60 * 60);
            let recovery = parse_duration(text).filter(|recovery| range.contains(recovery))?;
            s.throttle.network_recovery = recovery;
            Some(())
        },
        show: |s| show_duration(s.throttle.network_recovery),
    },
    Key {
        name: "throttle.network_failures",
        help: "Failures of one network on all accounts, wrong reset codes included; one is forgiven each second",
        allowed: "a number from 10 to 100000",
        secret: false,
        set: |s, text| {
            parse_in(text, 10..=100_000).map(|failures| s.throttle.network_failures = failures)
        },
        show: |s| s.throttle.network_failures.to_string(),
    },
    Key {
        name: "throttle.network_sign_ups",
        help: "Sign-ups of one network in an hour",
        allowed: "a number from 1 to 100000",
        secret: false,
        set: |s, text| {
            parse_in(text, 1..=100_000).map(|sign_ups| s.throttle.network_sign_ups = sign_ups)
        },
        show: |s| s.throttle.network_sign_ups.to_string(),
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
        allowed: "a list of name:SHA-256 of each client's secret, no name twice, or none",
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
        allowed: "a list of networks or addresses, such as 127.0.0.0/8 and ::1/128, or none",
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
        allowed: "remote, x-auth-request, a list of both, or none",
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
        allowed: "a level (error, warn, info, debug, trace, off), or targets with a level such as info,doorward=debug",
        secret: false,
        set: |s, text| log_filter::parse(text).map(|directives| s.log = directives),
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

/// What stands for a value that follows from others.
const AUTO: &str = "auto";
/// What stands for an empty list, so that a setting can be emptied on the command line.
pub(super) const NONE: &str = "none";

/// Items separated by spaces or commas.
fn parse_list<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    if text == NONE {
        return Some(Vec::new());
    }
    let items = text.split(|c: char| c == ',' || c.is_whitespace());
    items.filter(|item| !item.is_empty()).map(parse).collect()
}

fn show_list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    if items.is_empty() { NONE.into() } else { items.join(" ") }
}

fn show_clients(clients: &OAuthClients) -> String {
    show_list(clients.iter().map(ToString::to_string))
}

/// The outer one is none if the text is not a path at all.
fn parse_path(text: &str) -> Option<Option<PathBuf>> {
    (!text.is_empty()).then(|| (text != NONE).then(|| text.into()))
}

fn show_path(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| NONE.into(), |path| path.display().to_string())
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
