//! What guards, routes and connections have done since the start, for metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Doorward, connection_counts::ConnectionCounts, request_counts::RequestCounts};
use crate::access::guard::{Decisions, GuardSet};

/// The decisions of guards, the answers of other routes, and the connections.
#[derive(Default)]
pub struct Counts {
    /// Shared with the server.
    pub connections: Arc<ConnectionCounts>,
    /// The answers of routes that are not guards.
    pub requests: RequestCounts,
    /// The decisions of the guard for every signed-in user.
    pub authenticated_guard: Decisions,
    /// The decisions of the guard for the designated name.
    pub designated_guard: Decisions,
    /// The decisions of every guard that has been in force. A guard that is reloaded, or removed and declared again, continues to
    /// count where it has stopped.
    declared_guards: Mutex<BTreeMap<String, Arc<Decisions>>>,
}

impl Counts {
    /// The decisions of the declared guards, by name.
    pub fn declared_guards(&self) -> Vec<(String, Arc<Decisions>)> {
        let guards = self.by_name();
        guards.iter().map(|(name, decisions)| (name.clone(), Arc::clone(decisions))).collect()
    }

    /// Counts the decisions of these guards from now on.
    pub(super) fn put_in_force(&self, guards: &GuardSet) {
        let mut by_name = self.by_name();
        for guard in guards.iter() {
            guard.count_in(Arc::clone(by_name.entry(guard.name.clone()).or_default()));
        }
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Decisions>>> {
        self.declared_guards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Doorward {
    /// What guards, routes and connections have done since the start.
    pub(crate) fn counts(&self) -> &Counts {
        &self.inner.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::{Decision, Declaration, Guard};

    fn set_of(names: &[&str]) -> GuardSet {
        let mut guards = GuardSet::default();
        for name in names {
            let (name, allow) = ((*name).to_owned(), "true".to_owned());
            guards.add(Guard::declare(Declaration { name, allow, ..Default::default() }).unwrap());
        }
        guards
    }

    #[test]
    fn a_guard_continues_to_count_after_a_reload_and_after_its_return() {
        let counts = Counts::default();
        for names in [&["door", "gate"][..], &["door"], &["gate", "door"]] {
            let guards = set_of(names);
            counts.put_in_force(&guards);
            guards.iter().for_each(|guard| guard.count(Decision::Admitted));
        }
        let admitted: Vec<_> = counts
            .declared_guards()
            .into_iter()
            .map(|(name, decisions)| (name, decisions.value(Decision::Admitted)))
            .collect();
        assert_eq!(admitted, [("door".into(), 3), ("gate".into(), 2)]);
    }
}
