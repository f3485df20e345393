//! Why a backup could not be written, read or restored.

use std::io;

use super::line::FORMAT;
use crate::{data_folder, store, token::key_store::KeyStoreError};

/// Why a backup could not be written, read or restored. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not a backup of doorward")]
    NotABackup,
    /// The file is encrypted by age.
    #[error(
        "the backup is encrypted: decrypt it, and name - for standard input (`age --decrypt -i IDENTITY FILE | …`)"
    )]
    Encrypted,
    /// A later version has written it.
    #[error(
        "the backup is from a newer doorward (version {version}, format {format}; this version reads up to format \
         {FORMAT}): use that version or a later one"
    )]
    NewerFormat {
        /// The version that has written it.
        version: String,
        format: u32,
    },
    /// A later version has migrated the database that it was made of.
    #[error(
        "the backup is from a newer doorward (version {version}, schema {found} of {database}; this version knows up to \
         {known}): use that version or a later one"
    )]
    NewerSchema {
        /// The version that has written it.
        version: String,
        /// The kind of database.
        database: String,
        /// Its schema.
        found: usize,
        /// The newest schema of this version.
        known: usize,
    },
    /// The end is missing.
    #[error("the backup is incomplete: it ends after {lines} lines: use another one")]
    Truncated {
        /// The number of complete lines.
        lines: u64,
    },
    /// A line is not what was written.
    #[error("the backup is damaged (line {line}: {cause}): use another one")]
    Damaged {
        /// The number of the line, from 1.
        line: u64,
        cause: String,
    },
    /// No server would start with what is to be backed up.
    #[error(
        "there are users but no signing key, so no server would start with the backup: put the key file back from an earlier \
         backup, or start the server once with --new-signing-key, which signs everybody out; if you have your own keys, set \
         token.key_file"
    )]
    NoSigningKey,
    /// No server would start with what is in the backup.
    #[error(
        "the backup has users but no signing key, so no server would start with it: use another backup; if you have none, \
         `restore --new-signing-key` makes a new key, and everybody signs in again"
    )]
    LacksSigningKey,
    /// The signing key is in a file that the settings do not name.
    #[error(
        "the signing key is not in the backup, because it is in a file of your own: set token.key_file to that file, or add \
         --new-signing-key to make a new key, and everybody signs in again"
    )]
    KeysInFile,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    #[error(transparent)]
    Folder(#[from] data_folder::Error),
}
