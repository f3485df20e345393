//! What to make of SQLite's errors: what callers are told, and what becomes of the connection.

use rusqlite::{
    Error as SqliteError,
    ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull,
        FileLockingProtocolFailed, NotADatabase, OutOfMemory, ReadOnly, SystemIoFailure,
    },
    ffi,
};

use crate::store::Error;

/// What to make of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A unique index has the value already.
    Taken,
    /// Another connection has a lock.
    Busy,
    /// No space is left on the disk.
    DiskFull,
    /// A flush failed: the system may count pages as written that never reached the disk.
    Flush,
    /// A write failed or memory ran out. The next transaction overwrites what the failed one wrote.
    Write,
    /// The file could not be opened, locked or read: another connection may do better.
    Connection,
    /// The journal or the shared memory is open for reading only, which all connections share.
    ReadOnly,
    /// The file is damaged, or its first page could not be read: SQLite says the same to both.
    Damaged,
    /// Anything else: a bug.
    Other,
}

impl Trouble {
    pub(super) fn of(error: &SqliteError) -> Self {
        let Some(failure) = error.sqlite_error() else { return Self::Other };
        match (failure.extended_code, failure.code) {
            (ffi::SQLITE_CONSTRAINT_UNIQUE, _) => Self::Taken,
            (ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC, _) => Self::Flush,
            (ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_NOMEM, _) | (_, OutOfMemory) => {
                Self::Write
            }
            (_, DiskFull) => Self::DiskFull,
            (_, DatabaseBusy | DatabaseLocked) => Self::Busy,
            (_, CannotOpen | SystemIoFailure | FileLockingProtocolFailed) => Self::Connection,
            (_, ReadOnly) => Self::ReadOnly,
            (_, DatabaseCorrupt | NotADatabase) => Self::Damaged,
            _ => Self::Other,
        }
    }

    /// Whether it is the fault of the file rather than of one statement, and so fails all writes of a transaction.
    pub(super) fn ends_the_transaction(self) -> bool {
        match self {
            Self::DiskFull
            | Self::Flush
            | Self::Write
            | Self::Connection
            | Self::ReadOnly
            | Self::Damaged => true,
            Self::Taken | Self::Busy | Self::Other => false,
        }
    }

    /// Whether the connection that met it is of no further use.
    pub(super) fn spoils_the_connection(self) -> bool {
        matches!(self, Self::Flush | Self::Connection | Self::ReadOnly | Self::Damaged)
    }

    /// Whether all connections have to be closed before another one can do better.
    pub(super) fn needs_a_new_beginning(self) -> bool {
        matches!(self, Self::Flush | Self::ReadOnly)
    }

    /// What callers are told.
    pub(super) fn told(self, cause: String) -> Error {
        match self {
            Self::Taken => Error::EmailTaken,
            Self::Damaged => Error::Unavailable(format!(
                "{cause}: the disk cannot be read, or the file is damaged and has to be restored from a backup"
            )),
            Self::Other => Error::Failed(cause.into()),
            Self::Busy
            | Self::DiskFull
            | Self::Flush
            | Self::Write
            | Self::Connection
            | Self::ReadOnly => Error::Unavailable(cause),
        }
    }
}

impl From<SqliteError> for Error {
    fn from(error: SqliteError) -> Self {
        match Trouble::of(&error) {
            Trouble::Other => Self::Failed(error.into()),
            trouble => trouble.told(describe(&error)),
        }
    }
}

/// SQLite's own words, and which of its calls failed where it tells: "disk I/O error" alone does not.
pub(super) fn describe(error: &SqliteError) -> String {
    let operation = error.sqlite_extended_error_code().and_then(|code| match code {
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS => {
            Some("reading")
        }
        ffi::SQLITE_IOERR_WRITE => Some("writing"),
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => Some("flushing"),
        ffi::SQLITE_IOERR_TRUNCATE => Some("truncating"),
        ffi::SQLITE_IOERR_FSTAT => Some("looking at the file"),
        ffi::SQLITE_IOERR_SHMOPEN
        | ffi::SQLITE_IOERR_SHMSIZE
        | ffi::SQLITE_IOERR_SHMMAP
        | ffi::SQLITE_IOERR_SHMLOCK => Some("using the shared memory file"),
        _ => None,
    });
    match operation {
        Some(operation) => format!("{error} while {operation}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: i32) -> Error {
        SqliteError::SqliteFailure(ffi::Error::new(code), Some("disk I/O error".into())).into()
    }

    #[test]
    fn faults_of_the_file_may_pass_and_are_told_with_what_failed() {
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_CORRUPTFS] {
            let Error::Unavailable(cause) = told(code) else { panic!("not worth another try") };
            assert_eq!(cause, "disk I/O error while reading");
        }
        for code in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_FULL,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_IOERR_FSYNC,
        ] {
            assert!(matches!(told(code), Error::Unavailable(_)), "{code}");
        }
        assert!(matches!(told(ffi::SQLITE_MISUSE), Error::Failed(_)));
        assert!(matches!(told(ffi::SQLITE_CONSTRAINT_UNIQUE), Error::EmailTaken));
    }
}
