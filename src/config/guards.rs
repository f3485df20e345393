//! The `[guards]` tables of a settings file.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{SettingsError, designated::allowed_name, file::SettingsFile};
use crate::{
    access::guard::{
        AppOrigin, Declaration, ExampleRequest, ExampleUser, Expectation, Expected, Grant, Guard,
        GuardSet, InvalidGuard, Mode, ProxyStyle,
    },
    spelling::suggest,
    user::{Email, Name, Role},
};

/// Reads and checks all guards. An error in one of them rejects all.
pub(super) fn read(file: &SettingsFile, guards: &DeTable<'_>) -> Result<GuardSet, SettingsError> {
    let mut set = GuardSet::default();
    for (name, table) in guards {
        let reader = Reader { file, path: format!("guards.{}", name.get_ref()) };
        set.add(reader.guard(name, table)?);
    }
    Ok(set)
}

/// Reads one table, whose name is part of every error.
struct Reader<'f> {
    file: &'f SettingsFile,
    path: String,
}

type Key<'a> = Spanned<DeString<'a>>;
type Item<'a> = Spanned<DeValue<'a>>;

impl<'f> Reader<'f> {
    fn guard(&self, name: &Key<'_>, table: &Item<'_>) -> Result<Guard, SettingsError> {
        let mut declaration =
            Declaration { name: name.get_ref().to_string(), ..Declaration::default() };
        let (mut condition, mut origins) = (None, None);
        let mut examples = Vec::new();
        for (key, value) in self.table(table, name.span())? {
            match key.get_ref().as_ref() {
                "allow" => {
                    declaration.allow = self.text(key, value)?;
                    condition = Some(value.span());
                }
                "grant" => declaration.grant = self.choice(key, value, &GRANTS)?,
                "mode" => declaration.mode = self.choice(key, value, &MODES)?,
                "proxy" => declaration.proxy = Some(self.choice(key, value, &PROXIES)?),
                "preflight" => declaration.preflight = self.flag(key, value)?,
                "title" => declaration.title = Some(self.title(key, value)?),
                "origins" => {
                    for origin in self.array(key, value)? {
                        declaration.origins.push(self.origin(key, origin)?);
                    }
                    origins = Some(value.span());
                }
                "cross_site" => declaration.cross_site = self.flag(key, value)?,
                "expect" => {
                    for example in self.array(key, value)? {
                        examples.push(example.span());
                        declaration.expectations.push(self.nested(key).expectation(example)?);
                    }
                }
                _ => {
                    return Err(self.unknown(key, &OPTIONS));
                }
            }
        }
        let Some(condition) = condition else {
            return Err(self.error(name.span(), "has no condition: allow = '…' is missing"));
        };
        let allow = declaration.allow.clone();
        Guard::declare(declaration).map_err(|invalid| match invalid {
            InvalidGuard::Name(message) => self.error(name.span(), &message),
            InvalidGuard::OriginsWithoutProxy => {
                self.error(origins.unwrap_or(name.span()).clone(), invalid.message())
            }
            InvalidGuard::Condition(error) => {
                let at = self.file.within(condition, &allow, error.at);
                self.file.error(at, &format!("{}.allow: {}", self.path, error.message))
            }
            InvalidGuard::Expectation(number, failed) => {
                let (expected, actual) = match failed.expected {
                    Expected::Allow => ("allowed", "refused"),
                    Expected::Deny => ("refused", "allowed"),
                };
                let message = format!(
                    "this example should be {expected} and is {actual}: {}",
                    failed.because
                );
                self.nested_name("expect").error(examples[number].clone(), &message)
            }
        })
    }

    fn expectation(&self, example: &Item<'_>) -> Result<Expectation, SettingsError> {
        let mut expected = None;
        let mut expectation = Expectation {
            expected: Expected::Deny,
            user: ExampleUser::default(),
            request: ExampleRequest::default(),
            session_address: None,
        };
        for (key, value) in self.table(example, example.span())? {
            match key.get_ref().as_ref() {
                "allow" => {
                    let allowed = self.flag(key, value)?;
                    expected = Some(if allowed { Expected::Allow } else { Expected::Deny });
                }
                "user" => expectation.user = self.nested(key).user(value)?,
                "request" => expectation.request = self.nested(key).request(value)?,
                "session" => {
                    let reader = self.nested(key);
                    for (key, value) in reader.table(value, key.span())? {
                        match key.get_ref().as_ref() {
                            "address" => {
                                expectation.session_address = Some(reader.address(key, value)?)
                            }
                            _ => return Err(reader.unknown(key, &["address"])),
                        }
                    }
                }
                _ => return Err(self.unknown(key, &["allow", "user", "request", "session"])),
            }
        }
        let missing =
            || self.error(example.span(), "does not say what is expected: allow = true or false");
        expectation.expected = expected.ok_or_else(missing)?;
        Ok(expectation)
    }

    fn origin(&self, key: &Key<'_>, value: &Item<'_>) -> Result<AppOrigin, SettingsError> {
        let text = self.text(key, value)?;
        AppOrigin::parse(&text).map_err(|invalid| {
            self.nested(key).error(value.span(), &format!("\"{text}\" {invalid}"))
        })
    }

    fn title(&self, key: &Key<'_>, value: &Item<'_>) -> Result<String, SettingsError> {
        const MAX_CHARACTERS: usize = 60;
        let text = self.text(key, value)?;
        let is_allowed = (1..=MAX_CHARACTERS).contains(&text.trim().chars().count())
            && !text.chars().any(char::is_control);
        if is_allowed {
            return Ok(text.trim().to_owned());
        }
        let message = format!("not a title: use 1 to {MAX_CHARACTERS} printable characters");
        Err(self.nested(key).error(value.span(), &message))
    }

