//! The `[guards]` tables of a settings file.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use serde::Deserialize;
use serde_spanned::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{
    SettingsError,
    designated::allowed_name,
    file::SettingsFile,
    table::{self, FromText, ShortText, Text},
    value::parse_duration,
};
use crate::{
    access::guard::{
        AppOrigin, Declaration, ExampleRequest, ExampleSession, ExampleUser, Expectation, Expected,
        Grant, Guard, GuardSet, HeaderEncoding, InvalidGuard, InvalidHeader, Mode, ProxyStyle,
    },
    credential::factor::FactorKind,
    session::Method,
    user::{Email, Name, Role},
};

/// Reads and checks all guards. An error in one of them rejects all.
pub(super) fn read(file: &SettingsFile, guards: &DeTable<'_>) -> Result<GuardSet, SettingsError> {
    let mut set = GuardSet::default();
    for (name, table) in guards {
        set.add(guard(file, name, table)?);
    }
    Ok(set)
}

/// The keys of a guard.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardTable {
    allow: Option<Spanned<String>>,
    #[serde(default)]
    grant: Grant,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    header_encoding: HeaderEncoding,
    #[serde(default)]
    mode: Mode,
    proxy: Option<ProxyStyle>,
    #[serde(default)]
    preflight: bool,
    title: Option<Text<ShortText<60>>>,
    origins: Option<Spanned<Vec<Text<AppOrigin>>>>,
    #[serde(default)]
    cross_site: bool,
    #[serde(default)]
    keys: bool,
    #[serde(default)]
    expect: Vec<Spanned<ExampleTable>>,
}

