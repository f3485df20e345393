//! The columns of each kind of record, in the order in which they are read and inserted.

/// Joins the names with commas, each with the prefix.
macro_rules! column_list {
    ($prefix:literal, $first:literal $(, $name:literal)*) => {
        concat!($prefix, $first $(, ", ", $prefix, $name)*)
    };
}

/// The columns of an event of the audit trail.
macro_rules! event_columns {
    () => {
        "id, number, kind, subject_id, actor_id, salt, personal, commitment, record"
    };
}

/// The columns of a user, each with a prefix: `"u."` in a query that joins tables, else `""`. `email_key` is not among
/// them: it is derived from `email` when a row is written.
macro_rules! user_columns {
    ($prefix:literal) => {
        $crate::store::columns::column_list!(
            $prefix,
            "id",
            "name",
            "email",
            "email_verified",
            "password_hash",
            "password_version",
            "roles",
            "disabled",
            "created_at",
            "updated_at",
            "last_login_at",
            "factors"
        )
    };
}

/// The columns of a session, each with a prefix: `"s."` in a query that joins tables, else `""`.
macro_rules! session_columns {
    ($prefix:literal) => {
        $crate::store::columns::column_list!(
            $prefix,
            "id",
            "user_id",
            "token_id",
            "created_at",
            "last_seen_at",
            "expires_at",
            "idle_ms",
            "authenticated_at",
            "methods",
            "address",
            "user_agent",
            "identity_id",
            "upstream_sid"
        )
    };
}

/// The columns of an identity, each with a prefix.
macro_rules! identity_columns {
    ($prefix:literal) => {
        $crate::store::columns::column_list!(
            $prefix,
            "id",
            "user_id",
            "issuer",
            "subject",
            "login",
            "display",
            "created_at",
            "last_used_at"
        )
    };
}

/// The columns of a one-time secret, each with a prefix. `email_key` is not among them, as in [`user_columns`].
macro_rules! one_time_columns {
    ($prefix:literal) => {
        $crate::store::columns::column_list!(
            $prefix,
            "id",
            "purpose",
            "user_id",
            "email",
            "user_email",
            "password_version",
            "digest",
            "expires_at",
            "guesses"
        )
    };
}

/// The columns of a mail in the outbox. `claimed_until` is not among them.
macro_rules! mail_columns {
    () => {
        $crate::store::columns::column_list!(
            "",
            "id",
            "user_id",
            "recipient",
            "language",
            "message",
            "created_at",
            "expires_at",
            "due_at",
            "attempts",
            "failure",
            "given_up_at"
        )
    };
}

/// The columns of an invitation and the digest of its secret. `email_key` is not among them, as in [`user_columns`].
macro_rules! invitation_columns {
    () => {
        $crate::store::columns::column_list!(
            "",
            "id",
            "email",
            "roles",
            "invited_by",
            "is_mailed",
            "created_at",
            "expires_at",
            "digest",
            "guesses"
        )
    };
}

/// The columns of a passkey, each with a prefix.
macro_rules! passkey_columns {
    ($prefix:literal) => {
        $crate::store::columns::column_list!(
            $prefix,
            "id",
            "user_id",
            "credential_id",
            "rp_id",
            "user_handle",
            "public_key",
            "verifies_user",
            "aaguid",
            "name",
            "transports",
            "sign_count",
            "backup_eligible",
            "backed_up",
            "created_at",
            "last_used_at"
        )
    };
}

/// The columns of an API key, each with a prefix. The digest is not among them.
macro_rules! api_key_columns {
    ($prefix:literal) => {
        $crate::store::columns::column_list!(
            $prefix,
            "id",
            "user_id",
            "name",
            "scopes",
            "condition",
            "two_factors",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at"
        )
    };
}

pub(super) use api_key_columns;
pub(super) use column_list;
pub(super) use event_columns;
pub(super) use identity_columns;
pub(super) use invitation_columns;
pub(super) use mail_columns;
pub(super) use one_time_columns;
pub(super) use passkey_columns;
pub(super) use session_columns;
pub(super) use user_columns;

/// The number of columns in [`user_columns`].
pub(super) const USER_COLUMN_COUNT: usize = 12;
/// The number of columns in [`session_columns`].
pub(super) const SESSION_COLUMN_COUNT: usize = 13;
/// The number of columns in [`identity_columns`].
pub(super) const IDENTITY_COLUMN_COUNT: usize = 8;
/// The number of columns in [`passkey_columns`].
pub(super) const PASSKEY_COLUMN_COUNT: usize = 15;
/// The number of columns in [`api_key_columns`].
pub(super) const API_KEY_COLUMN_COUNT: usize = 10;
/// The number of columns in [`one_time_columns`].
pub(super) const ONE_TIME_COLUMN_COUNT: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_counts_match_the_lists() {
        assert_eq!(user_columns!("u.").split(", u.").count(), USER_COLUMN_COUNT);
        assert_eq!(session_columns!("").split(", ").count(), SESSION_COLUMN_COUNT);
        assert_eq!(identity_columns!("").split(", ").count(), IDENTITY_COLUMN_COUNT);
        assert_eq!(passkey_columns!("").split(", ").count(), PASSKEY_COLUMN_COUNT);
        assert_eq!(api_key_columns!("k.").split(", k.").count(), API_KEY_COLUMN_COUNT);
        assert_eq!(one_time_columns!("o.").split(", o.").count(), ONE_TIME_COLUMN_COUNT);
        assert!(user_columns!("u.").starts_with("u.id, u.name, "));
    }
}
