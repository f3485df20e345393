//! The mail in the outbox of a test, and the links and codes in it.

use std::time::Duration;

use doorward::internals::{
    Internals,
    mail::Message,
    store::QueuedMail,
    token::one_time::{OneTimeId, Purpose},
};

use crate::support::TestServer;

/// The mail in the outbox to an address, the oldest first. A second passes, so that the next mail is a later one.
pub async fn mails(server: &TestServer, to: &str) -> Vec<QueuedMail> {
    server.let_pass(Duration::from_secs(1));
    let queue = server.doorward.store().mail_queue(None, 1000).await.unwrap();
    queue.into_iter().filter(|queued| queued.mail.recipient.as_str() == to).collect()
}

/// What the mail to an address says.
pub async fn messages(server: &TestServer, to: &str) -> Vec<Message> {
    mails(server, to).await.into_iter().map(|queued| queued.mail.message).collect()
}

/// The latest one-time secret for a purpose in the mail to an address.
pub async fn one_time(server: &TestServer, to: &str, purpose: Purpose) -> OneTimeId {
    let all = messages(server, to).await;
    let latest = all.iter().rev().filter_map(one_time_in).find(|(_, other)| *other == purpose);
    latest.unwrap_or_else(|| panic!("{purpose:?} in {all:?}")).0
}

/// How many links to set a new password an address was mailed.
pub async fn reset_links(server: &TestServer, to: &str) -> usize {
    let all = messages(server, to).await;
    all.iter().filter(|message| matches!(message, Message::ResetPassword { .. })).count()
}

fn one_time_in(message: &Message) -> Option<(OneTimeId, Purpose)> {
    Some(match message {
        Message::VerifyEmail { one_time, .. } => (*one_time, Purpose::VerifyEmail),
        Message::ChangeEmail { one_time } => (*one_time, Purpose::ChangeEmail),
        Message::EmailChanged { one_time } => (*one_time, Purpose::RestoreEmail),
        Message::ResetPassword { one_time, .. } | Message::PasswordRemoved { one_time, .. } => {
            (*one_time, Purpose::ResetPassword)
        }
        Message::SignIn { one_time, .. } => (*one_time, Purpose::SignIn),
        Message::Invitation { one_time, .. } => (*one_time, Purpose::Invitation),
        _ => return None,
    })
}
