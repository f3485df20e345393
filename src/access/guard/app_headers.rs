//! The headers that an app gets from its guard: a name and an expression each.
//!
//! Every header is always sent, if necessary with an empty value: some proxies forward the client's header if the guard does
//! not send it.

use std::{collections::HashSet, sync::Arc};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::{CallerFacts, ConditionError, Expression, ExpressionValue, RequestFacts};
use crate::user::is_control;

/// The most headers of a guard.
const MAX_HEADERS: usize = 16;
/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 64;
/// The most bytes of an encoded value. Proxies limit the size of all headers.
const MAX_VALUE_BYTES: usize = 4096;

/// The headers of a guard.
#[derive(Default)]
pub struct AppHeaders {
    headers: Vec<AppHeader>,
    encoding: HeaderEncoding,
    /// The fields of `request` that the expressions read.
    request_fields: Vec<&'static str>,
}

struct AppHeader {
    /// As the operator has written it.
    name: String,
    expression: Expression,
}

/// How characters other than printable ASCII are written.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum HeaderEncoding {
    /// `Zo%C3%AB`. `%` itself is encoded too, so decoding returns the original.
    #[default]
    Percent,
    /// As they are. A value with control characters is left out.
    #[serde(rename = "utf-8")]
    Utf8,
}

/// A header as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedHeader {
    pub name: String,
    /// The value that the app gets; empty if there is none.
    pub value: String,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is wrong with the header with this name.
#[derive(Debug)]
pub enum InvalidHeader {
    Name(String),
    Expression(ConditionError),
}

/// Everything but printable ASCII, and `%`.
pub(crate) const ENCODED: &AsciiSet = &CONTROLS.add(b'%');
/// [`ENCODED`] and the comma, which separates the elements of a list.
const ENCODED_IN_LIST: &AsciiSet = &ENCODED.add(b',');

impl AppHeaders {
    /// Checks names and expressions.
    ///
    /// # Errors
    /// For the first name or expression that cannot be used.
    pub(super) fn declare(
        declared: Vec<(String, String)>,
        encoding: HeaderEncoding,
    ) -> Result<Self, (String, InvalidHeader)> {
        let mut all = Self { encoding, ..Self::default() };
        let mut names = HashSet::new();
        for (name, text) in declared {
            let checked = match check_name(&name) {
                Ok(()) if !names.insert(name.to_ascii_lowercase()) => {
                    Err("declared twice: letter case does not count in names of headers".into())
                }
                Ok(()) if names.len() > MAX_HEADERS => {
                    Err(format!("a guard has at most {MAX_HEADERS} headers"))
                }
                checked => checked,
            };
            let expression = checked
                .map_err(InvalidHeader::Name)
                .and_then(|()| Expression::parse(&text).map_err(InvalidHeader::Expression));
            match expression {
                Ok(expression) => {
                    all.request_fields.extend(expression.request_fields());
                    all.headers.push(AppHeader { name, expression });
                }
                Err(invalid) => return Err((name, invalid)),
            }
        }
        all.request_fields.sort_unstable();
        all.request_fields.dedup();
        Ok(all)
    }

    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The names, as the operator has written them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|header| header.name.as_str())
    }

    /// The names and their expressions.
    pub fn expressions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|header| (header.name.as_str(), header.expression.text()))
    }

    /// The fields of the request that the expressions read.
    pub fn request_fields(&self) -> &[&'static str] {
        &self.request_fields
    }

    /// The values in the order of the names. The value of an expression that fails is empty.
    pub(super) fn values(&self, caller: &CallerFacts, request: &RequestFacts<'_>) -> Arc<[String]> {
        let value = |header: &AppHeader| self.value(header, caller, request).unwrap_or_default();
        self.headers.iter().map(value).collect()
    }

    /// The values, and why there is none.
    pub fn explain(
        &self,
        caller: &CallerFacts,
        request: &RequestFacts<'_>,
    ) -> Vec<ExplainedHeader> {
        let explained = |header: &AppHeader| {
            let name = header.name.clone();
            match self.value(header, caller, request) {
                Ok(value) => ExplainedHeader { name, value, error: None },
                Err(error) => ExplainedHeader { name, value: String::new(), error: Some(error) },
            }
        };
        self.headers.iter().map(explained).collect()
    }

    fn value(
        &self,
        header: &AppHeader,
        caller: &CallerFacts,
        request: &RequestFacts<'_>,
    ) -> Result<String, String> {
        let value = match header.expression.value(caller, request)? {
            ExpressionValue::Text(text) => self.encoding.encode(text, ENCODED)?,
            ExpressionValue::List(elements) => {
                let encode = |element: String| match self.encoding {
                    HeaderEncoding::Utf8 if element.contains(',') => {
                        Err("an element of the list contains a comma".to_owned())
                    }
                    encoding => encoding.encode(element, ENCODED_IN_LIST),
                };
                let elements: Result<Vec<_>, _> = elements.into_iter().map(encode).collect();
                elements?.join(",")
            }
        };
        if value.len() > MAX_VALUE_BYTES {
            return Err(format!("longer than {MAX_VALUE_BYTES} bytes"));
        }
        Ok(value)
    }
}

