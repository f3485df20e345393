//! The pages on which the service is administered.

mod audit;
mod chart;
mod emergency;
mod frame;
mod guards;
mod invitations;
mod keys;
mod mail;
mod new_user;
mod overview;
mod parts;
mod refusals;
mod signing_keys;
mod steps;
mod user;
mod users;

pub use self::{
    audit::AuditTrail,
    emergency::EmergencyDone,
    frame::{Frame, Place},
    guards::{GuardPage, GuardRow, Guards},
    invitations::AdminInvitations,
    keys::ApiKeys,
    mail::MailQueue,
    new_user::NewUserPage,
    overview::{LoginRow, Overview},
    parts::{RefusedForm, Secret},
    refusals::{RefusalPage, Refusals},
    signing_keys::SigningKeysPage,
    user::{MAX_USER_SESSIONS, UserPage},
    users::Users,
};
