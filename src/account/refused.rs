//! What was refused recently, to one user or to everybody: failed logins, and refusals by guards and policies. A server keeps the
//! latest in memory.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    access::refusals::Refusal,
    account::look_up::user_by_id_or_email,
    clock::Timestamp,
    store,
    throttle::BudgetUsage,
    user::{EmailKey, UserId},
};

/// What was refused to a user recently.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserRefusals")]
pub(crate) struct RecentRefusals {
    /// The id; none if no user has the address.
    pub(crate) user: Option<UserId>,
    pub(crate) disabled: bool,
    /// How many failed logins count against the account.
    pub(crate) throttle: ThrottleState,
    /// What was refused, newest first.
    pub(crate) refused: Vec<RecentRefusal>,
}

/// One failed login or refusal.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecentRefusal {
    pub(crate) refused_at: Timestamp,
    pub(crate) action: RefusedAction,
}

/// What a user tried to do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum RefusedAction {
    /// Log in, or confirm an action with their password.
    Login { reason: String, network: String },
    /// Pass a guard or a policy.
    Guard {
        guard: String,
        /// The id of the refusal.
        decision: String,
        /// Whether the user was admitted because the guard only reports.
        only_reported: bool,
    },
}

/// How many failed logins count against an account.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThrottleState {
    /// From all networks together.
    pub(crate) from_everywhere: BudgetState,
    /// From each network, and from the wider networks that contain it, on this server.
    pub(crate) from_networks: Vec<NetworkBudgetState>,
}

/// The failed logins from one network that count.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkBudgetState {
    pub(crate) network: String,
    /// Whether the user has signed in from it, which gives it a budget of its own.
    pub(crate) is_known: bool,
    #[serde(flatten)]
    pub(crate) budget: BudgetState,
}

/// How much of a budget is used.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Budget")]
pub(crate) struct BudgetState {
    /// The failed logins that count.
    pub(crate) used: u32,
    /// How many are allowed.
    pub(crate) size: u32,
    /// When none counts any more.
    pub(crate) recovers_at: Option<Timestamp>,
}

/// The latest refusals of a user, by id or address. Failed logins are also listed for an address that no user has. `None` for an
/// id that no user has.
pub(crate) async fn of_user(
    doorward: &Doorward,
    typed: &str,
) -> Result<Option<RecentRefusals>, store::Error> {
    let user = user_by_id_or_email(doorward, typed).await?;
    if user.is_none() && !typed.contains('@') {
        return Ok(None);
    }
    let email = user.as_ref().map_or_else(|| EmailKey::of(typed), |user| user.email.key());
    let id = user.as_ref().map(|user| user.id);
    let logins = doorward.events().failed_logins().recent(&email, id).into_iter().map(|failed| {
        let (reason, network) = (failed.reason.to_string(), failed.network.to_string());
        RecentRefusal { refused_at: failed.time, action: RefusedAction::Login { reason, network } }
    });
    let refusals = id.map(|id| doorward.refusals().by_user(id)).unwrap_or_default();
    let guards = refusals.into_iter().map(|refusal| RecentRefusal {
        refused_at: refusal.refused_at,
        action: RefusedAction::Guard {
            guard: refusal.guard,
            decision: refusal.id,
            only_reported: refusal.only_reported,
        },
    });
    let mut refused: Vec<_> = logins.chain(guards).collect();
    refused.sort_by_key(|refused| Reverse(refused.refused_at));
    Ok(Some(RecentRefusals {
        user: id,
        disabled: user.is_some_and(|user| user.disabled),
        throttle: throttle_state(doorward, &email),
        refused,
    }))
}

fn throttle_state(doorward: &Doorward, email: &EmailKey) -> ThrottleState {
    let usage = doorward.throttle().account_usage(email, doorward.instant());
    let state = |BudgetUsage { used, size, recovers_in }: BudgetUsage| BudgetState {
        used,
        size,
        recovers_at: (used > 0).then(|| doorward.now() + recovers_in),
    };
    let networks = |used: Vec<(String, BudgetUsage)>, is_known| {
        let state =
            |(network, usage)| NetworkBudgetState { network, is_known, budget: state(usage) };
        used.into_iter().map(state).collect::<Vec<_>>()
    };
    let known = networks(usage.from_known_networks, true);
    let mut from_networks = networks(usage.from_networks, false);
    from_networks.extend(known);
    ThrottleState { from_everywhere: state(usage.from_everywhere), from_networks }
}

/// Which refusals to list. The default lists all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusalFilter {
    /// Only those of the guard or policy with this name.
    pub(crate) guard: Option<String>,
    /// Only those that were admitted because the guard only reports (true), or only the others (false).
    pub(crate) only_reported: Option<bool>,
}

/// A page of refusals by guards and policies, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refusals")]
pub(crate) struct RefusalPage {
    /// Without their reasons.
    pub(crate) refusals: Vec<Refusal>,
    /// The value of `after` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// Up to `limit` refusals of everybody that the filter admits, newest first, without their reasons. `after` is the decision after
/// which the page starts. Once it is not among the latest any more, nothing follows it.
pub(crate) fn of_everybody(
    doorward: &Doorward,
    filter: &RefusalFilter,
    after: Option<&str>,
    limit: usize,
) -> RefusalPage {
    let RefusalFilter { guard, only_reported } = filter;
    let admits = |refusal: &Refusal| {
        guard.as_ref().is_none_or(|guard| *guard == refusal.guard)
            && only_reported.is_none_or(|only_reported| only_reported == refusal.only_reported)
    };
    let mut latest = doorward.refusals().latest().into_iter();
    if let Some(after) = after {
        latest.by_ref().find(|refusal| refusal.id == after);
    }
    let mut admitted = latest.filter(admits);
    let refusals: Vec<_> = admitted.by_ref().take(limit).collect();
    let is_last = admitted.next().is_none();
    let next = refusals.last().filter(|_| !is_last).map(|refusal| refusal.id.clone());
    RefusalPage { refusals, next }
}
