//! Doorward: sign-up, login and guarded routes for any app.
//!
//! The binary is what most people run; this library is the same service for an axum app of one's own
//! (`examples/embed.rs`):
//!
//! ```no_run
//! use axum::{Router, routing::get};
//! use doorward::{Authenticated, Doorward, Only, Settings};
//!
//! async fn hello(Only(user_id): Only<Authenticated>) -> String {
//!     format!("hello, user {user_id}")
//! }
//!
//! # async fn run() -> anyhow::Result<()> {
//! let doorward = Doorward::open(Settings::default()).await?;
//! let app: Router =
//!     Router::new().route("/hello", get(hello)).with_state(doorward.clone()).merge(doorward.routes());
//! # Ok(()) }
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`config`] | settings: names, defaults, bounds, and how they are read |
//! | [`doorward`](crate::Doorward) | everything that a running Doorward holds |
//! | [`server`] | connections: timeouts, limits, draining; no routes |
//! | [`control`] | commands to the running server, over a socket in its data folder |
//! | [`api`] | the only floor that knows HTTP: the table of routes, one file per endpoint, the guard as an argument |
//! | [`caller`] | from token to user, remembered until something changes |
//! | [`guard`] | guards that operators declare: conditions, their check, the decision and its reason |
//! | [`policy`] | pure rules from a caller to what an action may have |
//! | [`password`] | passwords, their hashes and the hashing lane |
//! | [`token`] | made, signed, recognised |
//! | [`keys`] | the lives of the keys that sign tokens |
//! | [`sighting`] | when sessions were last used |
//! | [`reset`] | codes that stand in for a forgotten password |
//! | [`session`], [`user`], [`id`], [`fault`] | the things themselves, what makes them valid and the words when they are not |
//! | [`oauth_client`] | other programs that may ask about tokens |
//! | [`throttle`], [`client`] | how often somebody may try, and who counts as one |
//! | [`failed_login`] | logins that failed lately, and why |
//! | [`store`] | the only floor that knows SQL |
//! | [`migrate`] | moving everything from one database to another |
//! | [`data`] | the data folder: its lock, its keys, its reserve |
//! | [`log`] | what log lines look like |
//! | [`clock`] | time as an argument |
//! | [`cli`] | the commands |

#![warn(clippy::unwrap_used)]

pub mod api;
pub mod caller;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod control;
pub mod data;
mod doorward;
pub mod failed_login;
pub mod fault;
pub mod feed;
pub mod guard;
pub mod id;
pub mod keys;
pub mod log;
pub mod migrate;
mod nearest;
pub mod oauth_client;
pub mod password;
pub mod policy;
mod private_file;
pub mod reset;
pub mod server;
pub mod session;
pub mod sighting;
pub mod store;
pub mod throttle;
pub mod token;
pub mod user;

pub use self::{
    api::only::{FromState, Only},
    caller::Caller,
    config::Settings,
    doorward::{Doorward, MissingKey, OpenError},
    policy::{Authenticated, Designated, Policy, SignedIn},
    user::{User, UserId},
};
