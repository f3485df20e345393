//! Deleting what has expired.

use super::{
    Error, Store,
    api_keys::{DELETE_EXPIRED_API_KEYS, KEEP_EXPIRED_KEYS},
    invitations::DELETE_EXPIRED_INVITATIONS,
    one_time_secrets::DELETE_EXPIRED_ONE_TIME_SECRETS,
    outbox::{DELETE_GIVEN_UP_MAIL, KEEP_GIVEN_UP},
    sessions::DELETE_EXPIRED_SESSIONS,
    trusted_devices::DELETE_EXPIRED_TRUSTED_DEVICES,
    used_codes::DELETE_EXPIRED_USED_CODES,
    value::sql_limit,
    write::StatementBatch,
};
use crate::{clock::Timestamp, session::RENEWABLE_FOR};

/// The statements that delete what has expired at $1, at most $2 rows each.
const DELETIONS: &[&str] = &[
    DELETE_EXPIRED_USED_CODES,
    DELETE_EXPIRED_ONE_TIME_SECRETS,
    DELETE_EXPIRED_INVITATIONS,
    DELETE_EXPIRED_TRUSTED_DEVICES,
];

impl Store {
    /// Deletes up to `limit` expired rows of each kind: sessions, one-time secrets, invitations, trusted devices, mail that was given
    /// up and keys that expired long ago. Returns the largest of these counts.
    pub async fn delete_expired(&self, now: Timestamp, limit: usize) -> Result<usize, Error> {
        let deleted = self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let mut counts = Vec::new();
            for sql in DELETIONS {
                counts.push(batch.add(sql, [now.into(), sql_limit(limit)]));
            }
            let sessions = [now.into(), sql_limit(limit), (now - RENEWABLE_FOR).into()];
            counts.push(batch.add(DELETE_EXPIRED_SESSIONS, sessions));
            let given_up = [(now - KEEP_GIVEN_UP).into(), sql_limit(limit)];
            counts.push(batch.add(DELETE_GIVEN_UP_MAIL, given_up));
            let expired_keys = [(now - KEEP_EXPIRED_KEYS).into(), sql_limit(limit)];
            counts.push(batch.add(DELETE_EXPIRED_API_KEYS, expired_keys));
            batch.counting(move |rows| {
                counts.into_iter().map(|count| rows.of(count)).max().unwrap_or(0)
            })
        });
        deleted.await
    }

    /// Deletes up to `limit` of the store's internal records that nothing reads any more, and returns their number.
    pub async fn delete_internal_records(&self, limit: usize) -> Result<usize, Error> {
        self.engine.delete_expired(limit).await
    }
}
