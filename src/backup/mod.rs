//! Backups: one file with everything that an installation has stored, independent of its database. It is JSON, one record a
//! line, with a checksum at the end. Memory stays bounded, however many users there are.

pub mod age;
mod error;
mod line;
pub mod output;
mod reader;
mod restore;
pub mod transfer;
mod writer;

use serde::{Deserialize, Serialize};

pub use self::{
    error::Error,
    reader::Reader,
    restore::{fill_folder, restore_into},
    writer::write,
};
use crate::{clock::Timestamp, token::KeyId};

/// What is in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The version of Doorward that has written it.
    pub version: String,
    /// The database that it was made of: `sqlite` or `postgres`.
    pub database: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The number of records.
    pub counts: Counts,
    /// The SHA-256 of all lines but the last, in hexadecimal digits.
    pub sha256: String,
    /// The ids of the signing keys.
    pub keys: Vec<KeyId>,
}

/// The number of records of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Users.
    pub users: u64,
    /// Sessions, including expired ones.
    pub sessions: u64,
    /// Tokens that ended before they expired.
    pub ended_tokens: u64,
    /// One-time secrets in mails.
    pub one_times: u64,
    /// Mail that waits to be sent or was given up.
    pub mails: u64,
    /// Invitations.
    pub invitations: u64,
    /// Signing keys.
    pub keys: u64,
}

impl Counts {
    /// The number of all records but keys.
    pub fn records(&self) -> u64 {
        let Self { users, sessions, ended_tokens, one_times, mails, invitations, keys: _ } = self;
        users + sessions + ended_tokens + one_times + mails + invitations
    }
}

#[cfg(test)]
mod tests;
