//! `/account/activity`: what happened to a person's own account.

use axum::{http::StatusCode, response::Response};

use super::super::{
    signed_in::SignedInVisit,
    view::{Activity, ActivityBy, ActivityRow, MAX_ACTIVITY_ROWS, html},
};
use crate::{
    account::{activity::By, audit::activity_of},
    http::Error,
};

pub(in crate::http) async fn show_activity(visit: SignedInVisit) -> Result<Response, Error> {
    let user = visit.caller.user.id;
    // An id that is none shows the newest events.
    let after = visit.parameter("after").and_then(|id| id.parse().ok());
    let page = activity_of(visit.doorward(), user, after, MAX_ACTIVITY_ROWS).await?;
    let rows = page.events.iter().map(|event| {
        let record = &event.record;
        let by = By::of(&record.actor, user);
        let is_shown = by.is_shown_with_client();
        ActivityRow {
            at: event.id.time(),
            record,
            by: match by {
                By::You => ActivityBy::Person,
                By::Unknown => ActivityBy::Unknown,
                By::Administrator => ActivityBy::Administrator,
                By::Service => ActivityBy::Service,
            },
            user_agent: record.user_agent.as_deref().filter(|_| is_shown),
            address: record.address.as_deref().filter(|_| is_shown),
        }
    });
    let view = Activity {
        page: visit.context(),
        now: visit.doorward().now(),
        rows: rows.collect(),
        is_continued: after.is_some(),
        next: page.next.map(|id| id.to_string()),
    };
    Ok(visit.page(StatusCode::OK, html(&view)))
}
