//! What a condition can see: the variables and their fields, and how they come to have values.

use std::{borrow::Cow, collections::HashMap, net::IpAddr};

use cel::{
    common::{
        types::{CelBool, CelList, CelMap, CelMapKey, CelNull, CelString, CelTimestamp},
        value::{CowVal, Val},
    },
    context::VariableResolver,
};
use chrono::DateTime;
use percent_encoding::percent_decode_str;

use crate::{caller::Caller, clock::Timestamp, session::Session, user::User};

/// The fields of each variable.
pub(super) const VARIABLES: [(&str, &[&str]); 3] =
    [("user", &USER), ("session", &SESSION), (REQUEST, &REQUEST_FIELDS)];

const USER: [&str; 10] = [
    "id",
    "name",
    "email",
    "emailVerified",
    "domain",
    "roles",
    "disabled",
    "createdAt",
    "updatedAt",
    "lastLoginAt",
];
const SESSION: [&str; 2] = ["createdAt", "address"];
pub(super) const REQUEST: &str = "request";
pub(super) const REQUEST_FIELDS: [&str; 6] =
    ["method", "host", "path", "scheme", "address", "time"];

/// What conditions see of a caller, made once for as long as nothing about them changes.
pub struct CallerFacts {
    user: Box<dyn Val>,
    session: Box<dyn Val>,
}

impl CallerFacts {
    /// The facts about a caller.
    pub fn of(caller: &Caller) -> Self {
        Self { user: user_value(&caller.user), session: session_value(&caller.session) }
    }
}

/// What conditions see of a request. What is not known for sure is missing, and a condition that looks at it fails.
#[derive(Clone, Debug)]
pub struct RequestFacts<'a> {
    /// The method of the guarded request.
    pub method: Option<Cow<'a, str>>,
    /// Its host in lower case, without the port.
    pub host: Option<Cow<'a, str>>,
    /// Its path, decoded, without the query.
    pub path: Option<Cow<'a, str>>,
    /// `http` or `https`.
    pub scheme: Option<Cow<'a, str>>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
    /// When it is decided.
    pub time: Timestamp,
}

impl RequestFacts<'_> {
    fn field(&self, name: &str) -> Option<Box<dyn Val + '_>> {
        match name {
            "method" => self.method.as_deref().map(text),
            "host" => self.host.as_deref().map(text),
            "path" => self.path.as_deref().map(text),
            "scheme" => self.scheme.as_deref().map(text),
            "address" => self.address.map(|address| own_text(&address.to_string())),
            _ => Some(timestamp(self.time)),
        }
    }
}

/// The name in a host: in lower case, without port and final dot.
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

/// The path of a target, decoded. None where proxy and app may not agree which path it is: dot segments, empty ones,
/// parameters, fragments, encoded slashes, backslashes, control characters, what is not UTF-8.
pub fn path_of(target: &str) -> Option<Cow<'_, str>> {
    let path = target.split('?').next().unwrap_or_default();
    let path = if path.is_empty() { "/" } else { path };
    let encoded = path.to_ascii_lowercase();
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let ambiguous = encoded.contains("%2f")
        || encoded.contains("%25")
        || decoded.contains("//")
        || decoded.contains(['\\', ';', '#'])
        || decoded.contains(char::is_control)
        || decoded.split('/').any(|segment| segment == "." || segment == "..");
    (decoded.starts_with('/') && !ambiguous).then_some(decoded)
}

/// One caller and one request, as far as a condition looks at it.
pub(super) struct Scene<'a> {
    caller: &'a CallerFacts,
    request: Option<Box<dyn Val + 'a>>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        caller: &'a CallerFacts,
        request: &'a RequestFacts<'_>,
        request_fields: &[&'static str],
    ) -> Self {
        let fields = request_fields.iter().filter_map(|&name| Some((name, request.field(name)?)));
        Self { caller, request: (!request_fields.is_empty()).then(|| map(fields)) }
    }
}

impl VariableResolver for Scene<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        match variable {
            "user" => Some(CowVal::Borrowed(&*self.caller.user)),
            "session" => Some(CowVal::Borrowed(&*self.caller.session)),
            REQUEST => self.request.as_deref().map(CowVal::Borrowed),
            _ => None,
        }
    }
}

fn user_value(user: &User) -> Box<dyn Val> {
    let email = user.email.as_str();
    let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain).to_ascii_lowercase();
    let roles: Vec<Box<dyn Val>> = user.roles.iter().map(own_text).collect();
    map([
        ("id", own_text(&user.id.to_string())),
        ("name", own_text(user.name.as_str())),
        ("email", own_text(email)),
        ("emailVerified", Box::new(CelBool::from(user.email_verified))),
        ("domain", own_text(&domain)),
        ("roles", Box::new(CelList::from(roles))),
        ("disabled", Box::new(CelBool::from(user.disabled))),
        ("createdAt", timestamp(user.created_at)),
        ("updatedAt", timestamp(user.updated_at)),
        ("lastLoginAt", user.last_login_at.map_or(Box::new(CelNull), timestamp)),
    ])
}

fn session_value(session: &Session) -> Box<dyn Val> {
    map([
        ("createdAt", timestamp(session.created_at)),
        ("address", own_text(&session.origin.address.to_string())),
    ])
}

fn map<'v>(
    fields: impl IntoIterator<Item = (&'static str, Box<dyn Val + 'v>)>,
) -> Box<dyn Val + 'v> {
    let fields: HashMap<_, _> =
        fields.into_iter().map(|(name, value)| (CelMapKey::String(name.into()), value)).collect();
    Box::new(CelMap::from(fields))
}

fn text(text: &str) -> Box<dyn Val + '_> {
    Box::new(CelString::from(text))
}

fn own_text(text: &str) -> Box<dyn Val> {
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
    fn a_path_that_can_be_read_in_two_ways_is_no_path() {
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
    fn a_host_is_one_name_however_it_is_written() {
        for host in
            ["app.example.com", "App.Example.com:443", "app.example.com.", "app.example.com.:80"]
        {
            assert_eq!(host_of(host), "app.example.com");
        }
        assert_eq!(host_of("[::1]:3000"), "[::1]");
    }
}
