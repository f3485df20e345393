//! `/admin`: people with a role that allows it look after the service. Each page needs a scope, and shows only what whoever sees it
//! may do. What cannot be undone, or gives access away, needs a sign-in that is not long ago.

pub(in crate::http) mod audit;
pub(in crate::http) mod guards;
pub(in crate::http) mod invitations;
pub(in crate::http) mod keys;
pub(in crate::http) mod mail;
pub(in crate::http) mod new_user;
pub(in crate::http) mod overview;
pub(in crate::http) mod refusals;
pub(in crate::http) mod signing_keys;
pub(in crate::http) mod user;
pub(in crate::http) mod user_orders;
pub(in crate::http) mod users;
mod visit;

pub(in crate::http) use self::visit::{AdminVisit, LiveAdminVisit};

/// The most rows of a page of a list.
const PAGE_ROWS: usize = 50;
