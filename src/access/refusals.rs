//! The latest refusals and their reasons, for `doorward why`. Kept in memory, bounded, without secrets.

use std::{
    cmp::Reverse,
    collections::VecDeque,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    api_key::RefusedKey,
    caller::{Caller, Unauthenticated},
    guard::{ExplainedHeader, Explanation, Guard, Memo, Missing, Mode, Reachable, RequestFacts},
};
use crate::{
    clock::Timestamp,
    user::{ApiKeyId, UserId},
};

/// The id of a refusal, in its response and for `doorward why`. It is random and reveals nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionId(Uuid);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// A refusal by a guard or a policy, and its reason, as the admin API and `doorward why` report it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The id of the decision, which the answer has had in `X-Decision-Id`.
    pub id: String,
    pub refused_at: Timestamp,
    /// The name of the guard or policy.
    pub guard: String,
    /// The version of a declared guard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the request was admitted because the guard only reports.
    pub only_reported: bool,
    /// What is wrong with the token or the API key, or `good`.
    pub token: String,
    /// The user, if the token is valid, or the owner of the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// The API key, if a known one was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<ApiKeyId>,
    /// The condition that was not satisfied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The parts of the condition with their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The address of the proxy, if the condition has refused that in the place of the client's: the guard names no proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_address: Option<IpAddr>,
    /// With what the user would be admitted, if they can reach it by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The headers that the app got, because the guard only reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<ExplainedHeader>,
}

/// A refusal as it is recorded. Its reason is determined on request.
pub struct Refused {
    time: Timestamp,
    by: RefusedBy,
    whom: RefusedCaller,
    /// Whether a proxy has sent the request for somebody else.
    is_forwarded: bool,
}

/// Whom a refusal concerns.
enum RefusedCaller {
    /// A request without a valid token.
    Unauthenticated(Unauthenticated),
    /// A known caller.
    Known {
        user: UserId,
        /// With what they would be admitted, if they can reach it.
        missing: Option<Missing>,
        /// The input of the condition of a guard.
        input: Option<ConditionInput>,
        /// The API key that they have used in the place of a session.
        key: Option<ApiKeyId>,
    },
    /// An API key that does not count, or not here.
    Key(RefusedKey),
}

/// The guard or policy that refused a request.
#[derive(Clone)]
pub enum RefusedBy {
    /// A policy with this name.
    Policy(&'static str),
    /// A declared guard.
    Guard(Arc<Guard>),
}

/// The input of a condition: the facts about the caller, which contain no secret, and the fields of the request that it
/// reads.
struct ConditionInput {
    caller: Arc<Memo>,
    request: RequestFacts<'static>,
}

impl Refused {
    /// A request without a valid token.
    pub fn unauthenticated(by: RefusedBy, reason: Unauthenticated, time: Timestamp) -> Self {
        Self { time, by, whom: RefusedCaller::Unauthenticated(reason), is_forwarded: false }
    }

    /// A known caller, refused by a policy, and what they lack to be admitted.
    pub fn caller(
        by: RefusedBy,
        caller: &Caller,
        missing: Option<Missing>,
        time: Timestamp,
    ) -> Self {
        let whom = RefusedCaller::Known { user: caller.user.id, missing, input: None, key: None };
        Self { time, by, whom, is_forwarded: false }
    }

    /// A known caller whom a guard does not admit, and what they can still reach.
    pub fn by_condition(
        guard: &Arc<Guard>,
        caller: &Caller,
        request: &RequestFacts<'_>,
        reachable: &Reachable,
    ) -> Self {
        let input = ConditionInput {
            caller: Arc::clone(&caller.memo),
            request: request.copy_of(guard.request_fields()),
        };
        let whom = RefusedCaller::Known {
            user: caller.user.id,
            missing: guard.missing(&caller.user, &caller.session, request, reachable),
            input: Some(input),
            key: None,
        };
        let by = RefusedBy::Guard(Arc::clone(guard));
        Self { time: request.time, by, whom, is_forwarded: false }
    }

