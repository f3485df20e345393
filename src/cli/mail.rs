//! `doorward mail …`: tests the way of mail, shows what waits, and tries it again.

use anyhow::{anyhow, bail};
use axum::http::Method;

use super::{Output, block_on, counted, print_json};
use crate::{
    Settings,
    clock::Clock,
    config::SettingsError,
    control::{self, AdminClient},
    http::api::admin::mail::{self, MailRetried, Mails},
    mail::{MailId, SendError, Transport, test_mail},
    user::Email,
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward mail test ada@example.com
  doorward mail queue";

const PATH: &str = "/api/admin/mail";

#[derive(clap::Subcommand)]
pub(super) enum Mail {
    /// Send a test mail from here with these settings, and show each step and what failed
    #[command(after_help = "Examples:\n  doorward mail test ada@example.com")]
    Test {
        /// E-mail address
        address: String,
    },
    /// List mail that waits or was given up, the oldest first
    #[command(after_help = "Examples:\n  doorward mail queue\n  doorward mail queue --json")]
    Queue(Output),
    /// Send all mail now that waits or was given up and has not expired
    #[command(after_help = "Examples:\n  doorward mail retry")]
    Retry(Output),
}

impl Mail {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        matches!(self, Self::Retry(_))
    }

    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        block_on(async {
            match self {
                Self::Test { address } => test(&settings, address).await,
                Self::Queue(output) => queue(settings, &output).await,
                Self::Retry(output) => {
                    let client = AdminClient::open(settings).await?;
                    let path = format!("{PATH}/retry");
                    let retried: MailRetried = client.order(Method::POST, &path, &()).await?;
                    if output.json {
                        return print_json(&retried);
                    }
                    let due = counted(retried.mails_due, "mail is due now", "mails are due now");
                    print_line!("{due}");
                    Ok(())
                }
            }
        })
    }
}

async fn test(settings: &Settings, address: String) -> anyhow::Result<()> {
    let mail = &settings.mail;
    let (Some(url), Some(from)) = (&mail.url, &mail.from) else {
        bail!(
            "mail is not configured: set mail.url, such as smtps://mail.example.com, and mail.from"
        );
    };
    let Ok(to) = Email::parse(address.clone()) else {
        return Err(SettingsError::new(format!("\"{address}\" is not an e-mail address")).into());
    };
    print_line!("sending to {} by {url}", to.as_str());
    let progress = Box::new(|step: &str| print_line!("  {step}"));
    let mut transport = Transport::new(mail)?.with_progress(progress);
    let (id, name) = (MailId::random(), settings.service_name());
    let composed = test_mail(id, name, from, mail.reply_to.as_ref(), to.as_str())?;
    match transport.send(id, Clock::system().now(), composed).await {
        Ok(()) => {
            print_line!("the mail was taken");
            Ok(())
        }
        Err(error) => {
            let advice = match &error {
                SendError::Lost(_) => {
                    "the connection ended before the server confirmed the mail, which may arrive or not"
                }
                other => other.failure().step.advice(),
            };
            Err(anyhow!("the mail was not taken: {}\n{advice}", error.failure()))
        }
    }
}

async fn queue(settings: Settings, output: &Output) -> anyhow::Result<()> {
    let client = AdminClient::open(settings).await?;
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let Mails { mails, next } = page(&client, after).await?;
        match output.json {
            true => all.extend(mails),
            false => mails.iter().for_each(print),
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    if output.json { print_json(&all) } else { Ok(()) }
}

/// Mail after the one with this id, the oldest first.
pub(super) async fn page(
    client: &AdminClient,
    after: Option<MailId>,
) -> Result<Mails, control::Error> {
    let query = after.map(|id| format!("?after={id}")).unwrap_or_default();
    client.get(&format!("{PATH}{query}")).await
}

fn print(mail: &mail::Mail) {
    let mail::Mail { id, address, message, age_seconds, attempts, .. } = mail;
    let state = match (&mail.given_up_at, &mail.next_attempt_at) {
        (Some(at), _) => format!("given up {at}"),
        (None, Some(at)) => format!("next attempt {at}"),
        (None, None) => String::new(),
    };
    let attempts = counted(*attempts as usize, "attempt", "attempts");
    print_line!("{id}  {address}  {message}  {} old, {attempts}, {state}", age(*age_seconds));
    if let Some(failure) = &mail.failure {
        print_line!("  {failure}");
    }
}

/// An age in the largest unit that it fills.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => counted(usize::try_from(seconds / 86_400).unwrap_or(usize::MAX), "day", "days"),
    }
}
