//! `/account/activity`: what happened to a person's own account.

use axum::{http::StatusCode, response::Response};

use super::super::{
    signed_in::SignedInVisit,
    view::{Activity, MAX_ACTIVITY_ROWS, html},
};
use crate::{account::audit::activity_of, http::Error};

pub(in crate::http) async fn show_activity(visit: SignedInVisit) -> Result<Response, Error> {
    let user = visit.caller.user.id;
    // An id that is none shows the newest events.
    let after = visit.parameter("after").and_then(|id| id.parse().ok());
    let page = activity_of(visit.doorward(), user, after, MAX_ACTIVITY_ROWS).await?;
    let view = Activity {
        page: visit.context(),
        now: visit.doorward().now(),
        person: user,
        events: &page.events,
        is_continued: after.is_some(),
        next: page.next.map(|id| id.to_string()),
    };
    Ok(visit.page(StatusCode::OK, html(&view)))
}