    /// An API key that does not count, or not here.
    pub fn key(by: RefusedBy, refused: RefusedKey, time: Timestamp) -> Self {
        Self { time, by, whom: RefusedCaller::Key(refused), is_forwarded: false }
    }

    /// Marks the request as one that a proxy has sent for somebody else.
    #[must_use]
    pub fn forwarded(self) -> Self {
        Self { is_forwarded: true, ..self }
    }

    /// Adds the API key that the person has used.
    #[must_use]
    pub fn with_key(mut self, id: ApiKeyId) -> Self {
        if let RefusedCaller::Known { key, .. } = &mut self.whom {
            *key = Some(id);
        }
        self
    }

    /// What the caller lacks to be admitted, if they can reach it.
    pub fn missing(&self) -> Option<Missing> {
        match self.whom {
            RefusedCaller::Known { missing, .. } => missing,
            RefusedCaller::Unauthenticated(_) | RefusedCaller::Key(_) => None,
        }
    }

    /// For the audit trail: the user, the guard or policy, and whether it only reports. `None` if it is not known who was refused.
    pub fn event_of_caller(&self) -> Option<(UserId, String, bool)> {
        let user = self.user()?;
        Some(match &self.by {
            RefusedBy::Policy(name) => (user, (*name).to_owned(), false),
            RefusedBy::Guard(guard) => (user, guard.name.clone(), guard.mode == Mode::Report),
        })
    }

    /// The user, if the token is valid, or the owner of the API key.
    fn user(&self) -> Option<UserId> {
        match &self.whom {
            RefusedCaller::Unauthenticated(_) => None,
            RefusedCaller::Known { user, .. } => Some(*user),
            RefusedCaller::Key(refused) => refused.owner(),
        }
    }

    /// The API key, if a known one was sent.
    fn key_id(&self) -> Option<ApiKeyId> {
        match &self.whom {
            RefusedCaller::Unauthenticated(_) => None,
            RefusedCaller::Known { key, .. } => *key,
            RefusedCaller::Key(refused) => refused.id(),
        }
    }

    fn report(&self, id: DecisionId, with_reason: bool) -> Refusal {
        let guard = match &self.by {
            RefusedBy::Guard(guard) => Some(guard),
            RefusedBy::Policy(_) => None,
        };
        let (token, input) = match &self.whom {
            RefusedCaller::Unauthenticated(reason) => (reason.to_string(), None),
            RefusedCaller::Known { input, .. } => ("good".to_owned(), input.as_ref()),
            RefusedCaller::Key(refused) => (refused.fault.to_string(), None),
        };
        let key_condition = match &self.whom {
            RefusedCaller::Key(refused) => refused.condition.as_ref().filter(|_| with_reason),
            _ => None,
        };
        let input = input.filter(|_| with_reason);
        let explanation = input.zip(guard).and_then(|(input, guard)| {
            let facts = input.caller.known_facts()?;
            // A condition that is true has not refused: everybody needs a second factor.
            let decided = guard.condition.holds(facts, &input.request);
            decided.is_err().then(|| guard.condition.explain(facts, &input.request))
        });
        let explained = match (explanation, guard, key_condition) {
            (Some(explanation), Some(guard), _) => Some((&guard.condition, explanation)),
            (None, _, Some(input)) => {
                let condition = &*input.condition;
                Some((condition, condition.explain(&input.facts, &input.request)))
            }
            _ => None,
        };
        let seen = input.map(|input| &input.request);
        let seen = seen.or(key_condition.map(|input| &input.request));
        let is_about_address = explained
            .as_ref()
            .is_some_and(|(_, explanation)| explanation.cause.text.contains("request.address"));
        let names_no_proxy = guard.is_some_and(|guard| guard.proxy.is_none());
        let proxy_address = seen
            .and_then(|request| request.address)
            .filter(|_| self.is_forwarded && names_no_proxy && is_about_address);
        let condition = explained.as_ref().map(|(condition, _)| condition.text().to_owned());
        let only_reported = guard.is_some_and(|guard| guard.mode == Mode::Report);
        let headers = input.zip(guard).filter(|_| only_reported).and_then(|(input, guard)| {
            Some(guard.headers.explain(input.caller.known_facts()?, &input.request))
        });
        Refusal {
            id: id.to_string(),
            refused_at: self.time,
            guard: match &self.by {
                RefusedBy::Policy(name) => (*name).to_owned(),
                RefusedBy::Guard(guard) => guard.name.clone(),
            },
            version: guard.map(|guard| guard.version.clone()),
            only_reported,
            token,
            user: self.user(),
            key: self.key_id(),
            condition,
            explanation: explained.map(|(_, explanation)| explanation),
            proxy_address,
            missing: self.missing(),
            headers: headers.unwrap_or_default(),
        }
    }
}

/// The latest refusals. Refusals of known callers are kept separately, so that many unauthenticated requests cannot
/// displace them.
#[derive(Default)]
pub struct Refusals {
    unauthenticated: Mutex<VecDeque<(DecisionId, Arc<Refused>)>>,
    callers: Mutex<VecDeque<(DecisionId, Arc<Refused>)>>,
}

impl Refusals {
    /// The most refusals of each kind.
    const MAX_OF_EACH: usize = 1000;

