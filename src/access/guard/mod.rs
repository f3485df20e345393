//! Guards that operators declare: a name, a condition, and what the guarded side learns.

pub mod condition;
mod expectation;
pub(crate) mod hypothetical;

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use aws_lc_rs::digest::{SHA256, digest};

pub use self::{
    condition::{
        CallerFacts, Condition, Explanation, Flaw, MAX_ROLES, RequestFacts, Step, Untrue, host_of,
        path_of,
    },
    expectation::{Expectation, Expected, MadeUpRequest, MadeUpUser, Unmet},
};
use super::caller::Caller;
use crate::routes::is_reserved_guard_name;

/// One declared guard, checked and ready to decide.
pub struct Guard {
    /// The last segment of its path: `/api/auth/<name>`.
    pub name: String,
    /// Whom it admits.
    pub condition: Condition,
    /// What the guarded side learns.
    pub grant: Grant,
    /// What comes of a refusal.
    pub mode: Mode,
    /// Which proxy's account of the guarded request is believed; none by default.
    pub proxy: Option<ProxyStyle>,
    /// Whether a CORS preflight passes without a token.
    pub preflight: bool,
    /// Examples that were true when the guard was declared.
    pub expectations: Vec<Expectation>,
    /// Names this very declaration: another condition or option gives another version.
    pub version: String,
    /// Never given to another guard of this process, not even to a later version of the same.
    serial: u64,
}

/// What the guarded side learns about an admitted caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// Their id.
    #[default]
    Id,
    /// Also name and e-mail address.
    User,
}

/// What comes of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The caller is refused.
    #[default]
    Enforce,
    /// The caller is admitted, and what would have been refused is recorded.
    Report,
}

/// In which headers a proxy tells of the request that it guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyStyle {
    /// `X-Original-Method`, `X-Original-URI`, `X-Forwarded-*`.
    Nginx,
    /// `X-Forwarded-Method`, `X-Forwarded-Uri`, `X-Forwarded-*`.
    Traefik,
    /// As Traefik.
    Caddy,
    /// As Traefik, by the script in `deploy/`.
    Haproxy,
    /// The request line itself, the path behind that of the guard.
    Envoy,
}

/// A guard as it was written down.
#[derive(Debug, Default)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Its condition.
    pub allow: String,
    /// What the guarded side learns.
    pub grant: Grant,
    /// What comes of a refusal.
    pub mode: Mode,
    /// Which proxy's account is believed.
    pub proxy: Option<ProxyStyle>,
    /// Whether a CORS preflight passes.
    pub preflight: bool,
    /// Examples of what it should decide.
    pub expectations: Vec<Expectation>,
}

/// Why a declaration cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// Its name.
    Name(String),
    /// Its condition.
    Condition(Flaw),
    /// The example with this number, counted from nought.
    Expectation(usize, Unmet),
}

impl Guard {
    /// Checks a declaration.
    ///
    /// # Errors
    /// For the first thing that is wrong with it.
    pub fn declare(declaration: Declaration) -> Result<Self, Unusable> {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        check_name(&declaration.name).map_err(Unusable::Name)?;
        let version = version_of(&declaration);
        let Declaration { name, allow, grant, mode, proxy, preflight, expectations } = declaration;
        let guard = Self {
            name,
            condition: Condition::parse(&allow).map_err(Unusable::Condition)?,
            grant,
            mode,
            proxy,
            preflight,
            expectations,
            version,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        };
        guard.meets_its_expectations()?;
        Ok(guard)
    }

    /// Whether the caller is admitted whatever they ask for: the condition does not look at the request, and has held
    /// since the caller last changed.
    pub fn is_known_to_admit(&self, caller: &Caller) -> bool {
        caller.memo.is_admitted_by(self.serial)
    }

    /// Decides about a caller.
    ///
    /// # Errors
    /// If the condition is not true.
    pub fn decide(&self, caller: &Caller, request: &RequestFacts<'_>) -> Result<(), Untrue> {
        if self.is_known_to_admit(caller) {
            return Ok(());
        }
        self.condition.holds(caller.facts(), request)?;
        if !self.condition.looks_at_request() {
            caller.memo.note_admission_by(self.serial);
        }
        Ok(())
    }

    /// What the operator should know about a guard that is usable all the same.
    pub fn warning(&self) -> Option<String> {
        self.condition.trusts_unverified_email().then(|| {
            format!(
                "guard {}: allow reads the e-mail address but not user.emailVerified, and anybody can register any \
                 address: write `user.emailVerified && (…)`",
                self.name
            )
        })
    }

