//! Mail: whether it is configured where something needs it, whether its server answers, and what waits.

use super::{
    super::mail::page,
    finding::{Kind, Report},
};
use crate::{
    Settings,
    access::registration::InvitationPolicy,
    control::AdminClient,
    http::api::admin::mail::{Mail, Mails},
    mail::Transport,
};

/// Longer than a mail server that postpones new senders needs.
const LONG_WAIT_SECONDS: u64 = 15 * 60;

pub(super) async fn check(report: &mut Report, settings: &Settings, client: Option<&AdminClient>) {
    let Some(url) = &settings.mail.url else {
        report.checked("mail is not configured");
        check_missing(report, settings);
        return;
    };
    let connected = match Transport::new(&settings.mail) {
        Ok(transport) => transport
            .check()
            .await
            .map_err(|failure| (failure.to_string(), failure.step.advice().to_owned())),
        Err(error) => Err((error.to_string(), "correct this setting".to_owned())),
    };
    match connected {
        Ok(()) => report.checked(format!("mail server {url} answers")),
        Err((problem, advice)) => {
            report.add(Kind::MailUnreachable, format!("mail server {url}: {problem}"), advice);
        }
    }
    if let Some(client) = client {
        check_queue(report, &queue(client).await);
    }
}

/// Finds settings that need mail.
fn check_missing(report: &mut Report, settings: &Settings) {
    let set = "set mail.url and mail.from";
    let verifies =
        |guard: &&crate::access::guard::Guard| guard.condition.text().contains("emailVerified");
    if let Some(guard) = settings.guards.iter().find(verifies) {
        report.add(
            Kind::MailMissing,
            format!(
                "guard {} needs verified e-mail addresses, and nobody can verify one without mail",
                guard.name
            ),
            format!("{set}, or verify addresses yourself: doorward user verify ADDRESS"),
        );
    }
    if settings.invitations != InvitationPolicy::default() {
        report.add(
            Kind::MailMissing,
            "invitations.allow lets users invite others, and invitations are sent by mail",
            set,
        );
    }
}

async fn queue(client: &AdminClient) -> Vec<Mail> {
    /// Enough to know that there is trouble.
    const MAX_PAGES: usize = 5;
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let Ok(Mails { mails, next }) = page(client, after).await else { break };
        all.extend(mails);
        after = next;
        if after.is_none() {
            break;
        }
    }
    all
}

fn check_queue(report: &mut Report, mails: &[Mail]) {
    let given_up = mails.iter().filter(|mail| mail.given_up_at.is_some()).count();
    let is_late = |mail: &&Mail| mail.given_up_at.is_none() && mail.age_seconds > LONG_WAIT_SECONDS;
    let late = mails.iter().filter(is_late).count();
    report.checked(format!("mail queue: {} wait, {given_up} given up", mails.len() - given_up));
    let show = "`doorward mail queue` shows why, `doorward mail retry` sends it again";
    if late > 0 {
        let minutes = LONG_WAIT_SECONDS / 60;
        report.add(
            Kind::MailWaiting,
            format!("{late} mails wait for more than {minutes} minutes"),
            show,
        );
    }
    if given_up > 0 {
        report.add(
            Kind::MailGivenUp,
            format!("{given_up} mails were given up in the last 30 days"),
            show,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Timestamp, mail::MailId};

    fn mail(age_seconds: u64, given_up: bool) -> Mail {
        Mail {
            id: MailId::random(),
            address: String::new(),
            message: String::new(),
            user: None,
            created_at: Timestamp::from_seconds(0),
            age_seconds,
            expires_at: Timestamp::from_seconds(0),
            attempts: 0,
            next_attempt_at: None,
            given_up_at: given_up.then_some(Timestamp::from_seconds(0)),
            failure: None,
        }
    }

    #[test]
    fn mail_that_waits_long_or_was_given_up_is_found() {
        for (mails, found) in [
            (vec![], ""),
            (vec![mail(60, false)], ""),
            (vec![mail(3600, false)], "mail-waiting"),
            (vec![mail(3600, true)], "mail-given-up"),
        ] {
            let mut report = Report::default();
            check_queue(&mut report, &mails);
            assert_eq!(report.names().concat(), found);
        }
    }
}
