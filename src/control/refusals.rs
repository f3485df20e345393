//! What was refused to a user recently, as a reply.

use super::{
    BudgetState, NetworkBudgetState, RecentRefusal, RecentRefusals, RefusedAction, Reply,
    ThrottleState, UserRef,
};
use crate::{Doorward, account::refused, store};

/// The latest refusals of a user. Failed logins are also listed for an address that no user has.
pub(super) async fn of_user(doorward: &Doorward, typed: &UserRef) -> Result<Reply, store::Error> {
    let Some(recent) = refused::of_user(doorward, &typed.0).await? else {
        return Ok(Reply::NoSuchUser);
    };
    let refused::RecentRefusals { user, disabled, throttle, refused } = recent;
    let refused = refused.into_iter().map(|refused| {
        let action = match refused.action {
            refused::RefusedAction::Login { reason, network } => {
                RefusedAction::Login { reason: reason.to_string(), network: network.to_string() }
            }
            refused::RefusedAction::Guard(refusal) => RefusedAction::Guard {
                guard: refusal.guard,
                decision: refusal.id,
                only_reported: refusal.only_reported,
            },
        };
        RecentRefusal { time: refused.time.millis(), action }
    });
    let networks = throttle.from_networks.into_iter().map(|from| NetworkBudgetState {
        network: from.network,
        is_known: from.is_known,
        budget: budget(&from.budget),
    });
    Ok(Reply::Refusals(RecentRefusals {
        user: user.map(|id| id.to_string()),
        disabled,
        throttle: ThrottleState {
            from_everywhere: budget(&throttle.from_everywhere),
            from_networks: networks.collect(),
        },
        refused: refused.collect(),
    }))
}

fn budget(state: &refused::BudgetState) -> BudgetState {
    let refused::BudgetState { used, size, recovers_at } = state;
    BudgetState { used: *used, size: *size, recovers_at: recovers_at.map(|at| at.to_string()) }
}
