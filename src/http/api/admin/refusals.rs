//! `/api/admin/refusals` and `/api/admin/users/{user}/refusals`: what the server that answers has refused recently.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    access::{
        guard::{ExplainedHeader, Explanation, Missing},
        refusals,
    },
    account::refused::{self, RefusalFilter, RefusalPage},
    clock::Timestamp,
    http::{
        Error,
        admin::{Admin, GuardsRead, UsersRead},
        answer::NoStore,
        query::Query,
    },
};

/// A page of refusals, newest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refusals {
    /// Without their reasons.
    pub refusals: Vec<Refusal>,
    /// The id after which the next page starts, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A refusal by a guard or a policy.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The id of the decision, which the answer has had in `X-Decision-Id`.
    pub id: String,
    pub refused_at: String,
    /// The name of the guard or policy.
    pub guard: String,
    /// The version of a declared guard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the request was admitted because the guard only reports.
    pub only_reported: bool,
    /// What is wrong with the token or the API key, or `good`.
    pub token: String,
    /// The id of the user, if the token is valid, or of the owner of the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The id of the API key, if a known one was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The condition that was not satisfied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The parts of the condition with their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The address of the proxy, if the condition has refused that in the place of the client's: the guard names no proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_address: Option<String>,
    /// With what the user would be admitted, if they can reach it by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The headers that the app got, because the guard only reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<ExplainedHeader>,
}

impl From<refusals::Refusal> for Refusal {
    fn from(refusal: refusals::Refusal) -> Self {
        let refusals::Refusal {
            id,
            time,
            guard,
            version,
            only_reported,
            token,
            user,
            key,
            condition,
            explanation,
            proxy_address,
            missing,
            headers,
        } = refusal;
        Self {
            id,
            refused_at: Timestamp::from_millis(time).to_string(),
            guard,
            version,
            only_reported,
            token,
            user,
            key,
            condition,
            explanation,
            proxy_address,
            missing,
            headers,
        }
    }
}

/// What was refused to a user recently.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecentRefusals {
    /// The id of the user; none if no user has the address.
    pub user: Option<String>,
    pub disabled: bool,
    /// How many failed logins count against the account.
    pub throttle: ThrottleState,
    /// What was refused, newest first.
    pub refused: Vec<RecentRefusal>,
}

/// How many failed logins count against an account.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThrottleState {
    /// From all networks together.
    pub from_everywhere: BudgetState,
    /// From each network, and from the wider networks that contain it, on the server that answers.
    pub from_networks: Vec<NetworkBudgetState>,
}

/// The failed logins from one network that count.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkBudgetState {
    pub network: String,
    /// Whether the user has signed in from it, which gives it a budget of its own.
    pub is_known: bool,
    /// How many failed logins count.
    #[serde(flatten)]
    pub budget: BudgetState,
}

/// How much of a budget is used.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetState {
    /// The failed logins that count.
    pub used: u32,
    /// How many are allowed.
    pub size: u32,
    /// When none counts any more.
    pub recovers_at: Option<String>,
}

/// One failed login or refusal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentRefusal {
    pub refused_at: String,
    pub action: RefusedAction,
}

/// What a user tried to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RefusedAction {
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

impl From<refused::RecentRefusals> for RecentRefusals {
    fn from(recent: refused::RecentRefusals) -> Self {
        let refused::RecentRefusals { user, disabled, throttle, refused } = recent;
        let from_networks = throttle.from_networks.into_iter().map(|from| NetworkBudgetState {
            network: from.network,
            is_known: from.is_known,
            budget: from.budget.into(),
        });
        Self {
            user: user.map(|id| id.to_string()),
            disabled,
            throttle: ThrottleState {
                from_everywhere: throttle.from_everywhere.into(),
                from_networks: from_networks.collect(),
            },
            refused: refused.into_iter().map(RecentRefusal::from).collect(),
        }
    }
}

impl From<refused::BudgetState> for BudgetState {
    fn from(state: refused::BudgetState) -> Self {
        let refused::BudgetState { used, size, recovers_at } = state;
        Self { used, size, recovers_at: recovers_at.map(|at| at.to_string()) }
    }
}

impl From<refused::RecentRefusal> for RecentRefusal {
    fn from(refused: refused::RecentRefusal) -> Self {
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
        Self { refused_at: refused.time.to_string(), action }
    }
}

/// Lists the latest refusals of everybody.
pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    mut query: Query,
) -> Result<NoStore<Refusals>, Error> {
    const DEFAULT_LIMIT: usize = 50;
    const MAX_LIMIT: usize = 500;
    let guard = query.0.optional("guard", Ok);
    let only_reported = query.flag("onlyReported");
    let after = query.0.optional("after", Ok);
    let limit = query.limit(DEFAULT_LIMIT, MAX_LIMIT);
    let (Ok(guard), Ok(only_reported), Ok(after), Ok(limit)) = (guard, only_reported, after, limit)
    else {
        return Err(query.0.into_error());
    };
    let filter = RefusalFilter { guard, only_reported };
    let RefusalPage { refusals, next } =
        refused::of_everybody(&doorward, &filter, after.as_deref(), limit);
    let refusals = refusals.into_iter().map(Refusal::from).collect();
    Ok(NoStore(StatusCode::OK, Refusals { refusals, next }))
}

/// Shows a refusal with its reason.
pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    Path(decision): Path<String>,
) -> Result<NoStore<Refusal>, Error> {
    let refusal = doorward.refusal(&decision).ok_or(Error::NotFound)?;
    Ok(NoStore(StatusCode::OK, refusal.into()))
}

/// Lists failed logins and refusals of a user.
pub(in crate::http) async fn of_user(
    State(doorward): State<Doorward>,
    _: Admin<UsersRead>,
    Path(user): Path<String>,
) -> Result<NoStore<RecentRefusals>, Error> {
    let recent = refused::of_user(&doorward, &user).await?.ok_or(Error::NotFound)?;
    Ok(NoStore(StatusCode::OK, recent.into()))
}
