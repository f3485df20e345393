//! Doorward: sign-up, login and guarded routes for any app.
//!
//! The binary is what most people run; this library is the same service for an axum app of one's own
//! (`examples/embed.rs`):
//!
//! ```no_run
//! use axum::{Router, routing::get};
//! use doorward::{Authenticated, Doorward, Only, Settings};
//!
//! async fn hello(user_id: Only<Authenticated>) -> String {
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

mod access;
mod account;
mod cli;
mod clock;
mod config;
mod control;
mod credential;
mod data_folder;
mod doorward;
mod fault;
mod http;
mod id;
mod log;
mod network;
mod private_file;
mod routes;
mod session;
mod spelling;
mod store;
mod throttle;
mod token;
mod user;

#[doc(hidden)]
pub use self::cli::main;
pub use self::{
    access::{
        caller::Caller,
        policy::{Authenticated, Designated, Policy, SignedIn},
    },
    account::{
        Failure, InvalidField, NewSession, NewUser, RegisterError, RoleError, SetPasswordError,
        SignInError, UserError, VerifyError,
    },
    config::Settings,
    credential::{password::Busy, reset_code::ResetCode},
    doorward::{Doorward, MissingKey, OpenError},
    http::only::{FromState, Only},
    session::{Origin, Session, SessionId},
    store::Error as StoreError,
    token::Token,
    user::{User, UserId},
};

/// The rooms of the crate, for Doorward's own tests and benchmarks. Nothing in here is stable.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    pub mod access {
        pub use crate::access::*;
    }
    pub mod clock {
        pub use crate::clock::*;
    }
    pub mod config {
        pub use crate::config::*;
    }
    pub mod control {
        pub use crate::control::*;
    }
    pub mod credential {
        pub use crate::credential::*;
    }
    pub mod data_folder {
        pub use crate::data_folder::*;
    }
    pub mod http {
        pub use crate::http::*;
    }
    pub mod id {
        pub use crate::id::*;
    }
    pub mod log {
        pub use crate::log::*;
    }
    pub mod network {
        pub use crate::network::*;
    }
    pub mod routes {
        pub use crate::routes::*;
    }
    pub mod session {
        pub use crate::session::*;
    }
    pub mod store {
        pub use crate::store::*;
    }
    pub mod throttle {
        pub use crate::throttle::*;
    }
    pub mod token {
        pub use crate::token::*;
    }
    pub mod user {
        pub use crate::user::*;
    }
}