impl HeaderEncoding {
    fn encode(self, text: String, encoded: &'static AsciiSet) -> Result<String, String> {
        match self {
            Self::Percent => Ok(utf8_percent_encode(&text, encoded).to_string()),
            Self::Utf8 if text.contains(is_control) => {
                Err("contains control characters".to_owned())
            }
            Self::Utf8 => Ok(text),
        }
    }
}

/// Headers that HTTP, a proxy or Doorward itself needs, and why none of them can be set. A `*` stands for any rest.
const RESERVED: &[(&str, &[&str])] = &[
    (
        "HTTP itself needs it",
        &[
            "accept*",
            "age",
            "allow",
            "alt-svc",
            "cache-control",
            "clear-site-data",
            "connection",
            "content-*",
            "date",
            "etag",
            "expect",
            "expires",
            "from",
            "host",
            "http2-settings",
            "if-*",
            "keep-alive",
            "last-modified",
            "link",
            "location",
            "max-forwards",
            "pragma",
            "range",
            "referer",
            "referrer-policy",
            "retry-after",
            "server",
            "strict-transport-security",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "user-agent",
            "vary",
            "via",
            "warning",
            "x-content-type-options",
            "x-frame-options",
        ],
    ),
    (
        "it carries credentials",
        &["authorization", "cookie", "proxy-*", "set-cookie", "www-authenticate"],
    ),
    (
        "browsers say with it what caused a request",
        &["access-control-*", "cross-origin-*", "origin", "sec-*", "x-requested-with"],
    ),
    (
        "proxies describe a request with it",
        &[
            "forwarded",
            "x-forwarded-*",
            "x-http-method*",
            "x-method-override",
            "x-original-*",
            "x-real-ip",
            "x-rewrite-url",
        ],
    ),
    (
        "it is one of Doorward's own: see grant and identity_headers",
        &["x-auth*", "x-decision-id", "x-doorward*", "x-request-id"],
    ),
];

/// With these, other systems name the user. No proxy needs them.
const ALLOWED: [&str; 4] = [
    "x-forwarded-user",
    "x-forwarded-email",
    "x-forwarded-groups",
    "x-forwarded-preferred-username",
];

