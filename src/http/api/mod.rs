//! The JSON endpoints, one file each.

pub mod admin;
pub(super) mod external_login;
pub(super) mod factor_login;
pub(super) mod health;
pub(super) mod invitations;
pub(super) mod login;
pub(super) mod logout;
pub(super) mod look_up;
pub(super) mod mail_code;
pub(super) mod me;
pub(super) mod passkey_origins;
pub(super) mod refresh;
pub(super) mod register;
pub(super) mod reset;
pub(super) mod sessions;
pub(super) mod verify;
pub(super) mod witness;
