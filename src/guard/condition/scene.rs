//! What a condition can see: the variables and their fields, and how they come to have values.

use std::{borrow::Cow, collections::HashMap, net::IpAddr};

use cel::{
    Value,
    common::value::{CowVal, Val},
    context::VariableResolver,
};
use chrono::DateTime;

use crate::{caller::Caller, clock::Timestamp, session::Session, user::User};

/// The fields of each variable.
pub(super) const VARIABLES: [(&str, &[&str]); 3] =
    [("user", &USER), ("session", &SESSION), (REQUEST, &REQUEST_FIELDS)];

const USER: [&str; 9] =
    ["id", "name", "email", "domain", "roles", "disabled", "createdAt", "updatedAt", "lastLoginAt"];
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
    pub address: IpAddr,
    /// When it is decided.
    pub time: Timestamp,
}

impl RequestFacts<'_> {
    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "method" => self.method.as_deref().map(Value::from),
            "host" => self.host.as_deref().map(Value::from),
            "path" => self.path.as_deref().map(Value::from),
            "scheme" => self.scheme.as_deref().map(Value::from),
            "address" => Some(self.address.to_string().into()),
            _ => Some(timestamp_value(self.time)),
        }
    }
}

/// One caller and one request, as far as a condition looks at it.
pub(super) struct Scene<'a> {
    caller: &'a CallerFacts,
    request: Option<Box<dyn Val>>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        caller: &'a CallerFacts,
        request: &RequestFacts<'_>,
        request_fields: &[&'static str],
    ) -> Self {
        let fields = request_fields.iter().filter_map(|&name| Some((name, request.field(name)?)));
        let request = (!request_fields.is_empty()).then(|| map(fields));
        Self { caller, request }
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
    let roles: Vec<Value> = user.roles.iter().map(Value::from).collect();
    map([
        ("id", user.id.to_string().into()),
        ("name", user.name.as_str().into()),
        ("email", email.into()),
        ("domain", domain.into()),
        ("roles", roles.into()),
        ("disabled", user.disabled.into()),
        ("createdAt", timestamp_value(user.created_at)),
        ("updatedAt", timestamp_value(user.updated_at)),
        ("lastLoginAt", user.last_login_at.map_or(Value::Null, timestamp_value)),
    ])
}

fn session_value(session: &Session) -> Box<dyn Val> {
    map([
        ("createdAt", timestamp_value(session.created_at)),
        ("address", session.origin.address.to_string().into()),
    ])
}

fn map(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Box<dyn Val> {
    let fields: HashMap<&str, Value> = fields.into_iter().collect();
    Box::<dyn Val>::try_from(Value::from(fields)).expect("a map of plain values is a value")
}

fn timestamp_value(time: Timestamp) -> Value {
    let time = DateTime::from_timestamp_millis(time.millis()).unwrap_or(DateTime::UNIX_EPOCH);
    time.fixed_offset().into()
}