/// Checks the name of a header. The error says what is wrong.
fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    let starts_with_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_with_letter || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_allowed) {
        return Err(format!(
            "not a name of a header: use 1 to {MAX_NAME_BYTES} letters, digits and dashes, because proxies drop others"
        ));
    }
    let name = name.to_ascii_lowercase();
    let is_meant = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == **pattern,
    };
    let reserved = RESERVED.iter().find(|(_, names)| names.iter().any(&is_meant));
    match reserved {
        Some((reason, _)) if !ALLOWED.contains(&&*name) => {
            Err(format!("a guard cannot set this header, because {reason}: choose another name"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::condition::sample, *};
    use crate::user::Name;

    fn declare(name: &str, text: &str) -> Result<AppHeaders, String> {
        let declared = vec![(name.to_owned(), text.to_owned())];
        AppHeaders::declare(declared, HeaderEncoding::Percent).map_err(|(of, invalid)| {
            assert_eq!(of, name);
            match invalid {
                InvalidHeader::Name(message) => message,
                InvalidHeader::Expression(error) => error.message,
            }
        })
    }

    fn value(text: &str, encoding: HeaderEncoding) -> Result<String, String> {
        let declared = vec![("X-Value".to_owned(), text.to_owned())];
        let headers = AppHeaders::declare(declared, encoding).unwrap_or_else(|_| panic!("{text}"));
        let mut user = sample::user();
        user.name = Name::from_store("Zoë, 100%\r\nX-Admin: yes".into());
        let session = sample::session(&user, [192, 0, 2, 7].into());
        let facts = CallerFacts::new(&user, &session);
        let [explained] = &headers.explain(&facts, &sample::request())[..] else { panic!() };
        assert_eq!(headers.values(&facts, &sample::request()).to_vec(), [&*explained.value]);
        explained.error.clone().map_or(Ok(explained.value.clone()), Err)
    }

    #[test]
    fn a_value_is_a_text_a_number_a_boolean_or_a_list_of_texts() {
        for (text, expected) in [
            ("user.email", "Ada@Example.com"),
            ("user.roles", "admin,staff"),
            ("user.roles.filter(r, r != \"staff\")", "admin"),
            ("user.roles.filter(r, r == \"none\")", ""),
            ("user.emailVerified", "true"),
            ("size(user.roles)", "2"),
            ("session.factors", "pwd,totp"),
            ("session.strength", "2"),
            ("session.phishingResistant", "false"),
            ("user.factors", "passkey,totp"),
            ("string(session.verifiedAt)", "2027-01-16T08:00:00Z"),
            ("1.5", "1.5"),
            ("\"staff\" in user.roles ? \"Editor\" : \"Viewer\"", "Editor"),
            ("string(session.createdAt)", "2027-01-16T08:00:00Z"),
            ("request.host + request.path", "app.example.com/reports/2027"),
        ] {
            assert_eq!(value(text, HeaderEncoding::Percent).as_deref(), Ok(expected), "{text}");
        }
        for (text, message) in [
            ("user", "gives map, not a text, a number, true or false, or a list of texts"),
            ("user.createdAt", "gives timestamp, not a text, a number, true or false, or a list"),
            ("[1, 2]", "gives list, not a text"),
            ("user.nmae", "user.nmae: did you mean name?"),
            ("user.roles.join(\",\")", "join(): "),
            ("", "Syntax error"),
        ] {
            let error = declare("X-Value", text).err().unwrap_or_default();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_value_never_contains_control_characters() {
        let percent = |text| value(text, HeaderEncoding::Percent);
        let utf8 = |text| value(text, HeaderEncoding::Utf8);
        assert_eq!(percent("user.name").unwrap(), "Zo%C3%AB, 100%25%0D%0AX-Admin: yes");
        assert_eq!(
            percent("[user.name, \"b\"]").unwrap(),
            "Zo%C3%AB%2C 100%25%0D%0AX-Admin: yes,b"
        );
        assert_eq!(utf8("user.name").unwrap_err(), "contains control characters");
        assert_eq!(utf8("user.name.substring(0, 3)").unwrap(), "Zoë");
        assert_eq!(utf8("user.name.substring(5, 9)").unwrap(), "100%");
        assert_eq!(utf8("\"a\\u0085b\"").unwrap_err(), "contains control characters");
        assert_eq!(utf8("\"a\\tb\"").unwrap_err(), "contains control characters");
        assert_eq!(
            utf8("[\"staff,admin\"]").unwrap_err(),
            "an element of the list contains a comma"
        );
    }

    #[test]
    fn an_expression_that_fails_gives_an_empty_value_and_its_reason() {
        let error = value("user.roles[7]", HeaderEncoding::Percent).unwrap_err();
        assert!(error.contains("Index out of bounds"), "{error}");
        let long = format!("{}user.email", "user.name + ".repeat(15));
        assert!(value(&long, HeaderEncoding::Percent).is_ok());
        let longer = format!("\"{}\" + user.email", "x".repeat(5000));
        let error = value(&longer, HeaderEncoding::Percent).unwrap_err();
        assert_eq!(error, "longer than 4096 bytes");
    }

    #[test]
    fn headers_that_http_a_proxy_or_doorward_needs_are_refused() {
        for name in [
            "Host",
            "COOKIE",
            "Set-Cookie",
            "Authorization",
            "Connection",
            "Content-Length",
            "Content-Type",
            "Transfer-Encoding",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Original-URI",
            "X-Auth-User-Id",
            "X-Auth-Request-User",
            "X-Request-Id",
            "Sec-Fetch-Site",
            "Vary",
            "X-HTTP-Method-Override",
        ] {
            let error = declare(name, "user.email").err().unwrap_or_default();
            assert!(
                error.contains("because") && error.contains("choose another"),
                "{name}: {error}"
            );
        }
        for name in ["", "X_User", "X User", "X-Üser", "-X", "1st", &"x".repeat(65)] {
            let error = declare(name, "user.email").err().unwrap_or_default();
            assert!(error.starts_with("not a name of a header"), "{name}: {error}");
        }
        for name in ["Remote-User", "X-Remote-User", "X-WEBAUTH-USER", "x-forwarded-user", "User"] {
            assert_eq!(declare(name, "user.email").err(), None, "{name}");
        }
        let twice = ["X-User", "x-user"].map(|name| (name.to_owned(), "user.id".to_owned()));
        assert!(AppHeaders::declare(twice.into(), HeaderEncoding::Percent).is_err());
        let many = (0..17).map(|n| (format!("X-{n}"), "user.id".to_owned())).collect();
        assert!(AppHeaders::declare(many, HeaderEncoding::Percent).is_err());
    }
}
