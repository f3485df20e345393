//! What happened: who did what to whom, and where the request came from. The log line and the counters of an event are made
//! here and nowhere else.

mod counts;
mod failed_logins;
mod kind;
mod log_line;
mod publication;

pub use self::{
    counts::EventCounts,
    failed_logins::{FailedLogins, LoginRefusal},
    kind::{EventKind, RegistrationRefusal},
    publication::Events,
};
use crate::{
    clock::Timestamp,
    network::{ClientInfo, Requester},
    request_id::RequestId,
    user::UserId,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub at: Timestamp,
    pub actor: Actor,
    /// The user whom it concerns.
    pub subject: Option<UserId>,
    pub kind: EventKind,
    /// The client that asked for it. The operator's commands have none.
    pub client: Option<ClientInfo>,
    pub request_id: Option<RequestId>,
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    User(UserId),
    /// The operator, or the app that embeds Doorward.
    Operator,
    /// Somebody who has not shown who they are.
    Unknown,
}

impl Event {
    /// What a user does with their own account.
    pub fn by_user(user: UserId, requester: &Requester, at: Timestamp, kind: EventKind) -> Self {
        Self { actor: Actor::User(user), ..Self::by_unknown(Some(user), requester, at, kind) }
    }

    /// What the operator does.
    pub fn by_operator(subject: Option<UserId>, at: Timestamp, kind: EventKind) -> Self {
        Self { at, actor: Actor::Operator, subject, kind, client: None, request_id: None }
    }

    /// What somebody does who has not shown who they are.
    pub fn by_unknown(
        subject: Option<UserId>,
        requester: &Requester,
        at: Timestamp,
        kind: EventKind,
    ) -> Self {
        let (client, request_id) = (Some(requester.client.clone()), requester.request_id);
        Self { at, actor: Actor::Unknown, subject, kind, client, request_id }
    }
}
