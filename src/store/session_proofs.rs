//! What sessions have proved, as the factors of their user change: the column `sessions.methods`.

use uuid::Uuid;

use super::{
    statements::statements,
    value::Value,
    write::{RowCount, StatementBatch},
};
use crate::{
    clock::Timestamp,
    id::Id,
    session::{Method, Session, SessionId},
    user::UserId,
};

// A session gets a later `authenticated_at` whenever it gains or loses a proof. So one of another time has other proofs than its
// caller was judged by: of two removals at the same time that rest on one proof, the second is refused.
statements! {
    END_REPLACED_TOKEN =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE id = $1 AND token_id = $2 ON CONFLICT (token_id) DO NOTHING";
    SET_PROOFS =
        "UPDATE sessions SET token_id = $3, authenticated_at = $4, methods = $5 \
         WHERE id = $1 AND token_id = $2 AND authenticated_at = $6";
    /// $3 is a [`pattern_of`] a method.
    END_TOKENS_WITH =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $4, $5 FROM sessions \
         WHERE user_id = $1 AND id <> $2 AND ' ' || methods LIKE $3 ON CONFLICT (token_id) DO NOTHING";
    END_SESSIONS_WITH =
        "DELETE FROM sessions WHERE user_id = $1 AND id <> $2 AND ' ' || methods LIKE $3";
}

/// Sets what a session has proved, and its token, to those of `own`. Returns the count of changed sessions: 0 if it has ended, or has
/// another token or other proofs than the caller knows.
pub(super) fn set_proofs(batch: &mut StatementBatch, known: &Session, own: &Session) -> RowCount {
    let [id, replaced, token] = [known.id.into(), known.token_id.into(), own.token_id.into()];
    let (time, methods) = (own.authenticated_at.into(), own.methods.to_store().into());
    batch.add(SET_PROOFS, [id, replaced, token, time, methods, known.authenticated_at.into()])
}

/// Ends the token of a session for those who verify it by themselves: it says more than the session has proved. The session itself
/// still takes it.
pub(super) fn end_token_for_others(
    batch: &mut StatementBatch,
    session: &Session,
    change_id: Uuid,
    now: Timestamp,
) {
    let values = [session.id.into(), session.token_id.into(), change_id.into(), now.into()];
    batch.add(END_REPLACED_TOKEN, values);
}

/// Ends the sessions of a user but `keep` that have proved one of these methods.
pub(super) fn end_sessions_with(
    batch: &mut StatementBatch,
    user: UserId,
    methods: &[Method],
    keep: Option<SessionId>,
    change_id: Uuid,
    now: Timestamp,
) {
    for method in methods {
        let which = || [user.into(), kept(keep), pattern_of(*method)];
        let ended = which().into_iter().chain([change_id.into(), now.into()]);
        batch.add(END_TOKENS_WITH, Vec::from_iter(ended));
        batch.add(END_SESSIONS_WITH, which());
    }
}

/// What the methods of a session are like that has proved this one, with a blank in front: `key` is not found in `passkey`.
pub(super) fn pattern_of(method: Method) -> Value {
    format!("% {}%", method.name()).into()
}

/// The id of the session that is kept. No session has the nil id.
pub(super) fn kept(session: Option<SessionId>) -> Value {
    session.map_or(Uuid::nil(), SessionId::uuid).into()
}
