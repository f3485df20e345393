//! `/admin/guards`: what guards have decided, and what one says to a chosen user and request.

use std::net::IpAddr;

use axum::{
    extract::{Path, rejection::PathRejection},
    response::Response,
};

use super::{
    super::view::{GuardPage, GuardRow, Guards, Place},
    AdminVisit,
    refusals::with_users,
};
use crate::{
    Doorward,
    access::guard::{Decision, ExampleRequest, GuardSet},
    account::{
        guard_check::{self, SampleSession},
        look_up::user_by_id_or_email,
        refused::{self, RefusalFilter},
    },
    http::{Error, admin::GuardsRead},
};

/// The most refusals on the page of a guard.
const MAX_REFUSALS: usize = 20;

pub(in crate::http) async fn show(visit: AdminVisit<GuardsRead>) -> Result<Response, Error> {
    let guards = visit.doorward().guards();
    let view = Guards {
        page: visit.context(),
        frame: visit.frame(Place::Guards, None),
        rows: rows(visit.doorward(), &guards),
    };
    Ok(visit.admin_page(&view, None))
}

/// All guards by name, and what each has decided.
pub(super) fn rows<'a>(doorward: &Doorward, guards: &'a GuardSet) -> Vec<GuardRow<'a>> {
    let counted = doorward.counts().declared_guards();
    let rows = guards.iter().map(|guard| {
        let decisions = counted.iter().find(|(name, _)| *name == guard.name);
        let count = |decision| decisions.map_or(0, |(_, decisions)| decisions.value(decision));
        GuardRow {
            guard,
            admitted: count(Decision::Admitted),
            refused: count(Decision::Refused),
            only_reported: count(Decision::ReportOnly),
        }
    });
    rows.collect()
}

/// `GET /admin/guards/{guard}`: with the parameter `user`, its decision about them.
pub(in crate::http) async fn show_one(
    visit: AdminVisit<GuardsRead>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Error> {
    let (doorward, a) = (visit.doorward(), &visit.texts().admin);
    let guards = doorward.guards();
    let guard = name.ok().and_then(|Path(name)| guards.by_name(&name)).ok_or(Error::NotFound)?;
    let typed = |name| visit.parameter(name).map(|value| value.trim().to_owned());
    let tried = ["user", "method", "host", "path", "address"]
        .map(|name| (name, typed(name).unwrap_or_default()));
    let given = |index: usize| Some(tried[index].1.clone()).filter(|value| !value.is_empty());
    let address = given(4).map(|address| address.parse::<IpAddr>()).transpose();
    let user = match given(0) {
        Some(user) => Some(user_by_id_or_email(doorward, &user).await?),
        None => None,
    };
    let (fault, decision) = match (user, address) {
        (None, _) => (None, None),
        (Some(None), _) => (Some(("user", a.no_such_user)), None),
        (_, Err(_)) => (Some(("address", a.invalid_address)), None),
        (Some(Some(user)), Ok(address)) => {
            let request = ExampleRequest {
                method: given(1),
                host: given(2),
                path: given(3),
                scheme: None,
                address,
            };
            let session = SampleSession::default();
            (None, Some(guard_check::decide(doorward, guard, user, &session, &request)))
        }
    };
    let filter = RefusalFilter { guard: Some(guard.name.clone()), only_reported: None };
    let refusals = refused::of_everybody(doorward, &filter, None, MAX_REFUSALS).refusals;
    let browsers = guard_check::browsers(guard, doorward.settings(), &doorward.public_base());
    let findings = guard.warning().into_iter().chain(browsers.findings).chain(browsers.warnings);
    let view = GuardPage {
        page: visit.context(),
        frame: visit.frame(Place::Guards, None).headed(guard.title.as_str()),
        now: doorward.now(),
        guard,
        findings: findings.collect(),
        tried,
        fault,
        decision: decision.as_ref(),
        refusals: &with_users(&visit, refusals).await?,
    };
    Ok(visit.admin_page(&view, None))
}
