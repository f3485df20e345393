//! `GET /api/me/activity`: what happened to the own account, from the audit trail.

use axum::{extract::State, http::StatusCode};
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
    event::EventOutcome,
    fault::Fault,
    http::{Error, answer::NoStore, bearer::Bearer, query::Query},
    user::UserId,
};

#[derive(Serialize)]
pub(crate) struct Activity {
    events: Vec<OwnEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// An event as the user sees it whom it concerns. Who else has caused it, and from where, is not theirs to know.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnEvent {
    id: String,
    at: String,
    kind: String,
    outcome: EventOutcome,
    by: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
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

pub(crate) async fn activity(
    State(doorward): State<Doorward>,
    user_id: Bearer<Authenticated>,
    mut query: Query,
) -> Result<NoStore<Activity>, Error> {
    let not_an_id = || Fault::malformed("Expected an id");
    let after = query.0.optional("after", |id| id.parse().map_err(|_| not_an_id()));
    let limit = query.limit(50, 200);
    let (Ok(after), Ok(limit)) = (after, limit) else { return Err(query.0.into_error()) };
    let page = audit::activity_of(&doorward, *user_id, after, limit).await?;
    let next = page.next.map(|id| id.to_string());
    let events = page.events.into_iter().map(|event| OwnEvent::new(event, *user_id)).collect();
    Ok(NoStore(StatusCode::OK, Activity { events, next }))
}
