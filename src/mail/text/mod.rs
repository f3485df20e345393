//! The words of mails: one value of [`Texts`] per language, so that a missing translation does not compile.

mod de;
mod en;

use std::time::Duration;

use super::message::{DeletedBy, EndedBy};
use crate::{credential::factor::FactorKind, language::Language};

/// What a mail says, without its link and its code.
pub struct Letter {
    pub subject: String,
    pub heading: &'static str,
    pub paragraphs: Vec<String>,
    /// What happened, as a list of names and values.
    pub facts: Vec<(&'static str, String)>,
    /// The words of the button.
    pub button: &'static str,
    /// What to do if it was not the recipient.
    pub not_you: String,
    /// Why this mail came.
    pub reason: String,
}

/// Every text of mails in one language. The name of the service is the first parameter of each letter.
pub struct Texts {
    pub language: Language,
    pub link_in_full: &'static str,
    pub code_beside_link: &'static str,
    pub code_alone: &'static str,
    pub validity_of_both: fn(Validity) -> String,
    pub validity_of_link: fn(Validity) -> String,
    pub validity_of_code: fn(Validity) -> String,

    pub verify_email: fn(&str) -> Letter,
    pub change_email: fn(&str) -> Letter,
    pub email_changed: fn(&str) -> Letter,
    pub reset_password: fn(&str) -> Letter,
    pub sign_in: fn(&str) -> Letter,
    pub has_password: fn(&str) -> Letter,
    pub already_registered: fn(&str) -> Letter,
    pub invitation: fn(&str, Invitation<'_>) -> Letter,
    pub new_sign_in: fn(&str, Attempt) -> Letter,
    /// With the time.
    pub password_changed: fn(&str, String) -> Letter,
    pub sessions_ended: fn(&str, EndedBy, String) -> Letter,
    pub account_deleted: fn(&str, DeletedBy, Option<u32>, String) -> Letter,
    pub factor_added: fn(&str, FactorKind, String) -> Letter,
    pub factor_removed: fn(&str, FactorKind, String) -> Letter,
    pub recovery_codes_replaced: fn(&str, String) -> Letter,
    /// With the number of codes that are left.
    pub recovery_code_used: fn(&str, usize, String) -> Letter,
    pub factor_refused: fn(&str, Attempt) -> Letter,
    pub factors_reset: fn(&str, String) -> Letter,
    pub factor_reset_link: fn(&str, String) -> Letter,
    pub key_created: fn(&str, String) -> Letter,
    pub account_secured: fn(&str, String) -> Letter,
    pub password_removed: fn(&str, String) -> Letter,
}

/// An invitation, in words.
pub struct Invitation<'a> {
    /// The address of the user who invites. Without one, it is the operator.
    pub from: Option<&'a str>,
    /// The time until which it is valid.
    pub until: Option<String>,
}

/// How long a link and its code are valid, in its largest unit.
#[derive(Clone, Copy)]
pub enum Validity {
    Days(u64),
    Hours(u64),
    Minutes(u64),
}

impl From<Duration> for Validity {
    fn from(time: Duration) -> Self {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 60 * MINUTE;
        const DAY: u64 = 24 * HOUR;
        match time.as_secs() {
            seconds @ DAY.. => Self::Days(seconds / DAY),
            seconds @ HOUR.. => Self::Hours(seconds / HOUR),
            seconds => Self::Minutes(seconds / MINUTE),
        }
    }
}

/// A sign-in, or an attempt to sign in, in words.
pub struct Attempt {
    pub device: String,
    pub address: String,
    pub time: String,
}

impl Texts {
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &en::TEXTS,
            Language::German => &de::TEXTS,
        }
    }
}
