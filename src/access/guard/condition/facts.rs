//! The facts that conditions read: the variables, their fields, and their values.

use std::{borrow::Cow, collections::HashMap, net::IpAddr, sync::OnceLock};

use cel::common::{
    types::{
        CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelTimestamp,
        CelUInt,
    },
    value::{CowVal, Val},
};
use chrono::DateTime;
use percent_encoding::percent_decode_str;
use serde_json::Value as Json;

use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    session::Session,
    user::{ApiKey, Email, MAX_ROLES, Name, User},
};

/// A variable and its fields.
type Fields = (&'static str, &'static [&'static str]);

/// What is known about a caller: all variables.
pub(super) const CALLER: [Fields; 3] =
    [("user", &USER), ("session", &SESSION), (REQUEST, &REQUEST_FIELDS)];
/// What is known about somebody who registers.
pub(super) const REGISTRANT: [Fields; 2] =
    [("user", &["name", "email", "domain"]), (REQUEST, &["address", "time"])];
/// What is known about a user who invites somebody.
pub(super) const INVITER: [Fields; 2] = [("user", &USER), (REQUEST, &["time"])];
/// What is known about the use of an API key. Outside of guards, `guard` has no field.
pub(super) const KEY: [Fields; 3] =
    [("key", &["id", "name", "createdAt"]), ("guard", &["name"]), (REQUEST, &REQUEST_FIELDS)];
/// What is known about somebody who signs in at a provider. What it says of them has any fields.
pub(super) const EXTERNAL: [Fields; 2] = [(CLAIMS, &[]), (REQUEST, &["address", "time"])];

const USER: [&str; 11] = [
    "id",
    "name",
    "email",
    "emailVerified",
    "domain",
    "roles",
    "factors",
    "disabled",
    "createdAt",
    "updatedAt",
    "lastLoginAt",
];
const SESSION: [&str; 6] =
    ["createdAt", "address", "factors", "strength", "phishingResistant", "verifiedAt"];
pub(super) const REQUEST: &str = "request";
pub(super) const CLAIMS: &str = "claims";
const REQUEST_FIELDS: [&str; 6] = ["method", "host", "path", "scheme", "address", "time"];

/// A request whose path is longer or has more segments has no `path` field.
const MAX_PATH_BYTES: usize = 1024;
const MAX_SEGMENTS: usize = 32;
/// The maximum length of a DNS name.
const MAX_HOST_BYTES: usize = 255;
/// For a method or a scheme.
const MAX_WORD_BYTES: usize = 32;

/// The facts about a caller. They are built once and reused until the user or the session changes.
pub struct CallerFacts {
    /// By name.
    variables: [(&'static str, Variable); 2],
}

type Field = (&'static str, Box<dyn Val>);

/// The fields of a variable. Few conditions read the variable as a whole.
struct Variable {
    fields: Vec<Field>,
    whole: OnceLock<CelMap<'static>>,
}

impl Variable {
    fn new(fields: Vec<Field>) -> Self {
        Self { fields, whole: OnceLock::new() }
    }

    fn field(&self, name: &str) -> Option<&dyn Val> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    fn whole(&self) -> &CelMap<'static> {
        let copies = || self.fields.iter().map(|(name, value)| (*name, value.clone()));
        self.whole.get_or_init(|| map(copies()))
    }
}

impl CallerFacts {
    /// The facts about this user in this session.
    pub fn new(user: &User, session: &Session) -> Self {
        Self::of(("user", user_fields(user)), ("session", session_fields(session)))
    }

    /// The facts about a user without a session.
    pub fn of_user(user: &User) -> Self {
        Self::of(("user", user_fields(user)), ("session", Vec::new()))
    }

    /// The facts about somebody who registers with this name and address.
    pub fn of_registrant(name: &Name, email: &Email) -> Self {
        let user = vec![
            ("name", owned_text(name.as_str())),
            ("email", owned_text(email.as_str())),
            ("domain", owned_text(&domain_of(email))),
        ];
        Self::of(("user", user), ("session", Vec::new()))
    }

    /// The facts about the use of a key, at this guard if it is one.
    pub fn of_key(key: &ApiKey, guard: Option<&str>) -> Self {
        let fields = vec![
            ("id", owned_text(&key.id.to_string())),
            ("name", owned_text(&key.name)),
            ("createdAt", timestamp(key.created_at)),
        ];
        let guard = guard.map(|name| ("name", owned_text(name)));
        Self::of(("key", fields), ("guard", guard.into_iter().collect()))
    }

    /// The facts about somebody of whom a provider says this. What is null is absent, and so is a list of anything but texts, numbers
    /// and booleans: the rest of such a list could satisfy a condition that excludes an element.
    pub fn of_external(claims: &serde_json::Map<String, Json>) -> Self {
        let whole = OnceLock::from(claims_map(claims));
        let claims = Variable { fields: Vec::new(), whole };
        Self { variables: [(CLAIMS, claims), ("session", Variable::new(Vec::new()))] }
    }

    fn of(first: (&'static str, Vec<Field>), second: (&'static str, Vec<Field>)) -> Self {
        Self { variables: [first, second].map(|(name, fields)| (name, Variable::new(fields))) }
    }
}

/// The facts about a request. A fact that is not certain is absent, and a condition that reads it fails.
#[derive(Clone, Debug)]
pub struct RequestFacts<'a> {
    pub method: Option<Cow<'a, str>>,
    /// The host in lower case, without the port.
    pub host: Option<Cow<'a, str>>,
    /// The decoded path, without the query.
    pub path: Option<Cow<'a, str>>,
    /// `http` or `https`.
    pub scheme: Option<Cow<'a, str>>,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// The time of the decision.
    pub time: Timestamp,
}

impl RequestFacts<'_> {
    /// A request of which only the time is known.
    pub fn at(time: Timestamp) -> Self {
        Self { method: None, host: None, path: None, scheme: None, address: None, time }
    }

    fn field(&self, name: &str) -> Option<Box<dyn Val + '_>> {
        match name {
            "method" => text(self.method.as_deref()?, MAX_WORD_BYTES),
            "host" => text(self.host.as_deref()?, MAX_HOST_BYTES),
            "path" => text(self.path.as_deref()?, MAX_PATH_BYTES),
            "scheme" => text(self.scheme.as_deref()?, MAX_WORD_BYTES),
            "address" => self.address.map(|address| owned_text(&address.to_string())),
            "time" => Some(timestamp(self.time)),
            _ => None,
        }
    }

    /// A copy of these fields, as far as a condition can read them, for a later explanation.
    pub fn copy_of(&self, fields: &[&str]) -> RequestFacts<'static> {
        let text = |name: &str, value: &Option<Cow<'_, str>>, max_bytes| {
            let readable = value.as_deref().filter(|value| value.len() <= max_bytes);
            readable.filter(|_| fields.contains(&name)).map(|value| Cow::Owned(value.to_owned()))
        };
        RequestFacts {
            method: text("method", &self.method, MAX_WORD_BYTES),
            host: text("host", &self.host, MAX_HOST_BYTES),
            path: text("path", &self.path, MAX_PATH_BYTES),
            scheme: text("scheme", &self.scheme, MAX_WORD_BYTES),
            address: self.address.filter(|_| fields.contains(&"address")),
            time: self.time,
        }
    }

    fn value(&self) -> Box<dyn Val + '_> {
        Box::new(map(REQUEST_FIELDS.iter().filter_map(|name| Some((*name, self.field(name)?)))))
    }
}

