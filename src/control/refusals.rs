//! What was refused to a user recently: failed logins and refusals by guards and policies.

use super::{
    BudgetState, NetworkBudgetState, RecentRefusal, RecentRefusals, RefusedAction, Reply,
    ThrottleState, UserRef,
};
use crate::{
    Doorward, account::look_up::user_by_id_or_email, store, throttle::BudgetUsage, user::EmailKey,
};

/// The latest refusals of a user. Failed logins are also listed for an address that no user has.
pub(super) async fn of_user(doorward: &Doorward, typed: &UserRef) -> Result<Reply, store::Error> {
    let user = user_by_id_or_email(doorward, &typed.0).await?;
    if user.is_none() && !typed.0.contains('@') {
        return Ok(Reply::NoSuchUser);
    }
    let email = user.as_ref().map_or_else(|| EmailKey::of(&typed.0), |user| user.email.key());
    let id = user.as_ref().map(|user| user.id);
    let logins = doorward.events().failed_logins().recent(&email, id).into_iter().map(|failed| {
        let action = RefusedAction::Login {
            reason: failed.reason.to_string(),
            network: failed.network.to_string(),
        };
        RecentRefusal { time: failed.time.millis(), action }
    });
    let refusals = id.map(|id| doorward.refusals().by_user(id)).unwrap_or_default();
    let guards = refusals.into_iter().map(|refusal| {
        let action = RefusedAction::Guard {
            guard: refusal.guard,
            decision: refusal.id,
            only_reported: refusal.only_reported,
        };
        RecentRefusal { time: refusal.time, action }
    });
    let mut refused: Vec<_> = logins.chain(guards).collect();
    refused.sort_by_key(|refused| std::cmp::Reverse(refused.time));
    Ok(Reply::Refusals(RecentRefusals {
        user: id.map(|id| id.to_string()),
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
        recovers_at: (used > 0).then(|| (doorward.now() + recovers_in).to_string()),
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
