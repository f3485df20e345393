//! Classes of SQLite errors: which error the store returns, and whether a connection can still be used.

use rusqlite::{
    Error as SqliteError,
    ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull,
        FileLockingProtocolFailed, NotADatabase, OutOfMemory, ReadOnly, SystemIoFailure,
    },
    ffi,
};

use crate::store::Error;

/// What an error means for the store and its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorClass {
    EmailTaken,
    /// Another connection has a lock.
    Busy,
    DiskFull,
    /// A flush failed: the kernel may hold pages as clean that never reached the disk.
    Flush,
    /// A write failed, or memory ran out. The next transaction overwrites what the failed one wrote.
    Write,
    /// The file could not be opened, locked or read. Another connection may succeed.
    Connection,
    /// The write-ahead log or the shared memory is open read-only. All connections share these files.
    ReadOnly,
    /// The file is damaged, or its first page could not be read: SQLite reports the same error for both.
    Damaged,
    /// Anything else, such as a violation of another unique index: a bug.
    Other,
}

/// SQLite reports the columns of the violated index, here [`EMAIL_INDEX`](crate::store::EMAIL_INDEX), and not its name.
const EMAIL_TAKEN: &str = "UNIQUE constraint failed: users.email_key";

impl ErrorClass {
    pub(super) fn of(error: &SqliteError) -> Self {
        let Some(failure) = error.sqlite_error() else { return Self::Other };
        match (failure.extended_code, failure.code) {
            (ffi::SQLITE_CONSTRAINT_UNIQUE, _) if message(error) == Some(EMAIL_TAKEN) => {
                Self::EmailTaken
            }
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

    /// Whether the file is the cause rather than one statement, so that all writes of the transaction fail.
    pub(super) fn fails_transaction(self) -> bool {
        match self {
            Self::DiskFull
            | Self::Flush
            | Self::Write
            | Self::Connection
            | Self::ReadOnly
            | Self::Damaged => true,
            Self::EmailTaken | Self::Busy | Self::Other => false,
        }
    }

    /// Whether the connection that reported it must be closed.
    pub(super) fn closes_connection(self) -> bool {
        matches!(self, Self::Flush | Self::Connection | Self::ReadOnly | Self::Damaged)
    }

    /// Whether all connections must be closed before a new one can succeed.
    pub(super) fn closes_all_connections(self) -> bool {
        matches!(self, Self::Flush | Self::ReadOnly)
    }

    /// The store's error for this class.
    pub(super) fn to_error(self, cause: String) -> Error {
        match self {
            Self::EmailTaken => Error::EmailTaken,
            Self::Damaged => Error::Unavailable(format!(
                "{cause}: the disk cannot be read, or the file is damaged and must be restored from a backup"
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

fn message(error: &SqliteError) -> Option<&str> {
    match error {
        SqliteError::SqliteFailure(_, message) => message.as_deref(),
        _ => None,
    }
}

impl From<SqliteError> for Error {
    fn from(error: SqliteError) -> Self {
        match ErrorClass::of(&error) {
            ErrorClass::Other => Self::Failed(error.into()),
            class => class.to_error(describe(&error)),
        }
    }
}

/// SQLite's message and the operation that failed: "disk I/O error" alone does not say which.
pub(super) fn describe(error: &SqliteError) -> String {
    let operation = error.sqlite_extended_error_code().and_then(|code| match code {
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS => {
            Some("reading")
        }
        ffi::SQLITE_IOERR_WRITE => Some("writing"),
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => Some("flushing"),
        ffi::SQLITE_IOERR_TRUNCATE => Some("truncating"),
        ffi::SQLITE_IOERR_FSTAT => Some("reading the file size"),
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

/// The panic hook logs the panic itself.
pub(super) fn panic_error() -> Error {
    Error::Failed("the query panicked".into())
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::sqlite::migrations;

    fn error_for(code: i32) -> Error {
        SqliteError::SqliteFailure(ffi::Error::new(code), Some("disk I/O error".into())).into()
    }

    #[test]
    fn file_errors_are_temporary_and_name_the_operation() {
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_CORRUPTFS] {
            let Error::Unavailable(cause) = error_for(code) else { panic!("not temporary") };
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
            assert!(matches!(error_for(code), Error::Unavailable(_)), "{code}");
        }
        assert!(matches!(error_for(ffi::SQLITE_MISUSE), Error::Failed(_)));
        assert!(matches!(error_for(ffi::SQLITE_CONSTRAINT_UNIQUE), Error::Failed(_)));
    }

    #[test]
    fn only_a_violation_of_the_email_index_means_that_an_address_is_taken() {
        let mut db = Connection::open_in_memory().unwrap();
        migrations::apply(&mut db, migrations::MIGRATIONS).unwrap();
        db.execute_batch("CREATE UNIQUE INDEX users_by_email_and_name ON users (email, name)")
            .unwrap();
        let insert = |id: u8, email: &str, email_key: &str| {
            let inserted = db.execute(
                "INSERT INTO users (id, name, email, email_key, email_verified, password_version, roles, disabled,
                     created_at, updated_at) VALUES (?1, 'Ada', ?2, ?3, 0, 0, '', 0, 0, 0)",
                (&[id; 16], email, email_key),
            );
            inserted.map(drop).map_err(Error::from)
        };
        assert!(matches!(insert(1, "Ada@b.co", "ada@b.co"), Ok(())));
        assert!(matches!(insert(2, "ada@b.co", "ada@b.co"), Err(Error::EmailTaken)));
        assert!(
            matches!(insert(1, "bob@b.co", "bob@b.co"), Err(Error::Failed(_))),
            "the primary key"
        );
        assert!(matches!(insert(3, "Ada@b.co", "other"), Err(Error::Failed(_))), "another index");
    }
}
