//! Guards that operators declare: a name, a condition, and what the guarded app receives about the user.

mod app_headers;
mod app_origin;
pub mod condition;
mod decision;
mod expectation;
mod reachable;

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use serde::Deserialize;

pub(crate) use self::app_headers::ENCODED;
#[cfg(test)]
pub(crate) use self::condition::sample;
pub use self::{
    app_headers::{AppHeaders, ExplainedHeader, HeaderEncoding, InvalidHeader},
    app_origin::{AppOrigin, InvalidOrigin, is_host_header, is_loopback_host},
    condition::{
        CallerFacts, Condition, ConditionError, Explanation, Expression, FieldsRead, RequestFacts,
        Step, Subject, Unsatisfied, host_of, path_of,
    },
    decision::{Decision, Decisions},
    expectation::{
        ExampleRequest, ExampleSession, ExampleUser, Expectation, Expected, FailedExpectation,
    },
    reachable::{Ask, Missing, Reachable},
};
use crate::{session::Session, sha256::sha256, user::User};

/// A declared guard whose condition has been checked.
pub struct Guard {
    /// The last segment of its path, `/api/auth/<name>`.
    pub name: String,
    /// The condition for admission.
    pub condition: Condition,
    /// What the guarded app receives about the user.
    pub grant: Grant,
    /// Headers of the operator's choice that the guarded app receives.
    pub headers: AppHeaders,
    pub mode: Mode,
    /// The kind of proxy whose headers describe the guarded request. None by default.
    pub proxy: Option<ProxyStyle>,
    /// Whether a CORS preflight passes without a token.
    pub preflight: bool,
    /// The name of the app on pages for people.
    pub title: String,
    /// The app's origins. With any, people can sign in with a browser.
    pub origins: Vec<AppOrigin>,
    /// Whether requests of other sites that change something are admitted by a cookie.
    pub cross_site: bool,
    /// Whether API keys are admitted.
    pub keys: bool,
    /// Examples, which have been checked.
    pub expectations: Vec<Expectation>,
    /// A hash of the declaration: it changes with the condition and the options.
    pub version: String,
    request_fields: Vec<&'static str>,
    /// Unique in this process, also among versions of the same guard.
    serial: u64,
    /// What it has decided, once it is in force. All versions of a guard count in the same place.
    decisions: OnceLock<Arc<Decisions>>,
}

/// What the guarded app receives about an admitted user.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    #[default]
    Id,
    /// The id, the name and the e-mail address.
    User,
}

/// What happens on a refusal.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The request is refused.
    #[default]
    Enforce,
    /// The request is admitted, and the refusal is recorded.
    Report,
}

/// The headers in which a proxy describes the guarded request.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProxyStyle {
    /// `X-Original-Method`, `X-Original-URI`, `X-Forwarded-*`.
    Nginx,
    /// `X-Forwarded-Method`, `X-Forwarded-Uri`, `X-Forwarded-*`.
    Traefik,
    /// As Traefik.
    Caddy,
    /// As Traefik, with the script in `deploy/`.
    Haproxy,
    /// The request line itself: the guarded path follows the path of the guard.
    Envoy,
}

impl ProxyStyle {
    /// The name in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Traefik => "traefik",
            Self::Caddy => "caddy",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
        }
    }
}

/// The declaration of a guard, not yet checked.
#[derive(Debug, Default)]
pub struct Declaration {
    pub name: String,
    /// The condition in CEL.
    pub allow: String,
    /// What the guarded app receives about the user.
    pub grant: Grant,
    /// Headers for the guarded app: names and expressions.
    pub headers: Vec<(String, String)>,
    pub header_encoding: HeaderEncoding,
    pub mode: Mode,
    /// The kind of proxy whose headers are trusted.
    pub proxy: Option<ProxyStyle>,
    /// Whether a CORS preflight passes without a token.
    pub preflight: bool,
    /// The name of the app on pages for people; the name of the guard unless set.
    pub title: Option<String>,
    pub origins: Vec<AppOrigin>,
    /// Whether requests of other sites that change something are admitted by a cookie.
    pub cross_site: bool,
    /// Whether API keys are admitted.
    pub keys: bool,
    /// Examples of what the guard should decide.
    pub expectations: Vec<Expectation>,
}

/// What is wrong with a declaration.
#[derive(Debug)]
pub enum InvalidGuard {
    Name(String),
    /// It has origins and no kind of proxy.
    OriginsWithoutProxy,
    Condition(ConditionError),
    /// The header with this name.
    Header(String, InvalidHeader),
    /// The example with this index.
    Expectation(usize, FailedExpectation),
}

