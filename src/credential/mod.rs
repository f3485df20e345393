//! What people and programs prove who they are with.

pub mod oauth_client;
pub mod password;
pub mod reset_code;
