//! The admin API: what administrators order, one file for each kind of data. The command line and the holders of API keys use it.
//! Its types are read by the command line, too.

pub mod audit;
pub mod backup;
pub mod credentials;
pub mod emergency;
pub mod export;
pub mod guards;
pub mod identities;
pub mod import;
pub mod imported_hashes;
pub mod invitations;
pub mod keys;
pub mod mail;
pub mod person;
pub mod probes;
pub mod refusals;
mod repeated;
pub mod roles;
pub mod secure;
pub mod sessions;
pub mod signing_keys;
pub mod status;
mod target;
pub mod users;
mod version;

pub(in crate::http) use self::target::Named;
