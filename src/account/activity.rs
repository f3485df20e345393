//! What users see of the events that concern their own account.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{audit::RecordedActor, user::UserId};

/// Who has caused an event, as its user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum By {
    /// The user, or somebody with their session.
    You,
    /// Somebody who has not shown who they are.
    Unknown,
    /// An administrator or the operator.
    Administrator,
    /// The service itself.
    Service,
}

impl By {
    pub(crate) fn of(actor: &RecordedActor, user: UserId) -> Self {
        match actor {
            actor if actor.person() == Some(&*user.to_string()) => Self::You,
            RecordedActor::User { .. }
            | RecordedActor::Key { .. }
            | RecordedActor::Operator { .. } => Self::Administrator,
            RecordedActor::Unknown => Self::Unknown,
            RecordedActor::Service => Self::Service,
        }
    }

    /// Whether the user may know where the request came from.
    pub(crate) fn is_shown_with_client(self) -> bool {
        matches!(self, Self::You | Self::Unknown)
    }
}
