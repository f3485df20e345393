//! What was refused to a user lately: failed logins and refusals by guards.

use serde::{Deserialize, Serialize};

use super::{Report, Who, find};
use crate::{Doorward, store, user::EmailKey};

/// What was refused to a user, the newest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefusedUser {
    /// Their id; none if nobody has the address.
    pub user: Option<String>,
    /// Whether they are locked out.
    pub disabled: bool,
    /// What was refused.
    pub refused: Vec<RefusedLately>,
}

/// One thing that was refused.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefusedLately {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// What.
    pub action: RefusedAction,
}

/// What somebody wanted to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedAction {
    /// Log in, or show that they know their password.
    Login {
        /// Why not.
        reason: String,
        /// The network that it came from.
        network: String,
    },
    /// Pass a guard.
    Guard {
        /// Which one.
        guard: String,
        /// The id that `doorward why` explains.
        decision: String,
        /// Whether they passed all the same, because the guard only reports.
        only_reported: bool,
    },
}

/// An address that nobody has is looked for among the failed logins all the same.
pub(super) async fn to_user(doorward: &Doorward, who: &Who) -> Result<Report, store::Error> {
    let user = find(doorward, who).await?;
    if user.is_none() && !who.0.contains('@') {
        return Ok(Report::NoSuchUser);
    }
    let email = user.as_ref().map_or_else(|| EmailKey::of(&who.0), |user| user.email.key());
    let id = user.as_ref().map(|user| user.id);
    let logins = doorward.failed_logins().lately(&email, id).into_iter().map(|failed| {
        let action = RefusedAction::Login {
            reason: failed.reason.to_string(),
            network: failed.client.to_string(),
        };
        RefusedLately { time: failed.time.millis(), action }
    });
    let refusals = id.map(|id| doorward.refusals().of_user(id)).unwrap_or_default();
    let guards = refusals.into_iter().map(|refusal| {
        let action = RefusedAction::Guard {
            guard: refusal.guard,
            decision: refusal.id,
            only_reported: refusal.only_reported,
        };
        RefusedLately { time: refusal.time, action }
    });
    let mut refused: Vec<_> = logins.chain(guards).collect();
    refused.sort_by_key(|refused| std::cmp::Reverse(refused.time));
    Ok(Report::RefusedUser(RefusedUser {
        user: id.map(|id| id.to_string()),
        disabled: user.is_some_and(|user| user.disabled),
        refused,
    }))
}
