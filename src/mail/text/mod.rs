//! The words of mails. A text stands in one place in every language, so that a missing translation does not compile.

mod account;
mod factors;

use std::time::Duration;

use super::message::{DeletedBy, EndedBy};
use crate::language::{Language, texts};

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

texts! {
    /// Every text of mails in one language. The name of the service is the first parameter of each letter.
    pub struct Texts {
        link_in_full:
            "If the button does not work, open this link:",
            "Wenn die Schaltfläche nicht funktioniert, öffnen Sie diesen Link:";
        code_beside_link:
            "Or type this code where you are asked for it:",
            "Oder geben Sie diesen Code ein, wo Sie danach gefragt werden:";
        code_alone: "Type this code in the app:", "Geben Sie diesen Code in der App ein:";
        time: "Time", "Zeit";
    }

    impl Texts {
        validity_of_both(time: &str):
            "The link and the code work once, for {time}.",
            "Link und Code gelten einmal und {time} lang.";
        validity_of_link(time: &str):
            "The link works once, for {time}.",
            "Der Link gilt einmal und {time} lang.";
        validity_of_code(time: &str):
            "The code works once, for {time}.",
            "Der Code gilt einmal und {time} lang.";
        /// Why a mail came.
        your_account(service: &str):
            "You receive this mail because your account at {service} has this address.",
            "Sie erhalten diese Mail, weil Ihr Konto bei {service} diese Adresse hat.";
        former_address(service: &str):
            "You receive this mail because this was the address of your account at {service}.",
            "Sie erhalten diese Mail, weil Ihr Konto bei {service} diese Adresse hatte.";
        address_entered(service: &str):
            "You receive this mail because somebody entered this address at {service}.",
            "Sie erhalten diese Mail, weil jemand diese Adresse bei {service} angegeben hat.";
        ask_why(service: &str):
            "You want to know why? Ask the people who run {service}.",
            "Sie möchten wissen, warum? Fragen Sie die Betreiber von {service}.";
        /// What stays in the audit trail stays for so many days. It begins with a space.
        for_days(days: u32): " for {days} days", " {days} Tage lang";
    }
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
            Language::English => &Self::ENGLISH,
            Language::German => &Self::GERMAN,
        }
    }

    /// How long a link or a code is valid.
    pub fn span(&self, time: Validity) -> String {
        let (count, words) = match time {
            Validity::Days(count) => (count, [("day", "days"), ("Tag", "Tage")]),
            Validity::Hours(count) => (count, [("hour", "hours"), ("Stunde", "Stunden")]),
            Validity::Minutes(count) => (count, [("minute", "minutes"), ("Minute", "Minuten")]),
        };
        let (one, several) = self.choose(words);
        format!("{count} {}", if count == 1 { one } else { several })
    }

    fn choose<T>(&self, texts: [T; 2]) -> T {
        self.language.choose(texts)
    }

    fn say(&self, texts: [&str; 2]) -> String {
        self.choose(texts).to_owned()
    }

    /// When something happened, as the only fact.
    fn at(&self, time: String) -> Vec<(&'static str, String)> {
        vec![(self.time, time)]
    }

    fn attempt(&self, Attempt { device, address, time }: Attempt) -> Vec<(&'static str, String)> {
        vec![
            (self.choose(["Device", "Gerät"]), device),
            (self.choose(["Network address", "Netzwerkadresse"]), address),
            (self.time, time),
        ]
    }
}
