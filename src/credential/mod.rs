//! Credentials of users and OAuth clients.

pub mod oauth_client;
pub mod password;
