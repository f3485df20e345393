//! The service as its callers see it: whole answers to whole requests, through the router.

mod declared;
mod errors;
mod guards;
mod login;
mod look_up;
mod memory;
mod register;
mod support;
