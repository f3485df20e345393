//! How many events there were since the start, for metrics.

use super::{Event, EventKind, LoginRefusal, RegistrationRefusal};
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

#[derive(Default)]
pub struct EventCounts {
    /// Sign-ins that have succeeded.
    pub sign_ins: Counter,
    pub failed_logins: Counters<LoginRefusal, 11>,
    pub registrations: Counters<RegistrationOutcome, 4>,
}

impl EventCounts {
    pub(super) fn add(&self, event: &Event) {
        let outcome = match &event.kind {
            EventKind::SignedIn { .. } => return self.sign_ins.add_one(),
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
