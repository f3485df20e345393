//! Sign-up, login and guarded routes for any app.
//!
//! Most people run the `doorward` binary beside their app. This library is the same service inside an [axum] app:
//! [`Doorward::open`] opens the database, [`Doorward::routes`] are the routes of the service, and [`Only`] guards the
//! routes of the app.
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
//! # Guards
//!
//! A handler that takes `Only<P>` runs only when the policy `P` admits the caller, and receives what the policy grants.
//! [`Authenticated`] grants the user's id, [`Designated`] the whole user, [`SignedIn`] the user and the session. An app
//! writes its own policy by implementing [`Policy`]. A policy decides from the [`Caller`] alone, so its test needs neither
//! a server nor a database:
//!
//! ```
//! use std::sync::Arc;
//!
//! use doorward::{Caller, Policy, Role, UserId};
//!
//! /// Admits users with the role `staff`.
//! #[derive(Default)]
//! struct Staff;
//!
//! impl Policy for Staff {
//!     const NAME: &str = "staff";
//!
//!     type Grant = UserId;
//!
//!     fn admit(&self, caller: &Caller) -> Option<UserId> {
//!         caller.user.roles.contains("staff").then_some(caller.user.id)
//!     }
//! }
//!
//! let mut caller = Caller::example("Ada Lovelace", "ada@example.com");
//! assert!(Staff.admit(&caller).is_none());
//! Arc::make_mut(&mut caller.user).roles.grant(Role::parse("staff").unwrap());
//! assert_eq!(Staff.admit(&caller), Some(caller.user.id));
//! ```
//!
//! # Accounts
//!
//! The methods of [`Doorward`] do what the JSON API and the command line do, with the same rules, limits and log lines:
//! [`register`](Doorward::register), [`invite`](Doorward::invite), [`sign_in`](Doorward::sign_in),
//! [`grant_role`](Doorward::grant_role), [`disable_user`](Doorward::disable_user) and others.
//!
//! # Upkeep
//!
//! [`Doorward::run_upkeep`] removes expired sessions, rotates keys and saves failed logins; spawn it once.
//! [`Doorward::serve_commands`] lets `doorward user list` and the other commands reach the app while it runs.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `cli` | yes | the command line of the `doorward` binary |
//! | `postgres` | yes | PostgreSQL as the database; without it, SQLite only |
//! | `argon2-rust` | yes | a faster implementation of Argon2; without it, RustCrypto's with the same hashes |
//!
//! [axum]: https://docs.rs/axum

#![warn(clippy::unwrap_used)]
#![cfg_attr(
    feature = "internals",
    expect(
        missing_docs,
        reason = "only the tests and benchmarks of this repository see the rooms"
    )
)]
#![cfg_attr(
    not(all(feature = "cli", feature = "postgres")),
    expect(dead_code, reason = "only the command line or PostgreSQL uses it")
)]
#![cfg_attr(
    not(any(feature = "cli", feature = "internals")),
    expect(unused_imports, reason = "only the command line uses them")
)]

mod access;
mod account;
mod audit;
mod backup;
#[cfg(feature = "cli")]
mod cli;
mod clock;
mod colour;
mod config;
mod control;
mod count;
mod credential;
mod data_folder;
mod delivery;
#[cfg(feature = "cli")]
mod dev;
mod doorward;
mod event;
mod fault;
mod federation;
mod http;
mod id;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod json_schema;
mod language;
mod log;
mod mail;
mod metrics;
mod network;
mod outbound;
mod private_file;
mod random;
mod request_id;
mod session;
mod sha256;
mod spelling;
mod store;
mod supervisor;
mod throttle;
mod token;
mod user;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use self::cli::main;
pub use self::{
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        policy::{Authenticated, Designated, Policy, SignedIn},
    },
    account::{
        Error as AccountError, InvalidInput, InvitationTicket, Invited, MissingFactor,
        NewInvitation, NewSession, NewUser,
    },
    clock::Timestamp,
    config::{Settings, SettingsError},
    credential::{
        factor::{FactorKind, Factors},
        password::Busy,
    },
    doorward::{Doorward, OpenError},
    http::{bearer::FromState, only::Only},
    network::ClientInfo,
    session::{Method, Methods, Session, SessionId, TokenId},
    store::Error as StoreError,
    token::{Token, one_time::OneTimeSecret},
    user::{Email, Invitation, InvitationId, Name, Role, Roles, User, UserId},
};
