//! Mail that waits to be sent: the table `outbox`.

use std::time::Duration;

use uuid::Uuid;

use super::{
    Error, Store,
    columns::mail_columns,
    effects::{ADD_MAIL, Effects, QueuedMail, add_effects, mail_values, turn_of},
    row::Row,
    statements::statements,
    value::sql_limit,
    write::{StatementBatch, Verdict, Write},
};
use crate::{
    clock::Timestamp,
    id::Id,
    language::Language,
    mail::{Mail, MailId},
    user::Email,
};

/// Mail that has a turn and that nobody has claimed at $1. A comparison excludes null.
macro_rules! is_ready {
    () => {
        "given_up_at IS NULL AND turn_at >= 0 AND claimed_until <= $1"
    };
}

/// Mail that is due, or was tried before. Other mail was queued for later.
macro_rules! was_due {
    () => {
        "(attempts > 0 OR turn_at IS NOT NULL)"
    };
}
pub(super) use was_due;

statements! {
    /// The order names `given_up_at`, which is null in every row, because the index starts with it.
    READY_MAIL = concat!(
        "SELECT ", mail_columns!(), " FROM outbox WHERE ", is_ready!(), " ORDER BY given_up_at, turn_at, due_at, id LIMIT $2"
    );
    /// Mail without a turn whose next attempt is due.
    POSTPONED_MAIL = concat!(
        "SELECT ", mail_columns!(), " FROM outbox WHERE given_up_at IS NULL AND turn_at IS NULL AND due_at <= $1 \
         ORDER BY given_up_at, turn_at, due_at, id LIMIT $2"
    );
    GIVE_TURN = "UPDATE outbox SET turn_at = $2 WHERE id = $1 AND turn_at IS NULL";
    /// Of two instances that have read the same mail, one changes a row.
    CLAIM_MAIL = concat!("UPDATE outbox SET claimed_until = $3 WHERE id = $2 AND ", is_ready!());
    RELEASE_ALL_MAIL = "UPDATE outbox SET claimed_until = 0 WHERE claimed_until <> 0";
    RELEASE_MAIL = "UPDATE outbox SET claimed_until = 0 WHERE id = $1";
    POSTPONE_MAIL =
        "UPDATE outbox SET claimed_until = 0, turn_at = NULL, due_at = $2, attempts = attempts + 1, failure = $3 WHERE id = $1";
    GIVE_UP_MAIL =
        "UPDATE outbox SET claimed_until = 0, given_up_at = $2, failure = $3, \
         attempts = attempts + CASE WHEN expires_at > $2 THEN 1 ELSE 0 END WHERE id = $1";
    HURRY_MAIL = concat!(
        "UPDATE outbox SET due_at = $2 WHERE id = $1 AND given_up_at IS NULL AND NOT ", was_due!()
    );
    DELETE_MAIL = "DELETE FROM outbox WHERE id = $1";
    MAIL_QUEUE = concat!(
        "SELECT ", mail_columns!(), " FROM outbox WHERE (created_at, id) > \
         (COALESCE((SELECT a.created_at FROM outbox a WHERE a.id = $1), $2), $1) ORDER BY created_at, id LIMIT $3"
    );
    RETRY_MAIL = concat!(
        "UPDATE outbox SET due_at = $1, given_up_at = NULL WHERE expires_at > $1 AND ", was_due!()
    );
    DELETE_GIVEN_UP_MAIL =
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE given_up_at <= $1 LIMIT $2)";
}

/// How long mail that was given up stays for the operator to see.
pub const KEEP_GIVEN_UP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The most mails whose next attempt is due that get a turn at once.
const MAX_TURNS: usize = 1000;

/// A mail that this process may send.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedMail {
    pub mail: Mail,
    /// How often it was tried before.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

impl From<QueuedMail> for ClaimedMail {
    fn from(queued: QueuedMail) -> Self {
        let QueuedMail { mail, attempts, failure, due_at: _, given_up_at: _ } = queued;
        Self { mail, attempts, failure }
    }
}

