//! Recovery codes, which stand in for a second factor: the table `recovery_codes`, and the sessions that were opened with one.

use uuid::Uuid;

use super::{
    session_proofs::{end_sessions_with, pattern_of},
    statements::statements,
    write::StatementBatch,
};
use crate::{
    clock::Timestamp,
    session::{Method, SessionId},
    user::{FactorId, RecoveryDigest, UserId},
};

/// No factor of the user $1 is left.
macro_rules! none_left {
    () => {
        "NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1) AND \
         NOT EXISTS (SELECT 1 FROM totp_secrets t WHERE t.user_id = $1)"
    };
}

statements! {
    RECOVERY_CODES_BY_USER = "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1";
    ADD_RECOVERY_CODE =
        "INSERT INTO recovery_codes (id, user_id, digest, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
    USE_RECOVERY_CODE = "DELETE FROM recovery_codes WHERE user_id = $1 AND digest = $2";
    DELETE_RECOVERY_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
    DELETE_RECOVERY_CODES_SINCE = "DELETE FROM recovery_codes WHERE user_id = $1 AND created_at >= $2";
    /// Without a second factor, nothing stands in for it.
    DELETE_RECOVERY_CODES_OF_NONE =
        concat!("DELETE FROM recovery_codes WHERE user_id = $1 AND ", none_left!());
    /// If no factor is left, also of the session that goes on.
    END_TOKENS_OF_NONE_WITH = concat!(
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND ' ' || methods LIKE $2 AND ", none_left!(), " ON CONFLICT (token_id) DO NOTHING"
    );
    END_SESSIONS_OF_NONE_WITH = concat!(
        "DELETE FROM sessions WHERE user_id = $1 AND id <> $2 AND ' ' || methods LIKE $3 AND ", none_left!()
    );
}

/// Each with an id of its own. A write may run twice, and must then add the same rows.
pub(super) fn with_ids(codes: &[RecoveryDigest]) -> Vec<(FactorId, RecoveryDigest)> {
    codes.iter().map(|code| (FactorId::random(), *code)).collect()
}

/// Replaces all recovery codes of a user, and ends the sessions but `kept` that were opened with an earlier one.
pub(super) fn replace_recovery_codes(
    batch: &mut StatementBatch,
    user: UserId,
    codes: &[(FactorId, RecoveryDigest)],
    kept: Option<SessionId>,
    change_id: Uuid,
    now: Timestamp,
) {
    end_sessions_with(batch, user, &[Method::RecoveryCode], kept, change_id, now);
    set_recovery_codes(batch, user, codes, now);
}

pub(super) fn set_recovery_codes(
    batch: &mut StatementBatch,
    user: UserId,
    codes: &[(FactorId, RecoveryDigest)],
    now: Timestamp,
) {
    batch.add(DELETE_RECOVERY_CODES, [user.into()]);
    for (id, digest) in codes {
        let values = [(*id).into(), user.into(), digest.to_vec().into(), now.into()];
        batch.add(ADD_RECOVERY_CODE, values);
    }
}

/// Ends the sessions of a user but `keep` that rest on a recovery code, if no factor is left that it could stand in for. The token of
/// the kept one is ended for those who verify it by themselves.
pub(super) fn end_recovered_sessions_of_none(
    batch: &mut StatementBatch,
    user: UserId,
    keep: SessionId,
    change_id: Uuid,
    now: Timestamp,
) {
    let pattern = || pattern_of(Method::RecoveryCode);
    batch.add(END_TOKENS_OF_NONE_WITH, [user.into(), pattern(), change_id.into(), now.into()]);
    batch.add(END_SESSIONS_OF_NONE_WITH, [user.into(), keep.into(), pattern()]);
}
