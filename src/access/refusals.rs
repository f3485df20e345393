//! The latest refusals and the reason for each, for `doorward why`. StoredKeys in memory, bounded, without secrets.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    caller::{Caller, Unauthenticated},
    guard::{Explanation, Guard, Memo, Mode, RequestFacts},
};
use crate::{clock::Timestamp, user::UserId};

/// Names one refusal, on its answer and for `doorward why`. Tells nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionId(Uuid);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// A refusal and its reason, as it is told.
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

/// A refusal as it is kept: what a reason is made from once somebody asks for it.
pub struct Refused {
    time: Timestamp,
    by: By,
    subject: Subject,
}

/// Whom a refusal is about.
enum Subject {
    /// A request without a valid token.
    Unauthenticated(Unauthenticated),
    /// A known caller, with what the condition of a guard was decided on.
    Caller(UserId, Option<Evidence>),
}

/// Who refuses.
#[derive(Clone)]
pub enum By {
    /// A policy with this name.
    Policy(&'static str),
    /// A declared guard.
    Guard(Arc<Guard>),
}

/// What the condition was decided on: what it can see of the caller, which holds no secret, and the fields of the
/// request that it reads.
struct Evidence {
    caller: Arc<Memo>,
    request: RequestFacts<'static>,
}

impl Refused {
    /// A request without a valid token.
    pub fn unauthenticated(by: By, reason: Unauthenticated, time: Timestamp) -> Self {
        Self { time, by, subject: Subject::Unauthenticated(reason) }
    }

    /// A known caller whom a policy refused.
    pub fn caller(by: By, caller: &Caller, time: Timestamp) -> Self {
        Self { time, by, subject: Subject::Caller(caller.user.id, None) }
    }

    /// A known caller for whom the condition of a guard does not hold.
    pub fn by_condition(guard: &Arc<Guard>, caller: &Caller, request: &RequestFacts<'_>) -> Self {
        let evidence = Evidence {
            caller: Arc::clone(&caller.memo),
            request: request.kept(guard.condition.request_fields()),
        };
        let by = By::Guard(Arc::clone(guard));
        let subject = Subject::Caller(caller.user.id, Some(evidence));
        Self { time: request.time, by, subject }
    }

    /// The known caller that it is about.
    fn user(&self) -> Option<UserId> {
        match self.subject {
            Subject::Unauthenticated(_) => None,
            Subject::Caller(user, _) => Some(user),
        }
    }

    fn told(&self, id: DecisionId, with_reason: bool) -> Refusal {
        let guard = match &self.by {
            By::Guard(guard) => Some(guard),
            By::Policy(_) => None,
        };
        let (token, evidence) = match &self.subject {
            Subject::Unauthenticated(reason) => (reason.to_string(), None),
            Subject::Caller(_, evidence) => ("good".to_owned(), evidence.as_ref()),
        };
        let evidence = evidence.filter(|_| with_reason);
        let explanation = evidence.zip(guard).and_then(|(evidence, guard)| {
            let facts = evidence.caller.known_facts()?;
            Some(guard.condition.explain(facts, &evidence.request))
        });
        Refusal {
            id: id.to_string(),
            time: self.time.millis(),
            guard: match &self.by {
                By::Policy(name) => (*name).to_owned(),
                By::Guard(guard) => guard.name.clone(),
            },
            version: guard.map(|guard| guard.version.clone()),
            only_reported: guard.is_some_and(|guard| guard.mode == Mode::Report),
            token,
            user: self.user().map(|user| user.to_string()),
            condition: guard
                .filter(|_| explanation.is_some())
                .map(|guard| guard.condition.text().to_owned()),
            explanation,
        }
    }
}

/// The latest refusals. Those of known callers are kept apart, so that a flood of strangers does not wash them away.
#[derive(Default)]
pub struct Refusals {
    strangers: Mutex<VecDeque<(DecisionId, Arc<Refused>)>>,
    callers: Mutex<VecDeque<(DecisionId, Arc<Refused>)>>,
}

impl Refusals {
    const KEPT_OF_EACH: usize = 1000;

