//! How a guard decides about a user and a request, why, and what it lacks for people with a browser.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Caller, Doorward, Settings,
    access::guard::{ExampleRequest, ExplainedHeader, Explanation, Guard, Missing},
    clock::Timestamp,
    config::{self, GuardFindings},
    network::ClientInfo,
    session::{Method, Methods, Session},
    user::User,
};

/// A session to try a guard with.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleSession {
    /// How the user has proved who they are. `None` if they have just signed in, with a second factor if they hold one.
    pub(crate) methods: Option<Vec<Method>>,
    /// How long ago.
    pub(crate) verified_ago: Duration,
}

/// A name that is not one of a [`Method`].
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a way to sign in: choose from {known}", known = Method::ALL.map(Method::name).join(", "))]
pub(crate) struct UnknownMethod(String);

/// The ways to sign in with these names.
pub(crate) fn methods_by_name<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Method>, UnknownMethod> {
    let method = |name: &str| Method::by_name(name).ok_or_else(|| UnknownMethod(name.to_owned()));
    names.into_iter().map(method).collect()
}

/// The decision of a guard, and its reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GuardDecision {
    pub(crate) admitted: bool,
    /// The condition of the guard.
    pub(crate) condition: String,
    /// What is valid in the guard but probably wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
    /// With what the user would be admitted, if they can reach it by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<Missing>,
    /// The value of each part of the condition. It is a tree, and names the part that decides.
    pub(crate) explanation: Explanation,
    /// The headers that the app gets if the user is admitted.
    pub(crate) headers: Vec<ExplainedHeader>,
}

/// How the guard decides about a user in a session. Nothing is counted or recorded.
pub(crate) fn decide(
    doorward: &Doorward,
    guard: &Guard,
    user: User,
    session: &SampleSession,
    request: &ExampleRequest,
) -> GuardDecision {
    let now = doorward.now();
    let client = ClientInfo::new(request.address.unwrap_or(Ipv4Addr::LOCALHOST.into()), "");
    let session = sample(&user, session, client, now);
    let caller = Caller::new(Arc::new(user), Arc::new(session));
    let facts = request.facts(now);
    let admitted = doorward.is_admitted_by(guard, &caller, &facts);
    let missing = || {
        let reachable = doorward.reachable(&caller.user);
        guard.missing(&caller.user, &caller.session, &facts, &reachable)
    };
    GuardDecision {
        admitted,
        condition: guard.condition.text().to_owned(),
        warning: guard.warning(),
        missing: if admitted { None } else { missing() },
        explanation: guard.condition.explain(caller.facts(), &facts),
        headers: guard.headers.explain(caller.facts(), &facts),
    }
}

fn sample(user: &User, sample: &SampleSession, client: ClientInfo, now: Timestamp) -> Session {
    let SampleSession { methods, verified_ago } = sample;
    let methods = methods.clone().unwrap_or_else(|| {
        let second = user.factors.iter().last().map(Method::from);
        [Method::Password].into_iter().chain(second).collect()
    });
    let verified_at = now - *verified_ago;
    Session {
        methods: Methods::at(verified_at, methods),
        authenticated_at: verified_at,
        ..Session::new(user.id, client, now, Duration::ZERO)
    }
}

/// How people with a browser get to the app of a guard.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BrowserCheck {
    /// The URL that they are sent to.
    pub(crate) sign_in: String,
    /// The origins that they return to.
    pub(crate) origins: Vec<String>,
    /// What is missing, and what to do about it.
    pub(crate) findings: Vec<String>,
    /// What is valid but probably wrong.
    pub(crate) warnings: Vec<String>,
}

/// How people with a browser get past a guard. `public_base` is the URL that they are sent to.
pub(crate) fn browsers(guard: &Guard, settings: &Settings, public_base: &str) -> BrowserCheck {
    let GuardFindings { missing, warnings } = config::guard_findings(guard, settings, public_base);
    BrowserCheck {
        sign_in: format!("{public_base}/sign-in"),
        origins: guard.origins.iter().map(ToString::to_string).collect(),
        findings: missing,
        warnings,
    }
}
