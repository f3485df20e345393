//! `GET /refused/<decision>`: which app refused a request, and why, for those who may see it.

use axum::{
    extract::{Path, rejection::PathRejection},
    http::StatusCode,
    response::Response,
};

use super::{
    decision::may_see_reason,
    text::Message,
    view::{MessagePage, Refused, html},
    visit::Visit,
};
use crate::http::Error;

pub(in crate::http) async fn show(
    visit: Visit,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let address = visit.requester.client.address;
    let id = id.map(|Path(id)| id).unwrap_or_default();
    let sees_reason =
        visit.caller().is_some_and(|caller| may_see_reason(doorward, caller, &id, address));
    let refusal = match sees_reason {
        true => doorward.refusal(&id),
        false => doorward.refusal_without_reason(&id),
    };
    let Some(refusal) = refusal else {
        let page =
            MessagePage { page: visit.context(), message: Message::UnknownDecision, link: None };
        return Ok(visit.page(StatusCode::NOT_FOUND, html(&page)));
    };
    let guards = doorward.guards();
    let guard = guards.by_name(&refusal.guard);
    let somebody_else = format!("{}/sign-in?other=1", visit.context().base);
    let user = visit.caller().map(|caller| &caller.user);
    let is_own = user.is_some_and(|user| refusal.user == Some(user.id));
    // The decision does not keep which page was asked for.
    let start = guard.filter(|_| is_own).and_then(|guard| guard.origins.first());
    let start = start.map(|origin| format!("{origin}/"));
    let page = Refused {
        page: visit.context(),
        app: guard.map_or(&refusal.guard, |guard| &guard.title),
        is_own,
        signed_in_as: user.map(|user| (user.name.as_str(), user.email.as_str())),
        try_again: start.as_deref(),
        somebody_else: user.is_some().then_some(&*somebody_else),
        decision: &refusal.id,
        decision_link: None,
        missing: refusal.missing.filter(|_| is_own || sees_reason),
        why: sees_reason.then_some(&refusal),
    };
    Ok(visit.page(StatusCode::OK, html(&page)))
}
