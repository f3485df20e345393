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
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    #[error(transparent)]
    Folder(#[from] data_folder::Error),
}
