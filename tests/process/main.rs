//! The binary as a process: start, stop, crash, recovery.

mod accounts;
mod api_keys;
mod commands;
mod connections;
mod crash;
mod disk;
mod feed;
mod guards;
mod instances;
mod invitations;
mod keys;
mod ledger;
mod logs;
#[path = "../postgres/mod.rs"]
mod postgres;
mod secrets;
#[path = "../seed/mod.rs"]
mod seed;
mod service_manager;
#[path = "../size/mod.rs"]
mod size;
mod start;
mod stop;
#[path = "../stopwatch/mod.rs"]
mod stopwatch;
mod support;
mod throttle;
