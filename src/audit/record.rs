//! An event as the audit trail shows it: without secrets and without the addresses that somebody typed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    event::{Actor, Event, EventOutcome, record_words},
    language::Language,
};

/// An event as it is shown. [`super::Entry`] is how it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub id: String,
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    pub kind: String,
    pub outcome: EventOutcome,
    pub actor: RecordedActor,
    /// The id of the user whom it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The address of the client. Erased with the account of its person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The program of the client. Erased with the account of its person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What else is known, depending on the kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
#[schemars(rename = "AuditActor")]
pub enum RecordedActor {
    User {
        id: String,
    },
    /// The holder of an API key.
    Key {
        id: String,
        /// The user whose key it is, unless it is that of a machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
    },
    /// The operator on the machine, with their login name there, or the app that embeds Doorward.
    Operator {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Somebody who has not shown who they are.
    Unknown,
    /// Doorward itself.
    Service,
}

/// Who did it, without the id of the user, which is a column.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum StoredActor {
    User,
    Key {
        id: String,
        /// Whether it is a key of the subject: the column of whoever did it is empty then, as for a key of a machine.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_own: bool,
    },
    Operator {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Unknown,
    Service,
}

impl RecordedActor {
    /// The id of the user who did it, also with a key of theirs.
    pub fn person(&self) -> Option<&str> {
        match self {
            Self::User { id } => Some(id),
            Self::Key { owner, .. } => owner.as_deref(),
            _ => None,
        }
    }

    /// How it is stored. The person has a column of their own, unless they are the subject.
    pub(super) fn stored(&self, subject: Option<&str>) -> StoredActor {
        match self {
            Self::User { .. } => StoredActor::User,
            Self::Key { id, owner } => {
                let is_own = owner.is_some() && owner.as_deref() == subject;
                StoredActor::Key { id: id.clone(), is_own }
            }
            Self::Operator { name } => StoredActor::Operator { name: name.clone() },
            Self::Unknown => StoredActor::Unknown,
            Self::Service => StoredActor::Service,
        }
    }
}

impl From<&Actor> for RecordedActor {
    fn from(actor: &Actor) -> Self {
        match actor {
            Actor::User(id) => Self::User { id: id.to_string() },
            Actor::Key { key, owner } => {
                Self::Key { id: key.to_string(), owner: owner.map(|owner| owner.to_string()) }
            }
            Actor::Operator(name) => Self::Operator { name: name.as_deref().map(str::to_owned) },
            Actor::Unknown => Self::Unknown,
            Actor::Service => Self::Service,
        }
    }
}

impl Record {
    /// The user whose address, device and names are in it: who did it, or whom it concerns if nobody has shown who they are.
    pub fn person(&self) -> Option<&str> {
        match &self.actor {
            RecordedActor::Unknown | RecordedActor::Service => self.subject.as_deref(),
            actor => actor.person(),
        }
    }

    /// Whether what it tells was refused or did not work. Records of before may call it a failure that a guard only reported.
    pub fn is_failure(&self) -> bool {
        self.outcome == EventOutcome::Failure && !self.is_only_reported()
    }

    /// Whether a guard has admitted somebody whom it would have refused.
    pub fn is_only_reported(&self) -> bool {
        self.details.get("onlyReported").is_some_and(|reported| *reported == true)
    }

    /// What it tells, and what else is known about it in a sentence.
    pub fn words(&self, language: Language) -> (String, Option<String>) {
        record_words(&self.kind, &self.details, language)
    }

    /// A number in its details.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.details.get(name)?.as_u64()
    }
}

impl From<&Event> for Record {
    fn from(event: &Event) -> Self {
        let Event { id, at, actor, subject, kind, client, request_id, authority: _ } = event;
        Self {
            id: id.to_string(),
            at: at.to_string(),
            kind: kind.name().to_owned(),
            outcome: kind.outcome(),
            actor: actor.into(),
            subject: subject.map(|user| user.to_string()),
            address: client.as_ref().map(|client| client.address.to_string()),
            user_agent: client
                .as_ref()
                .map(|client| client.user_agent.clone())
                .filter(|text| !text.is_empty()),
            request_id: request_id.map(|id| id.to_string()),
            details: match serde_json::to_value(kind).expect("its keys are texts") {
                Value::Object(details) => details,
                _ => Map::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        clock::Timestamp,
        event::{EventKind, LoginRefusal},
        network::{ClientInfo, Requester},
        user::{EmailKey, UserId},
    };

    #[test]
    fn a_record_has_who_what_when_and_from_where_but_not_what_was_typed() {
        let user = UserId::random();
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let kind = EventKind::SignInFailed {
            reason: LoginRefusal::WrongPassword,
            email: EmailKey::of("typed@example.com"),
        };
        let at = Timestamp::from_millis(1_800_000_000_123);
        let event = Event::by_unknown(Some(user), &requester, at, kind);
        let text = serde_json::to_string(&Record::from(&event)).unwrap();
        let expected = format!(
            r#"{{"id":"{}","at":"2027-01-15T08:00:00.123Z","kind":"sign_in_failed","outcome":"failure","actor":{{"type":"unknown"}},"subject":"{user}","address":"192.0.2.1","userAgent":"curl/8","details":{{"reason":"wrong_password"}}}}"#,
            event.id
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_start_says_whether_it_was_ordered_to_make_a_new_signing_key() {
        for (new_signing_key, expected) in [(true, Some(&json!(true))), (false, None)] {
            let (settings, guards, logins) = (Vec::new(), Vec::new(), Vec::new());
            let version = "1";
            let kind =
                EventKind::ServiceStarted { version, settings, guards, logins, new_signing_key };
            let record = Record::from(&Event::by_service(Timestamp::from_millis(0), kind));
            assert_eq!(record.details.get("newSigningKey"), expected);
        }
    }
}
