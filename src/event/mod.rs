//! What happened: who did what to whom, and where the request came from. The log line and the counters of an event are made
//! here and nowhere else. Its record in the audit trail is made in `audit/`.

mod administrator;
mod authority;
mod counts;
mod details;
mod external_failure;
mod failed_logins;
mod id;
mod kind;
mod kind_info;
mod kind_table;
mod log_line;
mod ocsf_type;
mod publication;
mod record_words;
mod sentence;
mod unrecorded;

pub use self::{
    administrator::Administrator,
    authority::{Authority, Right},
    counts::EventCounts,
    external_failure::ExternalFailure,
    failed_logins::{FailedLogins, LoginRefusal},
    id::EventId,
    kind::{AccessEnded, EventKind, LeftOut, RegistrationRefusal, Reloaded},
    kind_info::{EventGroup, EventOutcome, KindInfo, Severity},
    kind_table::{EventName, KINDS},
    ocsf_type::{Entity, OcsfClass, OcsfType},
    publication::Events,
    record_words::{kinds_by_title, record_words},
};
use std::sync::Arc;

use crate::{
    clock::Timestamp,
    network::{ClientInfo, Requester},
    request_id::RequestId,
    user::{ApiKeyId, UserId},
};

#[derive(Clone, Debug)]
pub struct Event {
    pub id: EventId,
    pub at: Timestamp,
    pub actor: Actor,
    /// The user whom it concerns.
    pub subject: Option<UserId>,
    pub kind: EventKind,
    /// The client that asked for it. The operator's commands have none.
    pub client: Option<ClientInfo>,
    pub request_id: Option<RequestId>,
    /// By what right somebody has ordered it. Without that right, the change is not written.
    pub authority: Option<Authority>,
}

/// Events are equal if they say the same. Each has an id of its own.
impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        let Self { id: _, at, actor, subject, kind, client, request_id, authority: _ } = self;
        (at, actor, subject, kind, client, request_id)
            == (
                &other.at,
                &other.actor,
                &other.subject,
                &other.kind,
                &other.client,
                &other.request_id,
            )
    }
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    User(UserId),
    /// The holder of an API key.
    Key {
        key: ApiKeyId,
        /// The user whose key it is, unless it is that of a machine.
        owner: Option<UserId>,
    },
    /// The operator, with their login name on the machine if it is known, or the app that embeds Doorward.
    Operator(Option<Arc<str>>),
    /// Somebody who has not shown who they are.
    Unknown,
    /// Doorward itself.
    Service,
}

impl Event {
    /// What a user does with their own account.
    pub fn by_user(user: UserId, requester: &Requester, at: Timestamp, kind: EventKind) -> Self {
        Self { actor: Actor::User(user), ..Self::by_unknown(Some(user), requester, at, kind) }
    }

    /// What somebody orders about the account of another.
    pub fn by_administrator(
        by: &Administrator,
        subject: Option<UserId>,
        at: Timestamp,
        kind: EventKind,
    ) -> Self {
        let Administrator { actor, client, request_id, authority } = by.clone();
        Self { id: EventId::at(at), at, actor, subject, kind, client, request_id, authority }
    }

    /// What Doorward does by itself.
    pub fn by_service(at: Timestamp, kind: EventKind) -> Self {
        let (id, actor, authority) = (EventId::at(at), Actor::Service, None);
        Self { id, at, actor, subject: None, kind, client: None, request_id: None, authority }
    }

    /// Who has ordered it, unless people have done it with their own account.
    pub fn administrator(&self) -> Option<&Actor> {
        match &self.actor {
            Actor::User(id) if self.subject != Some(*id) => Some(&self.actor),
            Actor::User(_) | Actor::Unknown | Actor::Service => None,
            Actor::Key { .. } | Actor::Operator(_) => Some(&self.actor),
        }
    }

    /// What somebody does who has not shown who they are.
    pub fn by_unknown(
        subject: Option<UserId>,
        requester: &Requester,
        at: Timestamp,
        kind: EventKind,
    ) -> Self {
        let (client, request_id) = (Some(requester.client.clone()), requester.request_id);
        let (id, actor, authority) = (EventId::at(at), Actor::Unknown, None);
        Self { id, at, actor, subject, kind, client, request_id, authority }
    }
}
