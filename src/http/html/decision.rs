//! The page about the decision of a guard: where it is, and who sees the reason on it.

use std::net::IpAddr;

use crate::{
    Doorward,
    access::{caller::Caller, scope::Scope},
    http::admin::scopes_at,
};

/// The path of the page.
pub(in crate::http) fn path_of(decision: &str) -> String {
    format!("/refused/{decision}")
}

/// Whether a person at this address may see why a guard has refused: whoever sees it in the administration.
pub(in crate::http) fn may_see_reason(
    doorward: &Doorward,
    caller: &Caller,
    decision: &str,
    address: IpAddr,
) -> bool {
    scopes_at(doorward, caller, &path_of(decision), address).contains(Scope::GuardsRead)
}
