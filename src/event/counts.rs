//! How many events there were since the start, for metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Event, EventKind, ExternalFailure, LoginRefusal, RegistrationRefusal};
use crate::count::{Counter, Counters, labels};

/// What has come of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationOutcome {
    Registered,
    /// The operator has added the user.
    Added,
    AddressTaken,
    /// Registration is not open for the person.
    NotAllowed,
}

labels!(RegistrationOutcome {
    Registered => "registered",
    Added => "added_by_operator",
    AddressTaken => "address_taken",
    NotAllowed => "not_allowed",
});

/// What has come of sign-ins by one login.
#[derive(Default)]
pub struct LoginCounts {
    pub sign_ins: Counter,
    pub failures: Counters<ExternalFailure, 24>,
}

impl LoginCounts {
    /// Each result with its number.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [("success", self.sign_ins.value())].into_iter().chain(self.failures.values())
    }
}

#[derive(Default)]
pub struct EventCounts {
    /// Sign-ins that have succeeded.
    pub sign_ins: Counter,
    pub failed_logins: Counters<LoginRefusal, 12>,
    pub registrations: Counters<RegistrationOutcome, 4>,
    /// The counts of every login that has been declared. One that is removed and declared again continues to count.
    logins: Mutex<BTreeMap<String, Arc<LoginCounts>>>,
}

impl EventCounts {
    /// Counts the sign-ins by these logins from now on. Others are not counted: a name that is not in the settings becomes no label.
    pub fn declare_logins<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut by_name = self.by_name();
        for name in names {
            by_name.entry(name.to_owned()).or_default();
        }
    }

    /// The counts of the declared logins, by name.
    pub fn logins(&self) -> Vec<(String, Arc<LoginCounts>)> {
        self.by_name().iter().map(|(name, counts)| (name.clone(), Arc::clone(counts))).collect()
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, Arc<LoginCounts>>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_login(&self, name: &str) -> Option<Arc<LoginCounts>> {
        self.by_name().get(name).map(Arc::clone)
    }

    pub(super) fn add(&self, event: &Event) {
        if let EventKind::SignedIn { login: Some(login), .. }
        | EventKind::Registered { login: Some(login), .. } = &event.kind
            && let Some(counts) = self.of_login(login)
        {
            counts.sign_ins.add_one();
        }
        let outcome = match &event.kind {
            EventKind::SignedIn { .. } => return self.sign_ins.add_one(),
            EventKind::ExternalSignInFailed { login, reason } => {
                let Some(counts) = self.of_login(login) else { return };
                return counts.failures.add_one(*reason);
            }
            EventKind::SignInFailed { reason, .. } => return self.failed_logins.add_one(*reason),
            EventKind::Registered { .. } => RegistrationOutcome::Registered,
            EventKind::UserAdded => RegistrationOutcome::Added,
            EventKind::RegistrationRefused(RegistrationRefusal::AddressTaken) => {
                RegistrationOutcome::AddressTaken
            }
            EventKind::RegistrationRefused(_) => RegistrationOutcome::NotAllowed,
            _ => return,
        };
        self.registrations.add_one(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        session::{Methods, SessionId},
    };

    #[test]
    fn sign_ins_are_counted_by_declared_login_and_result_and_no_other_name_is_a_label() {
        let counts = EventCounts::default();
        counts.declare_logins(["google"]);
        let at = Timestamp::from_seconds(1_800_000_000);
        let signed_in = |login: Option<&str>| {
            let (session, methods) = (SessionId::random(), Methods::default());
            EventKind::SignedIn { session, methods, login: login.map(str::to_owned) }
        };
        let failed = |login: &str, reason| EventKind::ExternalSignInFailed {
            login: login.to_owned(),
            reason,
        };
        let unreachable = ExternalFailure::Unreachable;
        let attempt = ExternalFailure::Attempt;
        for kind in [
            signed_in(None),
            signed_in(Some("google")),
            signed_in(Some("sent by a client")),
            failed("google", unreachable),
            failed("google", attempt),
            failed("google", attempt),
            failed("sent by a client", unreachable),
        ] {
            counts.add(&Event::by_service(at, kind));
        }
        assert_eq!(counts.sign_ins.value(), 3);
        // A reload.
        counts.declare_logins(["google", "work"]);
        let logins = counts.logins();
        let names: Vec<_> = logins.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["google", "work"]);
        let counted: Vec<_> = logins[0].1.values().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [("success", 1), ("unreachable", 1), ("attempt", 2)]);
        let results = logins[1].1.values().map(|(result, _)| result);
        let distinct: std::collections::BTreeSet<_> = results.collect();
        assert_eq!(distinct.len(), logins[1].1.values().count(), "each result is one series");
    }
}
