//! Writes mail and the one-time secrets in it, in the transaction of another write.

use rusqlite::{Connection, params};

use crate::{
    clock::Timestamp,
    mail::{Mail, Mailing},
    store::{
        QueuedMail,
        columns::{mail_columns, one_time_columns},
        outbox::{message_to_store, turn_of},
    },
    token::one_time::OneTime,
    user::UserId,
};

/// Queues the mail and adds the one-time secrets.
pub(super) fn insert_mailing(db: &Connection, mailing: &Mailing) -> rusqlite::Result<()> {
    let Mailing { mails, one_times, earlier } = mailing;
    for mail in mails {
        insert_mail(db, &QueuedMail::new(mail.clone()), Some(turn_of(mail, *earlier)))?;
    }
    one_times.iter().try_for_each(|one_time| insert_one_time(db, one_time))
}

/// Inserts a mail unless one with this id exists, because a move may be resumed. Without a turn, it gets one when it is due.
pub(super) fn insert_mail(
    db: &Connection,
    queued: &QueuedMail,
    turn_at: Option<Timestamp>,
) -> rusqlite::Result<()> {
    let QueuedMail { mail, attempts, due_at, failure, given_up_at } = queued;
    let Mail { id, user_id, recipient, language, message, created_at, expires_at } = mail;
    db.prepare_cached(concat!(
        "INSERT INTO outbox (",
        mail_columns!(),
        ", claimed_until, turn_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12)
         ON CONFLICT (id) DO NOTHING"
    ))?
    .execute(params![
        id,
        user_id,
        recipient.as_str(),
        language.tag(),
        message_to_store(message),
        created_at.millis(),
        expires_at.millis(),
        due_at.millis(),
        attempts,
        failure,
        given_up_at.map(Timestamp::millis),
        turn_at.map(Timestamp::millis),
    ])
    .map(drop)
}

/// Inserts a one-time secret unless one with this id exists, because a move may be resumed.
pub(super) fn insert_one_time(db: &Connection, one_time: &OneTime) -> rusqlite::Result<()> {
    let OneTime {
        id,
        purpose,
        user_id,
        email,
        user_email,
        password_version,
        digest,
        expires_at,
        guesses,
    } = one_time;
    db.prepare_cached(concat!(
        "INSERT INTO one_times (",
        one_time_columns!(""),
        ", email_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING"
    ))?
    .execute(params![
        id,
        purpose.as_str(),
        user_id,
        email.as_str(),
        user_email.as_str(),
        password_version.number(),
        digest.as_bytes(),
        expires_at.millis(),
        guesses,
        email.key().as_str(),
    ])
    .map(drop)
}

/// Deletes all mail to a user and all their one-time secrets.
pub(super) fn delete_mailings(db: &Connection, user: UserId) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM outbox WHERE user_id = ?1")?.execute([user])?;
    delete_one_times(db, user)
}

pub(super) fn delete_one_times(db: &Connection, user: UserId) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM one_times WHERE user_id = ?1")?.execute([user]).map(drop)
}
