//! `GET /api/me/activity`: what happened to the own account, from the audit trail.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    Doorward,
    access::policy::Authenticated,
    account::{
        activity::By,
        audit::{self, AuditEvent},
    },
    audit::Record,
    event::{EventId, EventOutcome},
    http::{
        Error,
        answer::NoStore,
        bearer::Bearer,
        form::form,
        query::{Limit, Query},
    },
    user::UserId,
};

/// A page of the events that concern the user.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Activity {
    /// Newest first.
    events: Vec<OwnEvent>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// An event as the user sees it whom it concerns. Who else has caused it, and from where, is not theirs to know.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActivityEvent")]
pub(crate) struct OwnEvent {
    id: String,
    #[schemars(extend("format" = "date-time"))]
    at: String,
    kind: String,
    outcome: EventOutcome,
    by: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// What else is known, depending on the kind.
    #[serde(skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
}

impl OwnEvent {
    fn new(event: AuditEvent, user: UserId) -> Self {
        let Record { id, at, kind, outcome, actor, address, user_agent, details, .. } =
            event.record;
        let by = By::of(&actor, user);
        let is_shown = by.is_shown_with_client();
        let (address, user_agent) = (address.filter(|_| is_shown), user_agent.filter(|_| is_shown));
        Self { id, at, kind, outcome, by, address, user_agent, details }
    }
}

form! {
    pub(crate) struct ActivityQuery {
        /// The `next` of the previous page.
        after: Option<EventId>,
        /// How many at most.
        limit: Limit<50, 200>,
        ..Ignored
    }
}

pub(crate) async fn activity(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
    query: Query<ActivityQuery>,
) -> Result<NoStore<Activity>, Error> {
    let ActivityQuery { after, limit } = query.read(&doorward)?;
    let page = audit::activity_of(&doorward, *user_id, after, limit).await?;
    let next = page.next.map(|id| id.to_string());
    let events = page.events.into_iter().map(|event| OwnEvent::new(event, *user_id)).collect();
    Ok(NoStore(StatusCode::OK, Activity { events, next }))
}
