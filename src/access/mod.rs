//! Who is calling, and whether they may: callers, policies, guards and the refusals that are kept.

pub mod caller;
pub mod failed_logins;
pub mod guard;
pub mod policy;
pub mod refusals;
