//! `/admin/refusals`: the latest refusals of everybody, as they come in, and why one was refused.

use axum::{
    extract::{Path, rejection::PathRejection},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::{
    super::{
        text::{LinkTo, Message},
        view::{Place, RefusalPage, Refusals},
    },
    AdminVisit, LiveAdminVisit, PAGE_ROWS,
};
use crate::{
    access::refusals::Refusal,
    account::refused::{self, RefusalFilter},
    http::{Error, admin::GuardsRead},
    user::User,
};

/// Seconds after which a browser loads the live list again.
const REFRESH: HeaderValue = HeaderValue::from_static("5");

pub(in crate::http) async fn show(visit: AdminVisit<GuardsRead>) -> Result<Response, Error> {
    list(&visit, false).await
}

/// `GET /admin/refusals/live`: the latest, again and again. It has no form, so that a reload takes away nothing that is being typed.
pub(in crate::http) async fn show_live(
    LiveAdminVisit(visit): LiveAdminVisit<GuardsRead>,
) -> Result<Response, Error> {
    let mut response = list(&visit, true).await?;
    response.headers_mut().insert(header::REFRESH, REFRESH);
    Ok(response)
}

async fn list(visit: &AdminVisit<GuardsRead>, is_live: bool) -> Result<Response, Error> {
    let typed = |name| visit.parameter(name).filter(|value| !value.is_empty());
    let is_only_reported = typed("reported").is_some();
    let filter =
        RefusalFilter { guard: typed("guard"), only_reported: is_only_reported.then_some(true) };
    let after = typed("after").filter(|_| !is_live);
    let doorward = visit.doorward();
    let page = refused::of_everybody(doorward, &filter, after.as_deref(), PAGE_ROWS);
    let refusals = with_users(visit, page.refusals).await?;
    let view = Refusals {
        page: visit.context(),
        frame: visit.frame(Place::Refusals, None),
        now: doorward.now(),
        refusals: &refusals,
        next: page.next.as_deref(),
        guard: filter.guard.as_deref().unwrap_or_default(),
        is_only_reported,
        is_live,
    };
    Ok(visit.admin_page(&view, None))
}

/// `GET /admin/refusals/{decision}`
pub(in crate::http) async fn show_one(
    visit: AdminVisit<GuardsRead>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let Some(refusal) = id.ok().and_then(|Path(id)| doorward.refusal(&id)) else {
        let (message, to) = (Message::UnknownDecision, LinkTo::Administration);
        return Ok(visit.message(StatusCode::NOT_FOUND, message, to, Place::Refusals.path()));
    };
    let user = match refusal.user {
        Some(id) => doorward.user_by_id(id).await?,
        None => None,
    };
    let heading = visit.texts().refused_other_heading(&refusal.guard);
    let view = RefusalPage {
        page: visit.context(),
        frame: visit.frame(Place::Refusals, None).headed(heading),
        now: doorward.now(),
        refusal: &refusal,
        user: user.as_ref(),
        is_guard: doorward.guards().by_name(&refusal.guard).is_some(),
    };
    Ok(visit.admin_page(&view, None))
}

/// Refusals with the users whom they name.
pub(super) async fn with_users<S>(
    visit: &AdminVisit<S>,
    refusals: Vec<Refusal>,
) -> Result<Vec<(Refusal, Option<User>)>, Error> {
    let named = refusals.iter().filter_map(|refusal| refusal.user);
    let users = visit.users(named.collect()).await?;
    let user_of =
        |refusal: &Refusal| users.iter().find(|user| refusal.user == Some(user.id)).cloned();
    let found = refusals.into_iter().map(|refusal| {
        let user = user_of(&refusal);
        (refusal, user)
    });
    Ok(found.collect())
}
