//! Who sent a request, and whether they may: callers, policies, guards, and the record of refusals.

pub mod admin_role;
pub mod caller;
pub mod factor_policy;
pub mod guard;
pub mod policy;
pub mod refusals;
pub mod registration;
pub mod scope;