impl InvalidGuard {
    /// What is wrong, without its place.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Name(message) => message,
            Self::OriginsWithoutProxy => {
                "origins needs proxy: the guard reads the URL of a request from the headers of that kind of proxy"
            }
            Self::Condition(error) | Self::Header(_, InvalidHeader::Expression(error)) => {
                &error.message
            }
            Self::Header(_, InvalidHeader::Name(message)) => message,
            Self::Expectation(_, failed) => &failed.because,
        }
    }
}

impl Guard {
    /// Checks a declaration.
    ///
    /// # Errors
    /// For the first error in it.
    pub fn declare(declaration: Declaration) -> Result<Self, InvalidGuard> {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        check_name(&declaration.name).map_err(InvalidGuard::Name)?;
        let version = version_of(&declaration);
        if !declaration.origins.is_empty() && declaration.proxy.is_none() {
            return Err(InvalidGuard::OriginsWithoutProxy);
        }
        let Declaration {
            name,
            allow,
            grant,
            headers,
            header_encoding,
            mode,
            proxy,
            preflight,
            title,
            origins,
            cross_site,
            keys,
            expectations,
        } = declaration;
        let condition = Condition::parse(&allow).map_err(InvalidGuard::Condition)?;
        let headers = AppHeaders::declare(headers, header_encoding)
            .map_err(|(name, invalid)| InvalidGuard::Header(name, invalid))?;
        let guard = Self {
            request_fields: [condition.request_fields(), headers.request_fields()].concat(),
            title: title.unwrap_or_else(|| name.clone()),
            name,
            condition,
            grant,
            headers,
            mode,
            proxy,
            preflight,
            origins,
            cross_site,
            keys,
            expectations,
            version,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            decisions: OnceLock::new(),
        };
        guard.check_expectations()?;
        Ok(guard)
    }

    /// Whether the guard admits every request of the caller with this memo: the condition does not read the request, and it
    /// has been true since the caller last changed.
    pub fn is_known_to_admit(&self, memo: &Memo) -> bool {
        memo.is_admitted_by(self.serial)
    }

    /// Decides whether a user in a session may make a request.
    ///
    /// # Errors
    /// If the condition is not true.
    pub fn decide(
        &self,
        user: &User,
        session: &Session,
        memo: &Memo,
        request: &RequestFacts<'_>,
    ) -> Result<(), Unsatisfied> {
        if self.is_known_to_admit(memo) {
            return Ok(());
        }
        self.condition.holds(memo.facts(user, session), request)?;
        if !self.condition.reads_request() {
            memo.record_admission_by(self.serial);
        }
        Ok(())
    }

    /// The values of its headers for an admitted caller, in the order of their names. What does not depend on the request is
    /// remembered until the caller changes.
    pub fn header_values(
        &self,
        user: &User,
        session: &Session,
        memo: &Memo,
        request: &RequestFacts<'_>,
    ) -> Arc<[String]> {
        if !self.headers.request_fields().is_empty() {
            return self.headers.values(memo.facts(user, session), request);
        }
        memo.header_values(self.serial).unwrap_or_else(|| {
            let values = self.headers.values(memo.facts(user, session), request);
            memo.record_header_values(self.serial, &values);
            values
        })
    }

    /// The fields of the request that its condition or a header reads.
    pub(crate) fn request_fields(&self) -> &[&'static str] {
        &self.request_fields
    }

    /// Sets where its decisions are counted. Only the first call has an effect.
    pub(crate) fn count_in(&self, decisions: Arc<Decisions>) {
        let _ = self.decisions.set(decisions);
    }

    /// Counts a decision, if the guard is in force.
    pub(crate) fn count(&self, decision: Decision) {
        if let Some(decisions) = self.decisions.get() {
            decisions.add_one(decision);
        }
    }

    /// A warning for the operator about a guard that is valid but probably wrong.
    pub fn warning(&self) -> Option<String> {
        self.condition_warning().map(|warning| format!("guard {}: {warning}", self.name))
    }

    /// A warning about the condition: trust in addresses that nobody has verified.
    pub(crate) fn condition_warning(&self) -> Option<String> {
        self.condition.reads().trusts_unverified_email().then(|| {
            "allow reads the e-mail address but not user.emailVerified, and anybody can register any address: write \
             `user.emailVerified && (…)`"
                .into()
        })
    }

