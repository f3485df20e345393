//! `/api/admin/mail`: mail that waits or was given up.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::{
        mail_queue::{self, MailPage},
        order::RetryMail,
    },
    clock::Timestamp,
    http::{
        Error,
        admin::{Admin, MailRead},
        answer::NoStore,
        form::form,
        query::{Limit, Query},
    },
    mail::MailId,
    store::QueuedMail,
    user::UserId,
};

/// A page of mail, the oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Mails {
    pub mails: Vec<Mail>,
    /// The value of `after` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<MailId>,
}

/// A mail as an administrator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "QueuedMail")]
pub struct Mail {
    /// The id, which is part of its `Message-ID`.
    pub id: MailId,
    pub address: String,
    /// What the mail is about.
    pub message: String,
    pub user: Option<UserId>,
    pub created_at: Timestamp,
    pub age_seconds: u64,
    /// When it is given up.
    pub expires_at: Timestamp,
    pub attempts: u32,
    /// When it is tried next, unless it was given up.
    pub next_attempt_at: Option<Timestamp>,
    pub given_up_at: Option<Timestamp>,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

impl Mail {
    fn new(queued: QueuedMail, now: Timestamp) -> Self {
        let QueuedMail { mail, attempts, due_at, failure, given_up_at } = queued;
        Self {
            id: mail.id,
            address: mail.recipient.as_str().to_owned(),
            message: mail.message.name().to_owned(),
            user: mail.user_id,
            created_at: mail.created_at,
            age_seconds: now.duration_since(mail.created_at).as_secs(),
            expires_at: mail.expires_at,
            attempts,
            next_attempt_at: given_up_at.is_none().then_some(due_at),
            given_up_at,
            failure,
        }
    }
}

/// How many mails are due.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MailRetried {
    pub mails_due: usize,
}

form! {
    pub(in crate::http) struct MailQuery {
        /// The `next` of the previous page.
        after: Option<MailId>,
        /// How many at most.
        limit: Limit<200, 200>,
        ..Ignored
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<MailRead>,
    query: Query<MailQuery>,
) -> Result<NoStore<Mails>, Error> {
    let MailQuery { after, limit } = query.read(&doorward)?;
    let MailPage { mails, next } = mail_queue::page(&doorward, after, limit).await?;
    let now = doorward.now();
    let mails = mails.into_iter().map(|queued| Mail::new(queued, now)).collect();
    Ok(NoStore(StatusCode::OK, Mails { mails, next }))
}

/// Makes all mail due that has not expired.
pub(in crate::http) async fn retry(
    State(doorward): State<Doorward>,
    admin: Admin<RetryMail>,
) -> Result<NoStore<MailRetried>, Error> {
    let mails_due = mail_queue::retry(&doorward, &admin).await?;
    Ok(NoStore(StatusCode::OK, MailRetried { mails_due }))
}
