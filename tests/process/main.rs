//! The real binary: how it starts, stops, crashes and recovers, seen from outside the process.

mod commands;
mod connections;
mod crash;
mod disk;
mod guards;
mod keys;
mod ledger;
mod logs;
mod start;
mod stop;
mod support;
