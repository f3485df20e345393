//! Who sent a request, and whether they may: callers, API keys, policies, guards, and the record of refusals.

pub mod admin_role;
pub mod api_key;
pub mod caller;
pub mod factor_policy;
pub mod guard;
pub mod key_fault;
pub mod policy;
pub mod refusals;
pub mod registration;
pub mod scope;
mod unknown_keys;