    /// Keeps a refusal and names it.
    pub fn keep(&self, refused: Refused) -> DecisionId {
        let id = DecisionId(Uuid::new_v4());
        let kept = if refused.user().is_some() { &self.callers } else { &self.strangers };
        let refused = Arc::new(refused);
        let mut kept = lock(kept);
        let forgotten = if kept.len() == Self::KEPT_OF_EACH { kept.pop_front() } else { None };
        kept.push_back((id, refused));
        // Others need not wait until it is gone.
        drop(kept);
        drop(forgotten);
        id
    }

    /// The refusal with this id, if it is among the latest. Its condition is evaluated again, with what was known then.
    pub fn by_id(&self, id: &str) -> Option<Refusal> {
        let id = DecisionId(Uuid::try_parse(id).ok()?);
        let refused = [&self.callers, &self.strangers].into_iter().find_map(|kept| {
            lock(kept)
                .iter()
                .find(|(other, _)| *other == id)
                .map(|(_, refused)| Arc::clone(refused))
        });
        refused.map(|refused| refused.told(id, true))
    }

    /// The latest refusals of this user, the newest first, without their reasons.
    pub fn of_user(&self, user: UserId) -> Vec<Refusal> {
        let of_user: Vec<_> = lock(&self.callers)
            .iter()
            .rev()
            .filter(|(_, refused)| refused.user() == Some(user))
            .take(Self::TOLD)
            .cloned()
            .collect();
        of_user.into_iter().map(|(id, refused)| refused.told(id, false)).collect()
    }

    /// More than anybody reads.
    const TOLD: usize = 50;
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::{Declaration, Untrue, hypothetical};

    const STAFF: By = By::Policy("staff");

    #[test]
    fn a_flood_of_strangers_leaves_the_refusals_of_callers() {
        let refusals = Refusals::default();
        let now = hypothetical::NOW;
        let caller = hypothetical::caller();
        let kept = refusals.keep(Refused::caller(STAFF, &caller, now));
        let first = refusals.keep(Refused::unauthenticated(STAFF, Unauthenticated::NoToken, now));
        for _ in 0..Refusals::KEPT_OF_EACH {
            refusals.keep(Refused::unauthenticated(STAFF, Unauthenticated::NotOurs, now));
        }
        assert!(refusals.by_id(&kept.to_string()).is_some());
        assert!(refusals.by_id(&first.to_string()).is_none());
        assert!(refusals.by_id("nonsense").is_none());
        let of_user = refusals.of_user(caller.user.id);
        assert_eq!(
            of_user.iter().map(|refusal| &*refusal.id).collect::<Vec<_>>(),
            [kept.to_string()]
        );
        assert!(refusals.of_user(hypothetical::caller().user.id).is_empty());
    }

    #[test]
    fn a_reason_shows_the_values_of_the_time_of_the_refusal() {
        let allow = r#""boss" in user.roles && request.path == "/""#.to_owned();
        let declaration = Declaration { name: "boss".into(), allow, ..Declaration::default() };
        let guard = Arc::new(Guard::declare(declaration).unwrap_or_else(|_| panic!("is valid")));
        let refusals = Refusals::default();
        let caller = hypothetical::caller();
        let id = {
            let path = "/then".to_owned();
            let request = RequestFacts { path: Some((&*path).into()), ..hypothetical::request() };
            assert_eq!(guard.decide(&caller, &request), Err(Untrue::False));
            refusals.keep(Refused::by_condition(&guard, &caller, &request))
        };
        drop(caller);
        let told = refusals.by_id(&id.to_string()).unwrap();
        let explanation = told.explanation.unwrap();
        let values: Vec<_> = explanation.steps.iter().map(|step| &*step.value).collect();
        assert!(values.contains(&r#"["admin", "staff"]"#), "{values:?}");
        assert!(values.contains(&r#""/then""#), "{values:?}");
        assert_eq!(told.condition.as_deref(), Some(guard.condition.text()));
    }

    #[test]
    fn a_refusal_keeps_only_what_its_condition_reads() {
        let request =
            RequestFacts { host: Some("h".repeat(60_000).into()), ..hypothetical::request() };
        let kept = request.kept(&["host", "method"]);
        assert_eq!((kept.host, kept.method.as_deref()), (None, Some("GET")), "too long to be seen");
        assert_eq!((kept.path, kept.scheme, kept.address), (None, None, None));
    }
}