    fn check_expectations(&self) -> Result<(), InvalidGuard> {
        for (number, expectation) in self.expectations.iter().enumerate() {
            expectation
                .check(&self.condition)
                .map_err(|failed| InvalidGuard::Expectation(number, failed))?;
        }
        Ok(())
    }
}

/// The names that no guard may have, because the service has routes at `/api/auth/<name>`. A test compares them with the
/// table of routes.
pub const RESERVED_NAMES: [&str; 10] = [
    "code",
    "forgot",
    "guard",
    "login",
    "logout",
    "logout-everywhere",
    "refresh",
    "reset",
    "restore-email",
    "verify",
];

/// The syntax of a guard name.
pub(crate) const NAME_SYNTAX: &str = "1 to 64 of a-z, 0-9 and -";

/// Checks the name of a guard. The error says what is wrong.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(allowed) {
        Err(format!("not a guard name: use {NAME_SYNTAX}"))
    } else if RESERVED_NAMES.contains(&name) {
        Err(format!("/api/auth/{name} is taken: choose another name"))
    } else {
        Ok(())
    }
}

fn version_of(declaration: &Declaration) -> String {
    let Declaration {
        name,
        allow,
        grant,
        headers,
        header_encoding,
        mode,
        proxy,
        preflight,
        title,
        origins,
        cross_site,
        keys,
        expectations: _,
    } = declaration;
    let mut all = format!("{name}\n{allow}\n{grant:?} {mode:?} {proxy:?} {preflight}");
    // Options that are not set do not count, so the version of a guard does not depend on which options exist.
    if title.is_some() || !origins.is_empty() || *cross_site {
        let origins: Vec<_> = origins.iter().map(AppOrigin::as_str).collect();
        all += &format!("\n{title:?} {origins:?} {cross_site}");
    }
    if !headers.is_empty() {
        all += &format!("\n{headers:?} {header_encoding:?}");
    }
    if *keys {
        all += "\nkeys";
    }
    sha256(all)[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All declared guards, by name.
#[derive(Clone, Default)]
pub struct GuardSet(HashMap<String, Arc<Guard>>);

impl GuardSet {
    /// Adds a guard, and replaces one with the same name.
    pub fn add(&mut self, guard: Guard) {
        self.0.insert(guard.name.clone(), Arc::new(guard));
    }

    pub fn by_name(&self, name: &str) -> Option<&Arc<Guard>> {
        self.0.get(name)
    }

    /// All guards, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Guard> {
        let mut guards: Vec<_> = self.0.values().map(|guard| &**guard).collect();
        guards.sort_unstable_by_key(|guard| &guard.name);
        guards.into_iter()
    }

    pub(crate) fn log_warnings(&self) {
        for warning in self.iter().filter_map(Guard::warning) {
            tracing::warn!("{warning}");
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Two sets are equal if they hold the same versions of guards.
impl PartialEq for GuardSet {
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(|guard| &guard.version).eq(other.iter().map(|guard| &guard.version))
    }
}

impl std::fmt::Debug for GuardSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What guards have computed about a caller. It is valid until the user or the session changes.
#[derive(Default)]
pub struct Memo {
    facts: OnceLock<CallerFacts>,
    /// The serial numbers of guards that admit the caller to every request. A guard replaces another one in its slot.
    admitted_by: [AtomicU64; 8],
    /// The values of headers, by the serial numbers of guards, the oldest first.
    header_values: ArcSwapOption<Vec<(u64, Arc<[String]>)>>,
}

impl Memo {
    pub(crate) fn facts(&self, user: &User, session: &Session) -> &CallerFacts {
        self.facts.get_or_init(|| CallerFacts::new(user, session))
    }

    /// The facts, if a guard has read them.
    pub(crate) fn known_facts(&self) -> Option<&CallerFacts> {
        self.facts.get()
    }

    fn is_admitted_by(&self, serial: u64) -> bool {
        self.slot(serial).load(Ordering::Relaxed) == serial
    }

    fn record_admission_by(&self, serial: u64) {
        self.slot(serial).store(serial, Ordering::Relaxed);
    }

    fn header_values(&self, serial: u64) -> Option<Arc<[String]>> {
        let all = self.header_values.load();
        let (_, values) = all.as_ref()?.iter().find(|(other, _)| *other == serial)?;
        Some(Arc::clone(values))
    }

    /// Two guards at the same time may keep only one of their values, and the other is computed again.
    fn record_header_values(&self, serial: u64, values: &Arc<[String]>) {
        const MAX_GUARDS: usize = 8;
        let mut all = self.header_values.load().as_deref().cloned().unwrap_or_default();
        if all.len() == MAX_GUARDS {
            all.remove(0);
        }
        all.push((serial, Arc::clone(values)));
        self.header_values.store(Some(Arc::new(all)));
    }

    fn slot(&self, serial: u64) -> &AtomicU64 {
        &self.admitted_by[serial as usize % self.admitted_by.len()]
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Memo(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declare(name: &str, allow: &str) -> Result<Guard, InvalidGuard> {
        let (name, allow) = (name.into(), allow.into());
        Guard::declare(Declaration { name, allow, ..Declaration::default() })
    }

    /// A caller with their own memo.
    struct Sample {
        user: User,
        session: Session,
        memo: Memo,
    }

    impl Sample {
        fn new() -> Self {
            let user = sample::user();
            let session = sample::session(&user, [192, 0, 2, 7].into());
            Self { user, session, memo: Memo::default() }
        }

        fn decide(&self, guard: &Guard, request: &RequestFacts<'_>) -> Result<(), Unsatisfied> {
            guard.decide(&self.user, &self.session, &self.memo, request)
        }
    }

    #[test]
    fn a_decision_is_remembered_for_its_guard_and_no_other() {
        let caller = Sample::new();
        let staff = declare("staff", r#""staff" in user.roles"#).unwrap();
        let others: Vec<_> =
            (0..50).map(|n| declare(&format!("no-{n}"), "user.disabled").unwrap()).collect();
        for _ in 0..3 {
            assert_eq!(caller.decide(&staff, &sample::request()), Ok(()));
            for other in &others {
                assert_eq!(caller.decide(other, &sample::request()), Err(Unsatisfied::False));
            }
        }
    }

    #[test]
    fn a_condition_over_the_request_is_decided_for_every_request() {
        let caller = Sample::new();
        let reading = declare("reading", r#"request.method == "GET""#).unwrap();
        let post = RequestFacts { method: Some("POST".into()), ..sample::request() };
        for _ in 0..3 {
            assert_eq!(caller.decide(&reading, &sample::request()), Ok(()));
            assert_eq!(caller.decide(&reading, &post), Err(Unsatisfied::False));
        }
    }

    #[test]
    fn headers_are_remembered_for_a_caller_unless_they_read_the_request() {
        let declare = |name: &str, text: &str| {
            Guard::declare(Declaration {
                name: name.into(),
                allow: "true".into(),
                headers: vec![("X-Value".into(), text.into())],
                ..Declaration::default()
            })
            .unwrap()
        };
        let post = RequestFacts { method: Some("POST".into()), ..sample::request() };
        let caller = Sample::new();
        let values = |guard: &Guard, request: &RequestFacts<'_>| {
            guard.header_values(&caller.user, &caller.session, &caller.memo, request)
        };
        let method = declare("method", "request.method");
        assert_eq!(*values(&method, &sample::request()), ["GET"]);
        assert_eq!(*values(&method, &post), ["POST"]);
        // More guards than are remembered.
        let guards: Vec<_> =
            (0..20).map(|n| declare(&format!("g-{n}"), &format!("\"{n} \" + user.name"))).collect();
        for _ in 0..2 {
            for (n, guard) in guards.iter().enumerate() {
                let first = values(guard, &post);
                assert_eq!(*first, [format!("{n} Ada L%C3%B6velace")]);
                assert!(Arc::ptr_eq(&first, &values(guard, &sample::request())));
            }
        }
        let changed = Sample::new();
        let guard = &guards[0];
        let user = User { name: crate::user::Name::from_store("Eve".into()), ..changed.user };
        let values = guard.header_values(&user, &changed.session, &changed.memo, &post);
        assert_eq!(*values, ["0 Eve"]);
    }

    #[test]
    fn bad_and_reserved_names_are_refused() {
        let bad = ["", "Staff", "a b", "a/b", "ü", &"x".repeat(65)];
        for name in bad.into_iter().chain(RESERVED_NAMES) {
            assert!(matches!(declare(name, "true"), Err(InvalidGuard::Name(_))), "{name}");
        }
        assert!(declare("staff-2", "true").is_ok());
    }

    #[test]
    fn a_version_changes_with_the_declaration_and_only_then() {
        let version = |allow| declare("staff", allow).unwrap().version;
        assert_eq!(version("true"), version("true"));
        assert_ne!(version("true"), version("!false"));
    }
}
