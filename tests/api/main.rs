//! The service through its router: whole requests and whole answers.

mod common_passwords;
mod declared;
mod errors;
mod guards;
mod keys;
mod login;
mod look_up;
mod me;
mod memory;
mod misspelled;
mod oauth;
mod openapi;
mod operator;
mod pages;
mod refused;
mod register;
mod reset;
mod revocations;
mod routes;
mod sessions;
mod support;
mod throttle;
mod verified;
mod visits;
mod well_known;