    /// Records a refusal and returns its id.
    pub fn record(&self, refused: Refused) -> DecisionId {
        let id = DecisionId(Uuid::new_v4());
        let is_known = refused.user().is_some() || refused.key_id().is_some();
        let list = if is_known { &self.callers } else { &self.unauthenticated };
        let refused = Arc::new(refused);
        let mut list = lock(list);
        let oldest = if list.len() == Self::MAX_OF_EACH { list.pop_front() } else { None };
        list.push_back((id, refused));
        // The lock is released before the oldest refusal is freed.
        drop(list);
        drop(oldest);
        id
    }

    /// The refusal with this id, if it is among the latest. Its condition is evaluated again with the same input.
    pub fn by_id(&self, id: &str) -> Option<Refusal> {
        self.find(id, true)
    }

    /// The refusal with this id, if it is among the latest, without its reason.
    pub fn by_id_without_reason(&self, id: &str) -> Option<Refusal> {
        self.find(id, false)
    }

    fn find(&self, id: &str, with_reason: bool) -> Option<Refusal> {
        let id = DecisionId(Uuid::try_parse(id).ok()?);
        let refused = [&self.callers, &self.unauthenticated].into_iter().find_map(|list| {
            lock(list)
                .iter()
                .find(|(other, _)| *other == id)
                .map(|(_, refused)| Arc::clone(refused))
        });
        refused.map(|refused| refused.report(id, with_reason))
    }

    /// The latest refusals of this user, newest first, without reasons.
    pub fn by_user(&self, user: UserId) -> Vec<Refusal> {
        let of_user: Vec<_> = lock(&self.callers)
            .iter()
            .rev()
            .filter(|(_, refused)| refused.user() == Some(user))
            .take(Self::MAX_BY_USER)
            .cloned()
            .collect();
        of_user.into_iter().map(|(id, refused)| refused.report(id, false)).collect()
    }

    /// All refusals that are kept, newest first, without reasons.
    pub fn latest(&self) -> Vec<Refusal> {
        let mut latest: Vec<_> = [&self.callers, &self.unauthenticated]
            .into_iter()
            .flat_map(|list| lock(list).iter().rev().cloned().collect::<Vec<_>>())
            .collect();
        // Stable, so that refusals of the same moment stay in their order.
        latest.sort_by_key(|(_, refused)| Reverse(refused.time));
        latest.into_iter().map(|(id, refused)| refused.report(id, false)).collect()
    }

