//! `/admin/mail`: mail that waits or was given up.

use axum::response::Response;

use super::{
    super::{
        text::Done,
        view::{MailQueue, Place},
    },
    AdminVisit, PAGE_ROWS,
};
use crate::{
    access::scope::Scope,
    account::{self, mail_queue, order::RetryMail},
    http::{Error, admin::MailRead},
};

const MAIL: &str = "/admin/mail";

pub(in crate::http) async fn show(visit: AdminVisit<MailRead>) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let after = visit.parameter("after").and_then(|after| after.parse().ok());
    let page = match mail_queue::page(doorward, after, PAGE_ROWS).await {
        Ok(page) => Some(page),
        Err(account::Error::MailNotConfigured) => None,
        Err(error) => return Err(error.into()),
    };
    let next = page.as_ref().and_then(|page| page.next);
    let view = MailQueue {
        page: visit.context(),
        frame: visit.frame(Place::Mail, None),
        now: doorward.now(),
        mails: page.as_ref().map(|page| &*page.mails),
        next: next.map(|next| format!("{}{MAIL}?after={next}", visit.context().base)),
        may_write: visit.may(Scope::MailWrite),
    };
    Ok(visit.admin_page(&view, None))
}

/// `POST /admin/mail/retry`
pub(in crate::http) async fn retry(visit: AdminVisit<RetryMail>) -> Result<Response, Error> {
    match mail_queue::retry(visit.doorward(), &visit.by).await {
        Ok(_) => Ok(visit.done(MAIL, Done::MailRetried)),
        // The page says so.
        Err(account::Error::MailNotConfigured) => Ok(visit.redirect(MAIL)),
        Err(error) => Err(error.into()),
    }
}