/// Normalises a host: lower case, without port and final dot.
pub fn host_of(host: &str) -> Cow<'_, str> {
    let has_port = |(_, port): &(&str, &str)| port.bytes().all(|b| b.is_ascii_digit());
    let name = host.rsplit_once(':').filter(has_port).map_or(host, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        name.to_ascii_lowercase().into()
    } else {
        name.into()
    }
}

/// The decoded path of a request target. None if proxy and app may disagree about it: dot segments, empty segments,
/// parameters, fragments, encoded slashes, backslashes, control characters, invalid UTF-8. None also if it exceeds the
/// limits for conditions.
pub fn path_of(target: &str) -> Option<Cow<'_, str>> {
    let path = target.split('?').next().unwrap_or_default();
    let path = if path.is_empty() { "/" } else { path };
    if path.len() > "%00".len() * MAX_PATH_BYTES {
        return None;
    }
    let encoded = path.to_ascii_lowercase();
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let ambiguous = encoded.contains("%2f")
        || encoded.contains("%25")
        || decoded.contains("//")
        || decoded.contains(['\\', ';', '#'])
        || decoded.contains(char::is_control)
        || decoded.split('/').any(|segment| segment == "." || segment == "..");
    let too_long = decoded.len() > MAX_PATH_BYTES || decoded.matches('/').count() > MAX_SEGMENTS;
    (decoded.starts_with('/') && !ambiguous && !too_long).then_some(decoded)
}

/// The variables of a condition for one caller and one request.
pub(super) struct Variables<'a> {
    caller: &'a CallerFacts,
    request: &'a RequestFacts<'a>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(caller: &'a CallerFacts, request: &'a RequestFacts<'a>) -> Self {
        Self { caller, request }
    }

    /// A variable or a field. The interpreter looks up `user.name` as one name first, and then as a field of `user`.
    pub(super) fn variable(&self, name: &str) -> Option<CowVal<'_, '_>> {
        let (variable, field) = match name.split_once('.') {
            Some((variable, field)) => (variable, Some(field)),
            None => (name, None),
        };
        if variable == REQUEST {
            return match field {
                Some(field) => self.request.field(field).map(CowVal::Owned),
                None => Some(CowVal::Owned(self.request.value())),
            };
        }
        let (_, facts) = self.caller.variables.iter().find(|(name, _)| *name == variable)?;
        match field {
            Some(field) => facts.field(field).map(CowVal::Borrowed),
            None => Some(CowVal::Borrowed(facts.whole())),
        }
    }
}