    /// The most refusals in one report.
    const MAX_BY_USER: usize = 50;
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::access::guard::{Declaration, Unsatisfied, sample};

    const STAFF: RefusedBy = RefusedBy::Policy("staff");

    #[test]
    fn many_unauthenticated_requests_do_not_displace_refusals_of_callers() {
        let refusals = Refusals::default();
        let now = sample::NOW;
        let caller = Caller::sample();
        let recorded = refusals.record(Refused::caller(STAFF, &caller, None, now));
        let first = refusals.record(Refused::unauthenticated(STAFF, Unauthenticated::NoToken, now));
        for _ in 0..Refusals::MAX_OF_EACH {
            refusals.record(Refused::unauthenticated(STAFF, Unauthenticated::NotOurs, now));
        }
        assert!(refusals.by_id(&recorded.to_string()).is_some());
        assert!(refusals.by_id(&first.to_string()).is_none());
        assert!(refusals.by_id("nonsense").is_none());
        let of_user = refusals.by_user(caller.user.id);
        assert_eq!(
            of_user.iter().map(|refusal| &*refusal.id).collect::<Vec<_>>(),
            [recorded.to_string()]
        );
        assert!(refusals.by_user(Caller::sample().user.id).is_empty());
    }

    #[test]
    fn the_refusals_of_everybody_are_listed_newest_first() {
        let refusals = Refusals::default();
        let at = |seconds| sample::NOW + Duration::from_secs(seconds);
        let caller = Caller::sample();
        let no_token = |time| Refused::unauthenticated(STAFF, Unauthenticated::NoToken, time);
        let recorded = [
            refusals.record(no_token(at(0))),
            refusals.record(Refused::caller(STAFF, &caller, None, at(1))),
            refusals.record(no_token(at(2))),
            refusals.record(no_token(at(2))),
        ];
        let listed: Vec<_> = refusals.latest().into_iter().map(|refusal| refusal.id).collect();
        let newest_first: Vec<_> = recorded.iter().rev().map(ToString::to_string).collect();
        assert_eq!(listed, newest_first);
    }

    #[test]
    fn a_reason_shows_the_values_at_the_time_of_the_refusal() {
        let allow = r#""boss" in user.roles && request.path == "/""#.to_owned();
        let declaration = Declaration { name: "boss".into(), allow, ..Declaration::default() };
        let guard = Arc::new(Guard::declare(declaration).unwrap_or_else(|_| panic!("is valid")));
        let refusals = Refusals::default();
        let caller = Caller::sample();
        let id = {
            let path = "/then".to_owned();
            let request = RequestFacts { path: Some((&*path).into()), ..sample::request() };
            assert_eq!(
                guard.decide(&caller.user, &caller.session, &caller.memo, &request),
                Err(Unsatisfied::False)
            );
            let nothing = Reachable::default();
            refusals.record(Refused::by_condition(&guard, &caller, &request, &nothing))
        };
        drop(caller);
        let report = refusals.by_id(&id.to_string()).unwrap();
        let explanation = report.explanation.unwrap();
        let values: Vec<_> = explanation.steps.iter().map(|step| &*step.value).collect();
        assert!(values.contains(&r#"["admin", "staff"]"#), "{values:?}");
        assert!(values.contains(&r#""/then""#), "{values:?}");
        assert_eq!(report.condition.as_deref(), Some(guard.condition.text()));
    }

    #[test]
    fn a_refusal_records_only_what_its_condition_reads() {
        let request = RequestFacts { host: Some("h".repeat(60_000).into()), ..sample::request() };
        let copy = request.copy_of(&["host", "method"]);
        assert_eq!((copy.host, copy.method.as_deref()), (None, Some("GET")), "too long to be read");
        assert_eq!((copy.path, copy.scheme, copy.address), (None, None, None));
    }
}
