//! The server of `doorward dev`, for tests of apps: its data is in memory, tests set its clock, read its mail and reset it.
//! Passwords are hardly protected, so nothing else uses this room.

mod clock;
mod fields;
mod logins;
mod server;
mod settings;
mod users;

pub(crate) use self::{
    clock::{InvalidTime, parse_time},
    fields::Faults,
    logins::{AuthorizationRequest, ProviderAnswer, Redemption},
    server::{DevServer, StartError},
    settings::dev_settings,
    users::{SeedUser, UserChange, read_users},
};