impl Store {
    /// Queues mail, and adds the one-time secrets in it. The work does not depend on whether the users exist.
    pub async fn queue_mail(&self, effects: &Effects) -> Result<(), Error> {
        let effects = effects.clone();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            add_effects(&mut batch, &effects);
            batch.returning(())
        })
        .await
    }

    /// Queues a mail that is not due before this time.
    pub async fn queue_mail_for(&self, mail: Mail, due_at: Timestamp) -> Result<(), Error> {
        let queued = QueuedMail { due_at, ..QueuedMail::new(mail) };
        self.write_uncached(move || Write::statement(ADD_MAIL, mail_values(&queued, None), ()))
            .await
    }

    /// Makes a mail due that waits for its time. Returns false if there is none.
    pub async fn hurry_mail(&self, id: MailId, now: Timestamp) -> Result<bool, Error> {
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let hurried = batch.add(HURRY_MAIL, [id.into(), now.into()]);
            batch.follow_up(&[], true);
            batch.deciding(move |rows| match rows.of(hurried) {
                0 => Verdict::RollBack(false),
                _ => Verdict::Commit(true),
            })
        })
        .await
    }

    /// Claims up to `limit` mails that are due. What people wait for comes first, and then what networks have caused that have
    /// caused little. Nobody else can claim them until `lease` has passed. Reads only, if none is due.
    pub async fn claim_mail(
        &self,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<ClaimedMail>, Error> {
        self.give_turns(now).await?;
        let rows = self.read(READY_MAIL, [now.into(), sql_limit(limit)]).await?;
        let due = rows.iter().map(mail_from_row).collect::<Result<Vec<_>, _>>()?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let until = now + lease;
        let mut ids: Vec<_> = due.iter().map(|queued| queued.mail.id).collect();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        ids.sort_unstable();
        let claimed = self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let claims: Vec<_> = ids
                .iter()
                .map(|id| (*id, batch.add(CLAIM_MAIL, [now.into(), (*id).into(), until.into()])))
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

    /// Gives a turn to mail whose next attempt is due.
    async fn give_turns(&self, now: Timestamp) -> Result<(), Error> {
        let rows = self.read(POSTPONED_MAIL, [now.into(), sql_limit(MAX_TURNS)]).await?;
        let due = rows.iter().map(mail_from_row).collect::<Result<Vec<_>, _>>()?;
        if due.is_empty() {
            return Ok(());
        }
        let mut turns: Vec<_> =
            due.iter().map(|queued| (queued.mail.id, turn_of(&queued.mail, 0))).collect();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        turns.sort_unstable();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            for (id, turn_at) in &turns {
                batch.add(GIVE_TURN, [(*id).into(), (*turn_at).into()]);
            }
            batch.returning(())
        })
        .await
    }

    /// Releases the claims of processes that have ended. For a database with one instance: those of all earlier processes. For
    /// one with several: none, because the leases end by themselves.
    pub async fn release_abandoned_mail(&self) -> Result<(), Error> {
        if self.is_shared() {
            return Ok(());
        }
        self.write_uncached(|| Write::statement(RELEASE_ALL_MAIL, [], ())).await
    }

    /// Releases a claim of a mail that was not tried.
    pub async fn release_mail(&self, id: MailId) -> Result<(), Error> {
        self.write_uncached(move || Write::statement(RELEASE_MAIL, [id.into()], ())).await
    }

    /// Releases a claim after an attempt that failed: the mail is due at this time.
    pub async fn postpone_mail(
        &self,
        id: MailId,
        due_at: Timestamp,
        failure: &str,
    ) -> Result<(), Error> {
        let failure = failure_to_store(failure);
        self.write_uncached(move || {
            let values = [id.into(), due_at.into(), failure.as_str().into()];
            Write::statement(POSTPONE_MAIL, values, ())
        })
        .await
    }

    /// Deletes a mail that the server has taken.
    pub async fn delete_mail(&self, id: MailId) -> Result<(), Error> {
        self.write_uncached(move || Write::statement(DELETE_MAIL, [id.into()], ())).await
    }

    /// Gives a mail up. It stays for the operator to see. Counts as an attempt unless the mail has expired.
    pub async fn give_up_mail(
        &self,
        id: MailId,
        failure: &str,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<(), Error> {
        let (failure, effects) = (failure_to_store(failure), effects.clone());
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let values = [id.into(), now.into(), failure.as_str().into()];
            let given_up = batch.add(GIVE_UP_MAIL, values);
            add_effects(&mut batch, &effects);
            batch.deciding(move |rows| match rows.of(given_up) {
                0 => Verdict::RollBack(()),
                _ => Verdict::Commit(()),
            })
        })
        .await
    }

    /// Mail that waits or was given up, the oldest first, from the first one after `after`. From the oldest one if that is
    /// gone.
    pub async fn mail_queue(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error> {
        // No mail has the nil id.
        let after = after.map_or(Uuid::nil(), MailId::uuid);
        let values = [after.into(), i64::MIN.into(), sql_limit(limit)];
        let rows = self.read(MAIL_QUEUE, values).await?;
        rows.iter().map(mail_from_row).collect()
    }

    /// Makes all mail due now that waits or was given up and has not expired. Returns the number of mails.
    pub async fn retry_mail(&self, now: Timestamp) -> Result<usize, Error> {
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let retried = batch.add(RETRY_MAIL, [now.into()]);
            batch.counting(move |rows| rows.of(retried))
        })
        .await
    }
}

pub(super) fn mail_from_row(row: &Row) -> Result<QueuedMail, Error> {
    let mail = Mail {
        id: row.get(0)?,
        user_id: row.get(1)?,
        recipient: Email::from_store(row.get(2)?),
        language: Language::negotiate(Some(row.get(3)?)),
        message: serde_json::from_str(row.get(4)?).map_err(|error| Error::Failed(error.into()))?,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
    };
    Ok(QueuedMail {
        mail,
        due_at: row.get(7)?,
        attempts: u32::try_from(row.get::<i64>(8)?).unwrap_or(u32::MAX),
        failure: row.get(9)?,
        given_up_at: row.get(10)?,
    })
}

/// The column `failure`. PostgreSQL text cannot contain NUL.
fn failure_to_store(failure: &str) -> String {
    failure.replace('\0', " ")
}
