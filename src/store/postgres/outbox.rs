//! The table `outbox`.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    engine::{StatementBatch, Verdict, Write},
    mailing::add_mailing,
    row::mail_from_row,
    statements as sql,
    value::sql_limit,
};
use crate::{
    clock::Timestamp,
    mail::{MailId, Mailing},
    store::{
        ClaimedMail, Error, OutboxStore, QueuedMail,
        outbox::{MAX_TURNS, failure_to_store, turn_of},
    },
};

#[async_trait]
impl OutboxStore for PostgresStore {
    async fn queue_mail(&self, mailing: &Mailing) -> Result<(), Error> {
        let mailing = mailing.clone();
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                add_mailing(&mut batch, &mailing);
                batch.returning(())
            })
            .await
    }

    async fn claim_mail(
        &self,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<ClaimedMail>, Error> {
        self.give_turns(now).await?;
        let rows = self.engine.read(sql::READY_MAIL, [now.into(), sql_limit(limit)]).await?;
        let due = rows.iter().map(mail_from_row).collect::<Result<Vec<_>, _>>()?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let until = now + lease;
        let mut ids: Vec<_> = due.iter().map(|queued| queued.mail.id).collect();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        ids.sort_unstable();
        let claimed = self.engine.maintain(move || {
            let mut batch = StatementBatch::default();
            let claims: Vec<_> = ids
                .iter()
                .map(|id| {
                    (*id, batch.add(sql::CLAIM_MAIL, [now.into(), (*id).into(), until.into()]))
                })
                .collect();
            batch.deciding(move |rows| {
                let changed = claims.into_iter().filter(|(_, count)| rows.of(*count) > 0);
                let claimed: Vec<_> = changed.map(|(id, _)| id).collect();
                if claimed.is_empty() {
                    Verdict::RollBack(claimed)
                } else {
                    Verdict::Commit(claimed)
                }
            })
        });
        let claimed = claimed.await?;
        let ours = due.into_iter().filter(|queued| claimed.contains(&queued.mail.id));
        Ok(ours.map(ClaimedMail::from).collect())
    }

    async fn release_abandoned_mail(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn release_mail(&self, id: MailId) -> Result<(), Error> {
        self.engine.maintain(move || Write::statement(sql::RELEASE_MAIL, [id.into()], ())).await
    }

    async fn postpone_mail(
        &self,
        id: MailId,
        due_at: Timestamp,
        failure: &str,
    ) -> Result<(), Error> {
        let failure = failure_to_store(failure);
        self.engine
            .maintain(move || {
                let values = [id.into(), due_at.into(), failure.as_str().into()];
                Write::statement(sql::POSTPONE_MAIL, values, ())
            })
            .await
    }

    async fn delete_mail(&self, id: MailId) -> Result<(), Error> {
        self.engine.maintain(move || Write::statement(sql::DELETE_MAIL, [id.into()], ())).await
    }

    async fn give_up_mail(&self, id: MailId, failure: &str, now: Timestamp) -> Result<(), Error> {
        let failure = failure_to_store(failure);
        self.engine
            .maintain(move || {
                let values = [id.into(), now.into(), failure.as_str().into()];
                Write::statement(sql::GIVE_UP_MAIL, values, ())
            })
            .await
    }

    async fn mail_queue(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error> {
        // No mail has the nil id.
        let after = after.map_or(Uuid::nil(), MailId::uuid);
        let values = [after.into(), i64::MIN.into(), sql_limit(limit)];
        let rows = self.engine.read(sql::MAIL_QUEUE, values).await?;
        rows.iter().map(mail_from_row).collect()
    }

    async fn retry_mail(&self, now: Timestamp) -> Result<usize, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let retried = batch.add(sql::RETRY_MAIL, [now.into()]);
                batch.counting(move |rows| rows.of(retried))
            })
            .await
    }
}

impl PostgresStore {
    /// Gives a turn to mail whose next attempt is due.
    async fn give_turns(&self, now: Timestamp) -> Result<(), Error> {
        let rows =
            self.engine.read(sql::POSTPONED_MAIL, [now.into(), sql_limit(MAX_TURNS)]).await?;
        let due = rows.iter().map(mail_from_row).collect::<Result<Vec<_>, _>>()?;
        if due.is_empty() {
            return Ok(());
        }
        let mut turns: Vec<_> =
            due.iter().map(|queued| (queued.mail.id, turn_of(&queued.mail, 0))).collect();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        turns.sort_unstable();
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                for (id, turn_at) in &turns {
                    batch.add(sql::GIVE_TURN, [(*id).into(), (*turn_at).into()]);
                }
                batch.returning(())
            })
            .await
    }
}
