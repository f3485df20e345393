//! A row of the table `users`.

use super::{Error, columns::USER_COLUMN_COUNT, row::Row, statements::statements, value::Value};
use crate::{
    clock::Timestamp,
    credential::{factor::Factors, password::PasswordHash},
    throttle::KnownNetworks,
    user::{Email, LoginRoles, Name, PasswordVersion, Roles, User},
};

/// A user with what else is stored about them.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRecord {
    pub user: User,
    /// The networks from which they have signed in.
    pub known_networks: KnownNetworks,
    /// When their password hash was imported, if it was and has not been replaced by one of ours.
    pub hash_imported_at: Option<Timestamp>,
    /// Those of their roles that they have only by logins.
    pub login_roles: LoginRoles,
}

/// The columns of a user record: the user, their known networks, when their hash was imported, and the roles that logins give them.
macro_rules! user_record_columns {
    () => {
        concat!(
            $crate::store::columns::user_columns!("u."),
            ", u.known_networks, \
             (SELECT i.imported_at FROM imported_hashes i WHERE i.user_id = u.id), u.login_roles"
        )
    };
}

/// The query of the record with the id $1.
macro_rules! user_record {
    () => {
        concat!(
            "SELECT ",
            $crate::store::user_record::user_record_columns!(),
            " FROM users u WHERE u.id = $1"
        )
    };
}

#[cfg_attr(
    not(feature = "postgres"),
    expect(unused_imports, reason = "PostgreSQL adds a lock to the query")
)]
pub(super) use user_record;
pub(super) use user_record_columns;

statements! {
    USER_RECORD = user_record!();
}

/// Reads the columns of a user, which start at `first`.
pub(super) fn user_from_row(row: &Row, first: usize) -> Result<User, Error> {
    Ok(User {
        id: row.get(first)?,
        name: Name::from_store(row.get(first + 1)?),
        email: Email::from_store(row.get(first + 2)?),
        email_verified: row.get(first + 3)?,
        password_hash: row.get::<Option<String>>(first + 4)?.map(PasswordHash::from_store),
        password_version: PasswordVersion::from_store(row.get(first + 5)?),
        roles: Roles::from_store(row.get(first + 6)?),
        disabled: row.get(first + 7)?,
        created_at: row.get(first + 8)?,
        updated_at: row.get(first + 9)?,
        last_login_at: row.get(first + 10)?,
        // None in the row of a user whom an older version has added.
        factors: Factors::from_store(row.get::<Option<&str>>(first + 11)?.unwrap_or_default()),
    })
}

/// The values of a user in the order of the columns, and the key of their address.
pub(super) fn user_values(user: &User) -> Vec<Value> {
    let User {
        id,
        name,
        email,
        email_verified,
        password_hash,
        password_version,
        roles,
        disabled,
        created_at,
        updated_at,
        last_login_at,
        factors,
    } = user;
    vec![
        (*id).into(),
        name.as_str().into(),
        email.as_str().into(),
        (*email_verified).into(),
        password_hash.as_ref().map(|hash| hash.as_phc().to_owned()).into(),
        password_version.number().into(),
        roles.to_text().into(),
        (*disabled).into(),
        (*created_at).into(),
        (*updated_at).into(),
        (*last_login_at).into(),
        factors.to_text().into(),
        email.key().as_str().into(),
    ]
}

/// Reads the columns of a user record.
pub(super) fn user_record_from_row(row: &Row) -> Result<UserRecord, Error> {
    Ok(UserRecord {
        user: user_from_row(row, 0)?,
        known_networks: KnownNetworks::from_store(row.get(USER_COLUMN_COUNT)?),
        hash_imported_at: row.get(USER_COLUMN_COUNT + 1)?,
        // None until a login gives some.
        login_roles: LoginRoles::from_store(
            row.get::<Option<&str>>(USER_COLUMN_COUNT + 2)?.unwrap_or_default(),
        ),
    })
}
