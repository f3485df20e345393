//! The service through its router: whole requests and whole answers.

mod admin_users;
mod api_keys;
mod clock;
mod codes;
mod common_passwords;
mod cors;
mod declared;
mod doors;
mod errors;
mod expired_tokens;
mod factors;
mod figures;
mod guards;
mod identities;
mod invitations;
mod keys;
mod login;
mod look_up;
mod mail;
mod mail_budgets;
mod me;
mod memory;
mod misspelled;
mod notices;
mod oauth;
mod openapi;
mod operator;
mod other_sites;
mod outbox;
mod pages;
mod panics;
#[path = "../postgres/mod.rs"]
mod postgres;
mod promotion;
mod refused;
mod register;
mod registration;
mod reset;
mod revocations;
mod rights;
mod routes;
mod secure;
#[path = "../seed/mod.rs"]
mod seed;
mod sessions;
mod silent_sign_up;
#[path = "../size/mod.rs"]
mod size;
mod step_up;
mod support;
mod throttle;
mod verified;
mod visits;
mod well_known;
