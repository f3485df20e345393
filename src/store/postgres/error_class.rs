//! Classes of PostgreSQL errors: whether to retry, and which error the store returns.

use tokio_postgres::{Error as PgError, error::SqlState};

use super::connection::describe;
use crate::store::{EMAIL_INDEX, Error};

/// What an error means for the transaction and its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorClass {
    /// A conflict with another transaction: a retry may succeed.
    Conflict,
    /// The connection, or the server at its other end, cannot be used any more.
    Connection,
    EmailTaken,
    /// The server is out of space, connections or time.
    Exhausted,
    /// Anything else, such as a violation of another unique index: a bug.
    Other,
}

impl ErrorClass {
    /// Broken connections, transactions that the server ended, servers that stop or accept no writes, too many
    /// connections, commits with an unknown outcome, and statements prepared for another schema or connection.
    const CONNECTION_CODES: [&str; 10] =
        ["08", "57P", "25006", "25P03", "25P04", "53300", "40003", "0A000", "26000", "42P05"];
    /// Out of resources, cancelled statements, locks that were not available, I/O errors.
    const EXHAUSTED_CODES: [&str; 4] = ["53", "57014", "55P03", "58030"];

    pub(super) fn of(error: &PgError) -> Self {
        let constraint = error.as_db_error().and_then(|error| error.constraint());
        // An error without a code is not from the server.
        error.code().map_or(Self::Connection, |code| Self::of_code(code, constraint))
    }

    fn of_code(code: &SqlState, constraint: Option<&str>) -> Self {
        let has_prefix_in =
            |codes: &[&str]| codes.iter().any(|prefix| code.code().starts_with(prefix));
        if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
            Self::Conflict
        } else if *code == SqlState::UNIQUE_VIOLATION && constraint == Some(EMAIL_INDEX) {
            Self::EmailTaken
        } else if has_prefix_in(&Self::CONNECTION_CODES) {
            Self::Connection
        } else if has_prefix_in(&Self::EXHAUSTED_CODES) {
            Self::Exhausted
        } else {
            Self::Other
        }
    }
}

impl From<PgError> for Error {
    fn from(error: PgError) -> Self {
        match ErrorClass::of(&error) {
            ErrorClass::EmailTaken => Self::EmailTaken,
            ErrorClass::Conflict | ErrorClass::Connection | ErrorClass::Exhausted => {
                Self::Unavailable(describe(&error))
            }
            ErrorClass::Other => Self::Failed(describe(&error).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_violation_of_the_email_index_means_that_an_address_is_taken() {
        let violated = |index| ErrorClass::of_code(&SqlState::UNIQUE_VIOLATION, index);
        assert_eq!(violated(Some(EMAIL_INDEX)), ErrorClass::EmailTaken);
        for other in [Some("users_pkey"), Some("users_by_email_domain"), None] {
            assert_eq!(violated(other), ErrorClass::Other, "{other:?}");
        }
    }

    #[test]
    fn errors_are_classified_by_the_prefix_of_their_code() {
        for (code, class) in [
            ("40001", ErrorClass::Conflict),
            ("40P01", ErrorClass::Conflict),
            ("40003", ErrorClass::Connection),
            ("08006", ErrorClass::Connection),
            ("57P01", ErrorClass::Connection),
            ("53300", ErrorClass::Connection),
            ("53100", ErrorClass::Exhausted),
            ("57014", ErrorClass::Exhausted),
            ("42601", ErrorClass::Other),
        ] {
            assert_eq!(ErrorClass::of_code(&SqlState::from_code(code), None), class, "{code}");
        }
    }
}
