//! Writes mail and the one-time secrets in it, in the transaction of another write.

use super::{engine::StatementBatch, statements as sql, value::Value};
use crate::{
    clock::Timestamp,
    mail::{Mail, Mailing},
    store::{
        QueuedMail,
        outbox::{message_to_store, turn_of},
    },
    token::one_time::OneTime,
};

/// Queues the mail and adds the one-time secrets.
pub(super) fn add_mailing(batch: &mut StatementBatch, mailing: &Mailing) {
    let Mailing { mails, one_times, earlier } = mailing;
    for mail in mails {
        let turn_at = Some(turn_of(mail, *earlier));
        batch.add(sql::ADD_MAIL, mail_values(&QueuedMail::new(mail.clone()), turn_at));
    }
    for one_time in one_times {
        batch.add(sql::ADD_ONE_TIME, one_time_values(one_time));
    }
}

/// The values of a mail in the order of the columns, and its turn. Without one, it gets one when it is due.
pub(super) fn mail_values(queued: &QueuedMail, turn_at: Option<Timestamp>) -> Vec<Value> {
    let QueuedMail { mail, attempts, due_at, failure, given_up_at } = queued;
    let Mail { id, user_id, recipient, language, message, created_at, expires_at } = mail;
    vec![
        (*id).into(),
        (*user_id).into(),
        recipient.as_str().into(),
        language.tag().into(),
        message_to_store(message).into(),
        (*created_at).into(),
        (*expires_at).into(),
        (*due_at).into(),
        i64::from(*attempts).into(),
        failure.clone().into(),
        (*given_up_at).into(),
        turn_at.into(),
    ]
}

/// The values of a one-time secret in the order of the columns, and the key of its address.
pub(super) fn one_time_values(one_time: &OneTime) -> Vec<Value> {
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
    vec![
        (*id).into(),
        purpose.as_str().into(),
        (*user_id).into(),
        email.as_str().into(),
        user_email.as_str().into(),
        password_version.number().into(),
        digest.as_bytes().to_vec().into(),
        (*expires_at).into(),
        i64::from(*guesses).into(),
        email.key().as_str().into(),
    ]
}