/// An example of what the guard should decide.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleTable {
    allow: Option<bool>,
    #[serde(default)]
    user: UserTable,
    #[serde(default)]
    request: RequestTable,
    #[serde(default)]
    session: SessionTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct UserTable {
    name: Option<Text<Name>>,
    email: Option<Text<Email>>,
    email_verified: bool,
    roles: Vec<Text<Role>>,
    factors: Vec<Text<FactorKind>>,
    disabled: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RequestTable {
    method: Option<String>,
    host: Option<String>,
    path: Option<String>,
    scheme: Option<String>,
    address: Option<Text<IpAddr>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct SessionTable {
    address: Option<Text<IpAddr>>,
    factors: Option<Vec<Text<Method>>>,
    verified_ago: Option<Text<VerifiedAgo>>,
}

fn guard(
    file: &SettingsFile,
    name: &Spanned<DeString<'_>>,
    table: &Spanned<DeValue<'_>>,
) -> Result<Guard, SettingsError> {
    let path = format!("guards.{}", name.get_ref());
    let error = |at: usize, message: &str| file.error(at, &format!("{path}: {message}"));
    let table: GuardTable = table::read(file, "guards", name, table)?;
    let Some(allow) = table.allow else {
        return Err(error(name.span().start, "has no condition: allow = '…' is missing"));
    };
    let about_example =
        |at: usize, message: &str| file.error(at, &format!("{path}.expect: {message}"));
    let examples: Vec<_> = table.expect.iter().map(|example| example.span().start).collect();
    let mut expectations = Vec::new();
    for example in table.expect {
        let at = example.span().start;
        let missing = || about_example(at, "does not say what is expected: allow = true or false");
        expectations.push(example.into_inner().expectation().ok_or_else(missing)?);
    }
    let origins_at =
        table.origins.as_ref().map_or(name.span().start, |origins| origins.span().start);
    let origins = table.origins.map(Spanned::into_inner).unwrap_or_default();
    let declaration = Declaration {
        name: name.get_ref().to_string(),
        allow: allow.get_ref().clone(),
        grant: table.grant,
        headers: table
            .headers
            .iter()
            .map(|(name, text)| (name.clone(), text.get_ref().clone()))
            .collect(),
        header_encoding: table.header_encoding,
        mode: table.mode,
        proxy: table.proxy,
        preflight: table.preflight,
        title: table.title.map(|Text(ShortText(title))| title),
        origins: origins.into_iter().map(|Text(origin)| origin).collect(),
        cross_site: table.cross_site,
        keys: table.keys,
        expectations,
    };
    Guard::declare(declaration).map_err(|invalid| match invalid {
        InvalidGuard::Name(message) => error(name.span().start, &message),
        InvalidGuard::OriginsWithoutProxy => error(origins_at, invalid.message()),
        InvalidGuard::Condition(fault) => {
            let at = file.within(allow.span(), allow.get_ref(), fault.at);
            file.error(at, &format!("{path}.allow: {}", fault.message))
        }
        InvalidGuard::Header(name, invalid) => {
            let text = &table.headers[&name];
            let (at, message) = match invalid {
                InvalidHeader::Name(message) => (text.span().start, message),
                InvalidHeader::Expression(fault) => {
                    (file.within(text.span(), text.get_ref(), fault.at), fault.message)
                }
            };
            file.error(at, &format!("{path}.headers.{name}: {message}"))
        }
        InvalidGuard::Expectation(number, failed) => {
            let (expected, actual) = match failed.expected {
                Expected::Allow => ("allowed", "refused"),
                Expected::Deny => ("refused", "allowed"),
            };
            let because = failed.because;
            let message = format!("this example should be {expected} and is {actual}: {because}");
            about_example(examples[number], &message)
        }
    })
}

impl ExampleTable {
    /// None if it does not say what is expected.
    fn expectation(self) -> Option<Expectation> {
        let Self { allow, user, request, session } = self;
        Some(Expectation {
            expected: if allow? { Expected::Allow } else { Expected::Deny },
            user: ExampleUser {
                name: user.name.map(|Text(name)| name),
                email: user.email.map(|Text(email)| email),
                email_verified: user.email_verified,
                roles: user.roles.into_iter().map(|Text(role)| role).collect(),
                factors: user.factors.into_iter().map(|Text(kind)| kind).collect(),
                disabled: user.disabled,
            },
            request: ExampleRequest {
                method: request.method,
                host: request.host,
                path: request.path,
                scheme: request.scheme,
                address: request.address.map(|Text(address)| address),
            },
            session: ExampleSession {
                address: session.address.map(|Text(address)| address),
                methods: session
                    .factors
                    .map(|methods| methods.into_iter().map(|Text(method)| method).collect()),
                verified_ago: session.verified_ago.map_or(Duration::ZERO, |Text(ago)| ago.0),
            },
        })
    }
}

/// How long before the request of an example its user has proved who they are.
struct VerifiedAgo(Duration);

impl FromText for VerifiedAgo {
    fn from_text(text: String) -> Result<Self, String> {
        parse_duration(&text).map(Self).ok_or_else(|| {
            "not a duration: write a number with s, m, h or d, such as 20m".to_owned()
        })
    }
}

impl FromText for FactorKind {
    fn from_text(text: String) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::by_name(&text).ok_or_else(|| format!("not a kind of second factor: {names}"))
    }
}

impl FromText for Method {
    fn from_text(text: String) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::by_name(&text).ok_or_else(|| format!("not a way to sign in: {names}"))
    }
}

impl FromText for AppOrigin {
    fn from_text(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|invalid| format!("\"{text}\" {invalid}"))
    }
}

impl FromText for IpAddr {
    fn from_text(text: String) -> Result<Self, String> {
        text.parse().map_err(|_| "not an IP address".into())
    }
}

impl FromText for Name {
    fn from_text(text: String) -> Result<Self, String> {
        Self::parse(text).map_err(|_| format!("not {}", allowed_name()))
    }
}

impl FromText for Email {
    fn from_text(text: String) -> Result<Self, String> {
        Self::parse(text).map_err(|_| "not an e-mail address".into())
    }
}

impl FromText for Role {
    fn from_text(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| "not a role: letters, digits and _ - : . /".into())
    }
}
