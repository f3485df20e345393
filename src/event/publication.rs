//! The one place that every event goes to after it has happened.

use std::time::Instant;

use super::{Event, EventCounts, EventKind, FailedLogins, log_line, unrecorded::Unrecorded};
use crate::network::Network;

/// What is known of the events of this process.
#[derive(Default)]
pub struct Events {
    counts: EventCounts,
    failed_logins: FailedLogins,
    unrecorded: Unrecorded,
    #[cfg(test)]
    published: std::sync::Mutex<Vec<Event>>,
}

impl Events {
    /// Logs and counts what was refused, and keeps it for the audit trail.
    ///
    /// The event of a change is in the effects of its write, and the store publishes it after the commit. What was refused is
    /// published directly, because there is no change that it could be stored with: `RegistrationRefused`, `SignInFailed`,
    /// `ExternalSignInFailed`, `ResetFailed`, `UnknownSecret`, `MailWithheld` and `GuardRefused`. So are `FactorAsked` and
    /// `AccountExported` by its user, which change nothing either, and `GuardsReloaded` and `LoginsReloaded`, because guards and logins
    /// are not in the database.
    pub fn publish(&self, event: &Event) {
        self.publish_recorded(event);
        self.unrecorded.add(event, Instant::now());
    }

    /// Logs and counts an event that is in the audit trail, because it was stored with its change.
    pub fn publish_recorded(&self, event: &Event) {
        log_line::write(event);
        self.counts.add(event);
        if let Event { at, subject, client: Some(client), kind, .. } = event
            && let EventKind::SignInFailed { reason, email } = kind
        {
            self.failed_logins.record(*reason, *subject, email, Network::at(client.address), *at);
        }
        #[cfg(test)]
        self.published.lock().expect("no test panics while it holds the lock").push(event.clone());
    }

    /// What waits to be written to the audit trail.
    pub fn unrecorded(&self) -> &Unrecorded {
        &self.unrecorded
    }

    pub fn counts(&self) -> &EventCounts {
        &self.counts
    }

    /// The latest failed logins.
    pub fn failed_logins(&self) -> &FailedLogins {
        &self.failed_logins
    }

    /// Removes and returns what was published.
    #[cfg(test)]
    pub(crate) fn take_published(&self) -> Vec<Event> {
        std::mem::take(&mut *self.published.lock().expect("no test panics while it holds the lock"))
    }
}
