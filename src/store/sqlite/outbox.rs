//! The table `outbox`.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::{SqliteStore, mailing::insert_mailing, row::mail_from_row, sql_limit};
use crate::{
    clock::Timestamp,
    mail::{MailId, Mailing},
    store::{
        ClaimedMail, Error, KEEP_GIVEN_UP, OutboxStore, QueuedMail,
        columns::mail_columns,
        outbox::{MAX_TURNS, failure_to_store, turn_of},
    },
};

#[async_trait]
impl OutboxStore for SqliteStore {
    async fn queue_mail(&self, mailing: &Mailing) -> Result<(), Error> {
        let mailing = mailing.clone();
        self.engine.write(None, move |db| insert_mailing(db, &mailing)).await
    }

    async fn claim_mail(
        &self,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<ClaimedMail>, Error> {
        let is_due = move |db: &Connection| {
            Ok(!ready_mail(db, now, 1)?.is_empty() || !postponed_mail(db, now, 1)?.is_empty())
        };
        if !self.engine.read(is_due).await? {
            return Ok(Vec::new());
        }
        self.engine
            .write(None, move |db| {
                let mut give_turn =
                    db.prepare_cached("UPDATE outbox SET turn_at = ?2 WHERE id = ?1")?;
                for QueuedMail { mail, .. } in postponed_mail(db, now, MAX_TURNS)? {
                    give_turn.execute(params![mail.id, turn_of(&mail, 0).millis()])?;
                }
                let due = ready_mail(db, now, limit)?;
                let mut claim =
                    db.prepare_cached("UPDATE outbox SET claimed_until = ?2 WHERE id = ?1")?;
                for QueuedMail { mail, .. } in &due {
                    claim.execute(params![mail.id, (now + lease).millis()])?;
                }
                Ok(due.into_iter().map(ClaimedMail::from).collect())
            })
            .await
    }

    async fn release_abandoned_mail(&self) -> Result<(), Error> {
        self.engine
            .write(None, |db| {
                db.execute("UPDATE outbox SET claimed_until = 0 WHERE claimed_until <> 0", [])
                    .map(drop)
            })
            .await
    }

    async fn release_mail(&self, id: MailId) -> Result<(), Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached("UPDATE outbox SET claimed_until = 0 WHERE id = ?1")?
                    .execute([id])
                    .map(drop)
            })
            .await
    }

    async fn postpone_mail(
        &self,
        id: MailId,
        due_at: Timestamp,
        failure: &str,
    ) -> Result<(), Error> {
        let failure = failure_to_store(failure);
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "UPDATE outbox SET claimed_until = 0, turn_at = NULL, due_at = ?2,
                         attempts = attempts + 1, failure = ?3
                     WHERE id = ?1",
                )?
                .execute(params![id, due_at.millis(), failure])
                .map(drop)
            })
            .await
    }

    async fn delete_mail(&self, id: MailId) -> Result<(), Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached("DELETE FROM outbox WHERE id = ?1")?.execute([id]).map(drop)
            })
            .await
    }

    async fn give_up_mail(&self, id: MailId, failure: &str, now: Timestamp) -> Result<(), Error> {
        let failure = failure_to_store(failure);
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "UPDATE outbox SET claimed_until = 0, given_up_at = ?2, failure = ?3,
                         attempts = attempts + (expires_at > ?2)
                     WHERE id = ?1",
                )?
                .execute(params![id, now.millis(), failure])
                .map(drop)
            })
            .await
    }

    async fn mail_queue(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error> {
        // No mail has the nil id.
        let after = after.unwrap_or(MailId::from_uuid(Uuid::nil()));
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    mail_columns!(),
                    " FROM outbox WHERE (created_at, id) >
                         (COALESCE((SELECT a.created_at FROM outbox a WHERE a.id = ?1), ?2), ?1)
                     ORDER BY created_at, id LIMIT ?3"
                ))?
                .query_map(params![after, i64::MIN, sql_limit(limit)], mail_from_row)?
                .collect()
            })
            .await
    }

    async fn retry_mail(&self, now: Timestamp) -> Result<usize, Error> {
        self.engine
            .write(None, move |db| {
                db.prepare_cached(
                    "UPDATE outbox SET due_at = ?1, given_up_at = NULL WHERE expires_at > ?1",
                )?
                .execute([now.millis()])
            })
            .await
    }
}

/// Mail that is not claimed and has a turn, in this order. The order names `given_up_at`, which is null in every row, because the
/// index starts with it. A comparison excludes null.
fn ready_mail(db: &Connection, now: Timestamp, limit: usize) -> rusqlite::Result<Vec<QueuedMail>> {
    db.prepare_cached(concat!(
        "SELECT ",
        mail_columns!(),
        " FROM outbox WHERE given_up_at IS NULL AND turn_at >= 0 AND claimed_until <= ?1
         ORDER BY given_up_at, turn_at, due_at, id LIMIT ?2"
    ))?
    .query_map(params![now.millis(), sql_limit(limit)], mail_from_row)?
    .collect()
}

/// Mail without a turn whose next attempt is due, the longest due first.
fn postponed_mail(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<QueuedMail>> {
    db.prepare_cached(concat!(
        "SELECT ",
        mail_columns!(),
        " FROM outbox WHERE given_up_at IS NULL AND turn_at IS NULL AND due_at <= ?1
         ORDER BY given_up_at, turn_at, due_at, id LIMIT ?2"
    ))?
    .query_map(params![now.millis(), sql_limit(limit)], mail_from_row)?
    .collect()
}

pub(super) fn delete_given_up(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM outbox WHERE id IN
             (SELECT id FROM outbox WHERE given_up_at <= ?1 LIMIT ?2)",
    )?
    .execute(params![(now - KEEP_GIVEN_UP).millis(), sql_limit(limit)])
}
