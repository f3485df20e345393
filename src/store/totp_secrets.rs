//! The encrypted secrets of authenticator apps: the table `totp_secrets`.

use super::{Error, Store, row::Row, statements::statements, value::Value, write::StatementBatch};
use crate::user::StoredTotp;

statements! {
    HAS_TOTP = "SELECT 1 FROM totp_secrets LIMIT 1";
    TOTP_BY_USER =
        "SELECT user_id, secret, last_step, created_at, last_used_at FROM totp_secrets WHERE user_id = $1";
    ADD_TOTP =
        "INSERT INTO totp_secrets (user_id, secret, last_step, created_at, last_used_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id) DO NOTHING";
    /// A code counts once, and so does each earlier one.
    USE_TOTP =
        "UPDATE totp_secrets SET last_step = $2, last_used_at = $3 WHERE user_id = $1 AND last_step < $2";
    DELETE_TOTP = "DELETE FROM totp_secrets WHERE user_id = $1";
    /// Of a user who does not hold one.
    DELETE_TOTP_OF_NONE =
        "DELETE FROM totp_secrets WHERE user_id = $1 AND NOT EXISTS \
         (SELECT 1 FROM users u WHERE u.id = $1 AND u.factors LIKE '%totp')";
    DELETE_TOTP_SINCE = "DELETE FROM totp_secrets WHERE user_id = $1 AND created_at >= $2";
}

impl Store {
    /// Whether anybody has an authenticator app.
    pub async fn has_totp(&self) -> Result<bool, Error> {
        Ok(!self.read(HAS_TOTP, []).await?.is_empty())
    }
}

/// Reads a row of the table `totp_secrets`.
pub(super) fn totp_from_row(row: &Row) -> Result<StoredTotp, Error> {
    Ok(StoredTotp {
        user_id: row.get(0)?,
        secret: row.get(1)?,
        last_step: row.get(2)?,
        created_at: row.get(3)?,
        last_used_at: row.get(4)?,
    })
}

pub(super) fn totp_values(totp: &StoredTotp) -> Vec<Value> {
    let StoredTotp { user_id, secret, last_step, created_at, last_used_at } = totp;
    vec![
        (*user_id).into(),
        secret.clone().into(),
        (*last_step).into(),
        (*created_at).into(),
        (*last_used_at).into(),
    ]
}

/// Adds the authenticator app of a user who has just been added with it. Another one with the same id stays as they are.
pub(super) fn add_imported_totp(batch: &mut StatementBatch, totp: &StoredTotp) {
    batch.add(ADD_TOTP, totp_values(totp));
    batch.add(DELETE_TOTP_OF_NONE, [totp.user_id.into()]);
}