fn user_fields(user: &User) -> Vec<Field> {
    let mut fields: Vec<Field> = vec![
        ("id", owned_text(&user.id.to_string())),
        ("name", owned_text(user.name.as_str())),
        ("email", owned_text(user.email.as_str())),
        ("emailVerified", Box::new(CelBool::from(user.email_verified))),
        ("domain", owned_text(&domain_of(&user.email))),
        ("roles", texts(user.roles.iter())),
        ("factors", texts(user.factors.iter().map(FactorKind::name))),
        ("disabled", Box::new(CelBool::from(user.disabled))),
        ("createdAt", timestamp(user.created_at)),
        ("updatedAt", timestamp(user.updated_at)),
        ("lastLoginAt", user.last_login_at.map_or(Box::new(CelNull), timestamp)),
    ];
    // A truncated list could satisfy a condition that excludes a role.
    if user.roles.iter().count() > MAX_ROLES {
        fields.retain(|(name, _)| *name != "roles");
    }
    fields
}

/// The part of an address after the `@`, in lower case.
fn domain_of(email: &Email) -> String {
    let domain = email.as_str().rsplit_once('@').map_or("", |(_, domain)| domain);
    domain.to_ascii_lowercase()
}

fn session_fields(session: &Session) -> Vec<Field> {
    vec![
        ("createdAt", timestamp(session.created_at)),
        ("address", owned_text(&session.client.address.to_string())),
        ("factors", texts(session.methods.names())),
        ("strength", Box::new(CelInt::from(i64::from(session.methods.strength())))),
        ("phishingResistant", Box::new(CelBool::from(session.methods.resist_phishing()))),
        // A time and not an age: a condition that does not read the request is evaluated once.
        ("verifiedAt", timestamp(session.verified_at())),
    ]
}

fn map<'v>(fields: impl IntoIterator<Item = (&'static str, Box<dyn Val + 'v>)>) -> CelMap<'v> {
    let fields: HashMap<_, _> =
        fields.into_iter().map(|(name, value)| (CelMapKey::String(name.into()), value)).collect();
    CelMap::from(fields)
}

fn claims_map(claims: &serde_json::Map<String, Json>) -> CelMap<'static> {
    let present = claims.iter().filter_map(|(name, value)| Some((name, claim(value)?)));
    let fields: HashMap<_, _> =
        present.map(|(name, value)| (CelMapKey::String(name.clone().into()), value)).collect();
    CelMap::from(fields)
}

/// The value of a claim, unless it counts as absent.
fn claim(value: &Json) -> Option<Box<dyn Val>> {
    match value {
        Json::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(scalar_claim).collect::<Option<_>>()?;
            Some(Box::new(CelList::from(elements)))
        }
        Json::Object(fields) => Some(Box::new(claims_map(fields))),
        scalar => scalar_claim(scalar),
    }
}

fn scalar_claim(value: &Json) -> Option<Box<dyn Val>> {
    Some(match value {
        Json::Bool(truth) => Box::new(CelBool::from(*truth)),
        Json::String(text) => owned_text(text),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            (None, None) => Box::new(CelDouble::from(number.as_f64()?)),
        },
        Json::Null | Json::Array(_) | Json::Object(_) => return None,
    })
}

fn text(text: &str, max_bytes: usize) -> Option<Box<dyn Val + '_>> {
    (text.len() <= max_bytes).then(|| Box::new(CelString::from(text)) as _)
}

fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Box<dyn Val> {
    let texts: Vec<Box<dyn Val>> = texts.into_iter().map(owned_text).collect();
    Box::new(CelList::from(texts))
}

fn owned_text(text: &str) -> Box<dyn Val> {
    Box::new(CelString::from(text.to_owned()))
}

fn timestamp<'v>(time: Timestamp) -> Box<dyn Val + 'v> {
    let time = DateTime::from_timestamp_millis(time.millis()).unwrap_or(DateTime::UNIX_EPOCH);
    Box::new(CelTimestamp::from(time.fixed_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguous_path_is_absent() {
        for path in [
            "/public/../admin",
            "/public/%2e%2e/admin",
            "/public/..;/admin",
            "/public/..%3b/admin",
            "/public;x=/../admin",
            "//admin",
            "/public//admin",
            "/public#/x",
            "/a/./b",
            "/a%2Fb",
            "/a%5cb",
            "/a\\b",
            "/a%00b",
            "/%252e%252e/admin",
            "admin",
            "/%ff",
        ] {
            assert_eq!(path_of(path), None, "{path}");
        }
        assert_eq!(path_of("/caf%C3%A9/x?a=/../b").as_deref(), Some("/café/x"));
        assert_eq!(path_of("").as_deref(), Some("/"));
    }

    #[test]
    fn a_host_is_normalised() {
        for host in
            ["app.example.com", "App.Example.com:443", "app.example.com.", "app.example.com.:80"]
        {
            assert_eq!(host_of(host), "app.example.com");
        }
        assert_eq!(host_of("[::1]:3000"), "[::1]");
    }
}
