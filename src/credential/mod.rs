//! Credentials of users and OAuth clients.

pub mod api_key;
pub mod factor;
pub mod oauth_client;
pub mod passkey;
pub mod password;
pub mod qr;
pub mod recovery_code;
pub mod totp;
