//! Whether whoever has ordered a write still has the right to it: statements of the write itself, each of which changes one row if they
//! have. On PostgreSQL they lock these rows, so that no role, session or key ends before the write is committed. A condition on another
//! table would lock nothing.

use super::{statements::statements, value::Value};
use crate::{
    clock::Timestamp,
    event::Right,
    user::{Roles, UserId},
};

statements! {
    HAS_ROLES =
        "UPDATE users SET updated_at = updated_at WHERE id = $1 AND roles = $2 AND disabled = $3";
    HAS_SESSION =
        "UPDATE sessions SET last_seen_at = last_seen_at WHERE id = $1 AND user_id = $2";
    HAS_KEY =
        "UPDATE api_keys SET last_used_at = last_used_at WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2";
}

/// The statements that ask for a right. Users come first, as in other writes.
pub(super) fn right_statements(right: &Right, now: Timestamp) -> Vec<(&'static str, Vec<Value>)> {
    match right {
        Right::Session { session, user, roles } => {
            let values = [(*session).into(), (*user).into()];
            vec![has_roles(*user, roles), (HAS_SESSION, values.into())]
        }
        Right::Key { key, owner } => {
            let owner = owner.as_ref().map(|(owner, roles)| has_roles(*owner, roles));
            let key = (HAS_KEY, [(*key).into(), now.into()].into());
            owner.into_iter().chain([key]).collect()
        }
    }
}

fn has_roles(user: UserId, roles: &Roles) -> (&'static str, Vec<Value>) {
    let values: [Value; 3] = [user.into(), roles.to_text().into(), false.into()];
    (HAS_ROLES, values.into())
}