    fn meets_its_expectations(&self) -> Result<(), Unusable> {
        for (number, expectation) in self.expectations.iter().enumerate() {
            expectation
                .check(&self.condition)
                .map_err(|unmet| Unusable::Expectation(number, unmet))?;
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(allowed) {
        Err("not a name for a guard: 1 to 64 of a-z, 0-9 and -".into())
    } else if is_reserved_guard_name(name) {
        Err(format!("/api/auth/{name} is taken: choose another name"))
    } else {
        Ok(())
    }
}

fn version_of(declaration: &Declaration) -> String {
    let Declaration { name, allow, grant, mode, proxy, preflight, expectations: _ } = declaration;
    let all = format!("{name}\n{allow}\n{grant:?} {mode:?} {proxy:?} {preflight}");
    let fingerprint = digest(&SHA256, all.as_bytes());
    fingerprint.as_ref()[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All declared guards, by name.
#[derive(Default)]
pub struct GuardSet(HashMap<String, Arc<Guard>>);

impl GuardSet {
    /// Adds a guard, in place of another of the same name.
    pub fn add(&mut self, guard: Guard) {
        self.0.insert(guard.name.clone(), Arc::new(guard));
    }

    /// The guard with this name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Guard>> {
        self.0.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Guard> {
        let mut guards: Vec<_> = self.0.values().map(|guard| &**guard).collect();
        guards.sort_unstable_by_key(|guard| &guard.name);
        guards.into_iter()
    }

    /// Logs the warning of each guard that has one.
    pub(crate) fn log_warnings(&self) {
        for warning in self.iter().filter_map(Guard::warning) {
            tracing::warn!("{warning}");
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is declared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Two sets are the same if they decide the same.
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

/// What guards have worked out about a caller, good for as long as nothing about them changes.
#[derive(Default)]
pub struct Memo {
    facts: OnceLock<CallerFacts>,
    /// Serials of guards that admit the caller whatever the request. Guards that share a place take turns.
    admitted_by: [AtomicU64; 8],
}

impl Memo {
    pub(crate) fn facts(&self, caller: &Caller) -> &CallerFacts {
        self.facts.get_or_init(|| CallerFacts::of(caller))
    }

    /// The facts, if anybody has asked for them.
    pub(crate) fn known_facts(&self) -> Option<&CallerFacts> {
        self.facts.get()
    }

    fn is_admitted_by(&self, serial: u64) -> bool {
        self.place(serial).load(Ordering::Relaxed) == serial
    }

    fn note_admission_by(&self, serial: u64) {
        self.place(serial).store(serial, Ordering::Relaxed);
    }

    fn place(&self, serial: u64) -> &AtomicU64 {
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
    use crate::routes::reserved_guard_names;

    fn declare(name: &str, allow: &str) -> Result<Guard, Unusable> {
        let (name, allow) = (name.into(), allow.into());
        Guard::declare(Declaration { name, allow, ..Declaration::default() })
    }

    #[test]
    fn a_decision_is_remembered_for_its_guard_and_no_other() {
        let caller = hypothetical::caller();
        let staff = declare("staff", r#""staff" in user.roles"#).unwrap();
        let others: Vec<_> =
            (0..50).map(|n| declare(&format!("no-{n}"), "user.disabled").unwrap()).collect();
        for _ in 0..3 {
            assert_eq!(staff.decide(&caller, &hypothetical::request()), Ok(()));
            for other in &others {
                assert_eq!(other.decide(&caller, &hypothetical::request()), Err(Untrue::False));
            }
        }
    }

    #[test]
    fn a_condition_over_the_request_is_decided_for_every_request() {
        let caller = hypothetical::caller();
        let reading = declare("reading", r#"request.method == "GET""#).unwrap();
        let post = RequestFacts { method: Some("POST".into()), ..hypothetical::request() };
        for _ in 0..3 {
            assert_eq!(reading.decide(&caller, &hypothetical::request()), Ok(()));
            assert_eq!(reading.decide(&caller, &post), Err(Untrue::False));
        }
    }

    #[test]
    fn bad_and_reserved_names_are_refused() {
        let bad = ["", "Staff", "a b", "a/b", "ü", &"x".repeat(65)];
        for name in bad.into_iter().chain(reserved_guard_names()) {
            assert!(matches!(declare(name, "true"), Err(Unusable::Name(_))), "{name}");
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
