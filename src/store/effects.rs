//! What a write does besides its change. It is stored in the transaction of the write, and only if the write changes something.

use std::time::Duration;

use super::{
    columns::{mail_columns, one_time_columns},
    statements::statements,
    value::Value,
    write::StatementBatch,
};
use crate::{
    clock::Timestamp,
    event::Event,
    mail::{Mail, Urgency},
    token::one_time::OneTime,
};

statements! {
    /// It may run twice, because the outcome of a commit may be lost.
    ADD_ONE_TIME = concat!(
        "INSERT INTO one_time_secrets (", one_time_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING"
    );
    DELETE_ONE_TIME_SECRETS = "DELETE FROM one_time_secrets WHERE user_id = $1";
    DELETE_ONE_TIME_SECRETS_OF_PURPOSE = "DELETE FROM one_time_secrets WHERE user_id = $1 AND purpose = $2";
    /// It may run twice, as [`ADD_ONE_TIME`].
    ADD_MAIL = concat!(
        "INSERT INTO outbox (", mail_columns!(), ", claimed_until, turn_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12) ON CONFLICT (id) DO NOTHING"
    );
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// The mail to queue.
    pub mails: Vec<Mail>,
    /// The one-time secrets in the mail.
    pub secrets: Vec<OneTime>,
    /// How many mails the network that causes these has caused lately. Mail of others is sent first.
    pub earlier: u32,
    /// What happened, if the change is made.
    pub events: Vec<Event>,
}

impl Effects {
    pub const NONE: Self =
        Self { mails: Vec::new(), secrets: Vec::new(), earlier: 0, events: Vec::new() };

    #[must_use]
    pub fn with(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}

/// The effects of a change that causes no mail.
impl From<Event> for Effects {
    fn from(event: Event) -> Self {
        Self::NONE.with(event)
    }
}

/// A mail as an operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMail {
    pub mail: Mail,
    pub attempts: u32,
    pub due_at: Timestamp,
    /// Why the last attempt failed.
    pub failure: Option<String>,
    pub given_up_at: Option<Timestamp>,
}

impl QueuedMail {
    /// A mail that is due when it is queued.
    pub(super) fn new(mail: Mail) -> Self {
        let due_at = mail.created_at;
        Self { mail, attempts: 0, due_at, failure: None, given_up_at: None }
    }
}

/// Queues the mail and adds the one-time secrets. The events are published after the commit.
pub(super) fn add_effects(batch: &mut StatementBatch, effects: &Effects) {
    let Effects { mails, secrets, earlier, events } = effects;
    batch.follow_up(events, !mails.is_empty());
    for mail in mails {
        let turn_at = Some(turn_of(mail, *earlier));
        batch.add(ADD_MAIL, mail_values(&QueuedMail::new(mail.clone()), turn_at));
    }
    for one_time in secrets {
        batch.add(ADD_ONE_TIME, one_time_values(one_time));
    }
}

/// The values of a mail in the order of the columns, and its turn. Without one, it gets one when it is due.
pub(super) fn mail_values(queued: &QueuedMail, turn_at: Option<Timestamp>) -> Vec<Value> {
    let QueuedMail { mail, attempts, due_at, failure, given_up_at } = queued;
    let Mail { id, user_id, recipient, language, message, created_at, expires_at } = mail;
    let message =
        serde_json::to_string(message).expect("a message has no map whose keys are not texts");
    vec![
        (*id).into(),
        (*user_id).into(),
        recipient.as_str().into(),
        language.tag().into(),
        message.into(),
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

/// The column `turn_at`. Only its order matters: mail that is due is sent at once, unless another mail is due as well.
pub(super) fn turn_of(mail: &Mail, earlier: u32) -> Timestamp {
    /// Longer than any mail is tried, so that every mail of one kind comes before those of the next.
    const BETWEEN_KINDS: Duration = Duration::from_secs(24 * 60 * 60);
    /// Between two mails of a network. In this time, other networks come first with their first mail.
    const BETWEEN_MAILS: Duration = Duration::from_secs(10 * 60);
    let kinds = match mail.message.urgency() {
        Urgency::SignIn => 0,
        Urgency::Verification => 1,
        Urgency::Invitation => 2,
        Urgency::Notice => 3,
    };
    mail.created_at + (BETWEEN_KINDS * kinds + BETWEEN_MAILS * earlier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        language::Language,
        mail::{MailId, Message},
        token::one_time::OneTimeId,
        user::Email,
    };

    fn turn(message: Message, hour: u64, earlier: u32) -> Timestamp {
        let created_at = Timestamp::from_millis(0) + Duration::from_secs(hour * 60 * 60);
        let recipient = Email::parse("ada@example.com".into()).unwrap();
        let (id, language) = (MailId::random(), Language::English);
        let expires_at = created_at;
        let mail = Mail { id, user_id: None, recipient, language, message, created_at, expires_at };
        turn_of(&mail, earlier)
    }

    #[test]
    fn what_people_wait_for_comes_first() {
        let one_time = OneTimeId::random();
        let turns = [
            turn(Message::ResetPassword { one_time, target: None }, 23, 0),
            turn(Message::VerifyEmail { one_time, target: None }, 0, 0),
            turn(Message::Invitation { one_time, invited_by: None, expires_at: None }, 0, 0),
            turn(Message::PasswordChanged { at: 0 }, 0, 0),
        ];
        assert!(turns.is_sorted());
    }

    #[test]
    fn a_network_that_causes_much_mail_comes_after_others() {
        let turn = |hour, earlier| turn(Message::HasPassword, hour, earlier);
        assert!(turn(0, 0) < turn(0, 1));
        // An hour later, six mails of a flood come before the first mail of another network.
        let flood = (0..1000).filter(|earlier| turn(0, *earlier) < turn(1, 0)).count();
        assert_eq!(flood, 6);
    }
}
