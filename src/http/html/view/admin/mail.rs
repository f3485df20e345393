//! Mail that waits or was given up.

use askama::Template;

use super::{
    super::PageContext,
    frame::Frame,
    parts::{Cell, Confirm, List, Moment, Tag},
};
use crate::{clock::Timestamp, store::QueuedMail};

/// Mail that waits or was given up.
#[derive(Template)]
#[template(path = "admin/mail.html", whitespace = "minimize")]
pub struct MailQueue<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub now: Timestamp,
    /// `None` if the service sends no mail.
    pub mails: Option<&'a [QueuedMail]>,
    /// The address of the next page.
    pub next: Option<String>,
    pub may_write: bool,
}

impl MailQueue<'_> {
    fn list(&self) -> List<'_> {
        let t = self.page.texts();
        let a = &t.admin;
        let row = |queued: &QueuedMail| {
            let state = match queued.given_up_at {
                Some(_) => Tag::bad(a.given_up),
                None => Tag::plain(a.waits),
            };
            let message = queued.mail.message.name().to_owned();
            vec![
                Cell::Noted(queued.mail.recipient.as_str().into(), message),
                Cell::Tags(vec![state]),
                Cell::Text(a.attempts(queued.attempts)),
                Cell::Time(Moment::past(t, queued.mail.created_at, self.now)),
                Cell::text_or_nothing(queued.failure.clone().unwrap_or_default()),
            ]
        };
        let columns = vec![a.recipient, a.state, a.attempts_column, a.created, a.failure];
        let rows = self.mails.unwrap_or_default().iter().map(row).collect();
        let empty = if self.mails.is_some() { a.no_mail } else { a.mail_not_configured };
        List::new(columns, rows, empty).followed_by(self.next.clone(), t)
    }

    fn retry(&self) -> Option<Confirm<'_>> {
        let a = &self.page.texts().admin;
        let retry = || {
            let action = format!("{}/admin/mail/retry", self.page.base);
            Confirm::new(action, a.retry_mail, a.retry_mail_question)
        };
        let has_mail = self.mails.is_some_and(|mails| !mails.is_empty());
        (self.may_write && has_mail).then(retry)
    }
}
