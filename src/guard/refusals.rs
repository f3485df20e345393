//! The latest refusals and the reason for each, for `doorward why`. Kept in memory, bounded, without secrets.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Explanation, Guard};
use crate::{
    caller::{Caller, Stranger},
    clock::Timestamp,
};

/// Names one refusal, on its answer and for `doorward why`. Tells nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionId(Uuid);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// One refusal and its reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The decision's id.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The guard or policy.
    pub guard: String,
    /// The version of a declared guard.
    pub version: Option<String>,
    /// Whether the caller was admitted all the same, because the guard only reports.
    pub only_reported: bool,
    /// What was wrong with the token, or that nothing was.
    pub token: String,
    /// Whose token it was, if it was good.
    pub user: Option<String>,
    /// The condition that refused.
    pub condition: Option<String>,
    /// The condition taken apart.
    pub explanation: Option<Explanation>,
}

impl Refusal {
    /// Somebody whose token did not show who they are.
    pub fn of_stranger(guard: &str, stranger: Stranger, time: Timestamp) -> Self {
        Self {
            id: String::new(),
            time: time.millis(),
            guard: guard.to_owned(),
            version: None,
            only_reported: false,
            token: stranger.to_string(),
            user: None,
            condition: None,
            explanation: None,
        }
    }

    /// A known caller whom a policy refused.
    pub fn of_caller(guard: &str, caller: &Caller, time: Timestamp) -> Self {
        Self {
            token: "good".to_owned(),
            user: Some(caller.user.id.to_string()),
            ..Self::of_stranger(guard, Stranger::NoToken, time)
        }
    }

    /// The same, by a declared guard.
    pub fn by(mut self, guard: &Guard) -> Self {
        self.version = Some(guard.version.clone());
        self.only_reported = guard.mode == super::Mode::Report;
        self
    }

    /// The same, with the condition and its values.
    pub fn explained(mut self, condition: &str, explanation: Explanation) -> Self {
        self.condition = Some(condition.to_owned());
        self.explanation = Some(explanation);
        self
    }
}

/// The latest refusals. Those of known callers are kept apart, so that a flood of strangers does not wash them away.
#[derive(Default)]
pub struct Refusals {
    strangers: Mutex<VecDeque<(DecisionId, Refusal)>>,
    callers: Mutex<VecDeque<(DecisionId, Refusal)>>,
}

impl Refusals {
    const KEPT_OF_EACH: usize = 1000;

    /// Keeps a refusal and names it.
    pub fn keep(&self, mut refusal: Refusal) -> DecisionId {
        let id = DecisionId(Uuid::new_v4());
        refusal.id = id.to_string();
        let kept = if refusal.user.is_some() { &self.callers } else { &self.strangers };
        let mut kept = lock(kept);
        if kept.len() == Self::KEPT_OF_EACH {
            kept.pop_front();
        }
        kept.push_back((id, refusal));
        id
    }

    /// The refusal with this id, if it is among the latest.
    pub fn by_id(&self, id: &str) -> Option<Refusal> {
        let id = DecisionId(Uuid::try_parse(id).ok()?);
        [&self.callers, &self.strangers].into_iter().find_map(|kept| {
            lock(kept).iter().find(|(other, _)| *other == id).map(|(_, refusal)| refusal.clone())
        })
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::made_up;

    #[test]
    fn a_flood_of_strangers_leaves_the_refusals_of_callers() {
        let refusals = Refusals::default();
        let now = made_up::NOW;
        let kept = refusals.keep(Refusal::of_caller("staff", &made_up::caller(), now));
        let first = refusals.keep(Refusal::of_stranger("staff", Stranger::NoToken, now));
        for _ in 0..Refusals::KEPT_OF_EACH {
            refusals.keep(Refusal::of_stranger("staff", Stranger::NotOurs, now));
        }
        assert!(refusals.by_id(&kept.to_string()).is_some());
        assert!(refusals.by_id(&first.to_string()).is_none());
        assert!(refusals.by_id("nonsense").is_none());
    }
}
