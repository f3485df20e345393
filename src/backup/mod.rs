//! Backups: one file with everything that an installation has stored, independent of its database. It is JSON, one record a
//! line, with a checksum at the end. Memory stays bounded, however many users there are.

mod error;
mod line;
pub mod output;
mod reader;
mod restore;
pub mod transfer;
mod writer;

pub use self::{
    error::Error,
    reader::Reader,
    restore::{SigningKeySource, fill_folder, restore_into},
    writer::write,
};
use crate::{clock::Timestamp, store::archive::RecordCounts, token::KeyId};

/// What is in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The version of Doorward that has written it.
    pub version: String,
    /// The number of the schema of the database that it was made of.
    pub schema: usize,
    /// The database that it was made of: `sqlite` or `postgres`.
    pub database: String,
    pub created_at: Timestamp,
    pub counts: RecordCounts,
    /// The SHA-256 of all lines but the last, in hexadecimal digits.
    pub sha256: String,
    /// The ids of the signing keys.
    pub keys: Vec<KeyId>,
    /// Whether the signing key is in the operator's file.
    pub keys_in_file: bool,
    /// Whether a server would refuse to start, because users may hold tokens of a key that is missing.
    pub lacks_signing_key: bool,
}

#[cfg(test)]
mod tests;
