//! Files that people download on pages: what the API answers, for a person with a session cookie.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    admin::AuditRead,
    answer::NoStore,
    api::{
        admin::{audit, person},
        me,
    },
    error::Error,
    form::PageForm,
    pages::{
        Pages, SignedInVisit,
        account::ACCOUNT,
        admin::{AdminVisit, user::UserPath},
    },
    standing::Standing,
};
use crate::account::{order::ExportUsers, proof::is_fresh};

/// `POST /account/export`: what `GET /api/me/export` answers.
pub(super) async fn account(visit: SignedInVisit) -> Result<Response, Error> {
    if !is_fresh(visit.doorward(), &visit.caller.user, &visit.caller.session) {
        return Ok(visit.way_to_step_up(ACCOUNT, None));
    }
    let exported = me::exported(visit.doorward(), &visit.caller, &visit.requester).await?;
    Ok(json_file(exported, "attachment; filename=\"account.json\""))
}

/// `POST /admin/users/{id}/export`: everything that is stored about the user.
pub(super) async fn user(visit: AdminVisit<ExportUsers>, id: UserPath) -> Result<Response, Error> {
    let user = visit.user(id).await?;
    let exported = person::exported(visit.doorward(), &user, &visit.by).await?;
    Ok(json_file(exported, "attachment; filename=\"user.json\""))
}

/// `POST /admin/audit/export`: the events that the filter shows.
pub(super) async fn events(
    visit: Standing<AdminVisit<AuditRead>, Arc<Pages>>,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let events = form.read(visit.doorward())?;
    let answer = audit::exported(visit.doorward().clone(), events, &visit.by).await?;
    Ok(visit.guard(as_file(answer, "attachment; filename=\"audit.jsonl\"")))
}

fn json_file(record: impl Serialize, disposition: &'static str) -> Response {
    as_file(NoStore(StatusCode::OK, record).into_response(), disposition)
}

fn as_file(mut answer: Response, disposition: &'static str) -> Response {
    let disposition = HeaderValue::from_static(disposition);
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    answer
}
