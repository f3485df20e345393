//! Whether whoever has ordered a write still has the right to it: a statement of the write itself, which changes one row if they have.
//! On PostgreSQL it locks that row, so that a session or a key does not end before the write is committed.

use super::{statements::statements, value::Value};
use crate::{clock::Timestamp, event::Right};

statements! {
    SESSION_GIVES_RIGHT =
        "UPDATE sessions SET last_seen_at = last_seen_at WHERE id = $1 AND user_id = $2 AND \
         EXISTS (SELECT 1 FROM users u WHERE u.id = $2 AND u.roles = $3)";
    MACHINE_KEY_GIVES_RIGHT =
        "UPDATE api_keys SET last_used_at = last_used_at WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2";
    PERSONAL_KEY_GIVES_RIGHT =
        "UPDATE api_keys SET last_used_at = last_used_at WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2 AND \
         EXISTS (SELECT 1 FROM users u WHERE u.id = $3 AND u.roles = $4 AND u.disabled = $5)";
}

/// The statement that asks for a right.
pub(super) fn right_statement(right: &Right, now: Timestamp) -> (&'static str, Vec<Value>) {
    match right {
        Right::Session { session, user, roles } => {
            let values = [(*session).into(), (*user).into(), roles.to_text().into()];
            (SESSION_GIVES_RIGHT, values.into())
        }
        Right::Key { key, owner: None } => {
            (MACHINE_KEY_GIVES_RIGHT, [(*key).into(), now.into()].into())
        }
        Right::Key { key, owner: Some((owner, roles)) } => {
            let owner = [(*owner).into(), roles.to_text().into(), false.into()];
            let key = [(*key).into(), now.into()];
            (PERSONAL_KEY_GIVES_RIGHT, key.into_iter().chain(owner).collect())
        }
    }
}
