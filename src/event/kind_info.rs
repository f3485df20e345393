//! What is known of each kind of event: the columns of the table in `kind_table.rs`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{details::Details, ocsf_type::OcsfType};
use crate::language::{Language, Text};

/// What is known of a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// Its name in the audit trail.
    pub name: &'static str,
    pub group: EventGroup,
    pub ocsf: OcsfType,
    /// `None` if whoever causes the event writes the line, or if the line of another event tells of it.
    pub log: Option<LogLine>,
    /// What it means, as half a sentence.
    pub meaning: &'static str,
    /// What it is called on pages.
    pub title: Text,
    pub outcome: EventOutcome,
    /// How serious it is for whoever watches many systems, if that does not follow from the outcome.
    pub severity: Option<Severity>,
    /// What has happened, for programs, if they need not tell this kind from others.
    shared_type: Option<&'static str>,
    /// Puts the details of a record into a sentence.
    pub sentence: Option<fn(&Details<'_>, Language) -> Option<String>>,
    /// The detail that may name a person or contain their mail address. It is erased with the account.
    pub personal: Option<&'static str>,
}

impl KindInfo {
    /// What has happened, for programs. Kinds that mean the same to them have one type.
    pub fn event_type(&self) -> Cow<'static, str> {
        match self.shared_type {
            Some(shared) => shared.into(),
            None => format!("audit.{}", self.name).into(),
        }
    }
}

/// A row with what every kind has.
pub(super) const fn kind(
    name: &'static str,
    group: EventGroup,
    ocsf: OcsfType,
    log: Option<LogLine>,
    meaning: &'static str,
    title: Text,
) -> KindInfo {
    KindInfo {
        name,
        group,
        ocsf,
        log,
        meaning,
        title,
        outcome: EventOutcome::Success,
        severity: None,
        shared_type: None,
        sentence: None,
        personal: None,
    }
}

impl KindInfo {
    pub(super) const fn failure(self) -> Self {
        Self { outcome: EventOutcome::Failure, ..self }
    }

    pub(super) const fn severity(self, severity: Severity) -> Self {
        Self { severity: Some(severity), ..self }
    }

    pub(super) const fn shares_type(self, shared_type: &'static str) -> Self {
        Self { shared_type: Some(shared_type), ..self }
    }

    pub(super) const fn says(self, sentence: fn(&Details<'_>, Language) -> Option<String>) -> Self {
        Self { sentence: Some(sentence), ..self }
    }

    pub(super) const fn personal(self, detail: &'static str) -> Self {
        Self { personal: Some(detail), ..self }
    }
}

/// Kinds of events that are kept equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventGroup {
    /// Who has signed in and out, and who has tried to.
    SignIns,
    /// What was refused, and what anybody may ask for.
    Refusals,
    /// Everything else: changes of accounts, and every order.
    Orders,
    /// What explains other events: the end of an account, why something was erased, and the loss of the secret of the trail.
    Deletions,
}

impl EventGroup {
    pub const ALL: [Self; 4] = [Self::SignIns, Self::Refusals, Self::Orders, Self::Deletions];

    pub fn name(self) -> &'static str {
        match self {
            Self::SignIns => "sign-ins",
            Self::Refusals => "refusals",
            Self::Orders => "orders",
            Self::Deletions => "deletions",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum EventOutcome {
    #[default]
    Success,
    /// It was refused or did not work.
    Failure,
}

impl EventOutcome {
    pub(crate) fn is_success(&self) -> bool {
        *self == Self::Success
    }
}

/// How serious an event is, in the words of the Open Cybersecurity Schema Framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Informational,
    Low,
    Medium,
    High,
}

/// The line of a kind in the log.
#[derive(Clone, Copy, Debug)]
pub struct LogLine {
    pub level: LogLevel,
    pub words: LogWords,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Info,
    Warn,
}

/// The message of a line.
#[derive(Clone, Copy, Debug)]
pub enum LogWords {
    /// The line names the network of the request.
    Own(&'static str),
    /// The words are followed by who has given the order.
    Order(&'static str),
    /// What people do with their own account, and the same as an order.
    OwnOrOrder(&'static str, &'static str),
}

pub(super) const fn info(words: LogWords) -> Option<LogLine> {
    Some(LogLine { level: LogLevel::Info, words })
}

pub(super) const fn warn(words: LogWords) -> Option<LogLine> {
    Some(LogLine { level: LogLevel::Warn, words })
}