    fn user(&self, table: &Item<'_>) -> Result<ExampleUser, SettingsError> {
        let mut user = ExampleUser::default();
        for (key, value) in self.table(table, table.span())? {
            let not = |allowed: &str| self.error(value.span(), &format!("not {allowed}"));
            match key.get_ref().as_ref() {
                "name" => {
                    let name = Name::parse(self.text(key, value)?);
                    user.name = Some(name.map_err(|_| not(&allowed_name()))?);
                }
                "email" => {
                    let email = Email::parse(self.text(key, value)?);
                    user.email = Some(email.map_err(|_| not("an e-mail address"))?);
                }
                "emailVerified" => user.email_verified = self.flag(key, value)?,
                "roles" => {
                    for role in self.array(key, value)? {
                        let role = Role::parse(&self.text(key, role)?);
                        user.roles.push(
                            role.ok_or_else(|| not("a role: letters, digits and _ - : . /"))?,
                        );
                    }
                }
                "disabled" => user.disabled = self.flag(key, value)?,
                _ => {
                    return Err(
                        self.unknown(key, &["name", "email", "emailVerified", "roles", "disabled"])
                    );
                }
            }
        }
        Ok(user)
    }

    fn request(&self, table: &Item<'_>) -> Result<ExampleRequest, SettingsError> {
        let mut request = ExampleRequest::default();
        for (key, value) in self.table(table, table.span())? {
            match key.get_ref().as_ref() {
                "method" => request.method = Some(self.text(key, value)?),
                "host" => request.host = Some(self.text(key, value)?),
                "path" => request.path = Some(self.text(key, value)?),
                "scheme" => request.scheme = Some(self.text(key, value)?),
                "address" => request.address = Some(self.address(key, value)?),
                _ => {
                    return Err(self.unknown(key, &["method", "host", "path", "scheme", "address"]));
                }
            }
        }
        Ok(request)
    }

    fn address(&self, key: &Key<'_>, value: &Item<'_>) -> Result<std::net::IpAddr, SettingsError> {
        let address = self.text(key, value)?.parse();
        address.map_err(|_| self.nested(key).error(value.span(), "not an IP address"))
    }

    fn choice<T: Copy>(
        &self,
        key: &Key<'_>,
        value: &Item<'_>,
        known: &[(&str, T)],
    ) -> Result<T, SettingsError> {
        let text = self.text(key, value)?;
        let choice = known.iter().find(|(name, _)| *name == text);
        choice.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            let message = format!("\"{text}\" is not one of {}", names.join(", "));
            self.nested(key).error(value.span(), &message)
        })
    }

    fn text(&self, key: &Key<'_>, value: &Item<'_>) -> Result<String, SettingsError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(self.wrong_type(key, value, "a text", other)),
        }
    }

    fn flag(&self, key: &Key<'_>, value: &Item<'_>) -> Result<bool, SettingsError> {
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            other => Err(self.wrong_type(key, value, "true or false", other)),
        }
    }

    fn array<'v, 'i>(
        &self,
        key: &Key<'_>,
        value: &'v Item<'i>,
    ) -> Result<&'v [Item<'i>], SettingsError> {
        match value.get_ref() {
            DeValue::Array(elements) => Ok(elements),
            other => Err(self.wrong_type(key, value, "a list", other)),
        }
    }

    fn table<'v, 'i>(
        &self,
        value: &'v Item<'i>,
        at: Range<usize>,
    ) -> Result<&'v DeTable<'i>, SettingsError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => {
                Err(self.error(at, &format!("a value of type {} is not a table", other.type_str())))
            }
        }
    }

    fn wrong_type(
        &self,
        key: &Key<'_>,
        value: &Item<'_>,
        wanted: &str,
        got: &DeValue<'_>,
    ) -> SettingsError {
        let message = format!("a value of type {} is not {wanted}", got.type_str());
        self.nested(key).error(value.span(), &message)
    }

    fn unknown(&self, key: &Key<'_>, known: &[&str]) -> SettingsError {
        let hint = match suggest(key.get_ref(), known.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", known.join(", ")),
        };
        self.nested(key).error(key.span(), &format!("unknown setting: {hint}"))
    }

    fn nested(&self, key: &Key<'_>) -> Self {
        self.nested_name(key.get_ref())
    }

    fn nested_name(&self, name: &str) -> Self {
        Self { file: self.file, path: format!("{}.{name}", self.path) }
    }

    fn error(&self, at: Range<usize>, message: &str) -> SettingsError {
        self.file.error(at.start, &format!("{}: {message}", self.path))
    }
}

const OPTIONS: [&str; 9] =
    ["allow", "grant", "mode", "proxy", "preflight", "title", "origins", "cross_site", "expect"];
const GRANTS: [(&str, Grant); 2] = [("id", Grant::Id), ("user", Grant::User)];
const MODES: [(&str, Mode); 2] = [("enforce", Mode::Enforce), ("report", Mode::Report)];
const PROXIES: [(&str, ProxyStyle); 5] = [
    proxy(ProxyStyle::Nginx),
    proxy(ProxyStyle::Traefik),
    proxy(ProxyStyle::Caddy),
    proxy(ProxyStyle::Haproxy),
    proxy(ProxyStyle::Envoy),
];

const fn proxy(style: ProxyStyle) -> (&'static str, ProxyStyle) {
    (style.name(), style)
}
