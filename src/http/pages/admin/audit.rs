//! `/admin/audit`: the audit trail, filtered by time, user and kind, and its export.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};

use super::{
    super::view::{AuditTrail, Place},
    AdminVisit, PAGE_ROWS,
};
use crate::{
    account::audit::{self, AuditEvent},
    fault::Fault,
    http::{
        Error,
        admin::AuditRead,
        answer::{NO_STORE, NOSNIFF},
        audit_filter::EventFilter,
        form::PageForm,
        query::Query,
    },
    user::User,
};

pub(in crate::http) async fn show(
    visit: AdminVisit<AuditRead>,
    query: Query<EventFilter>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let typed = ["user", "kind", "from", "to"].map(|name| (name, query.form.typed(name)));
    let after = visit.parameter("after").and_then(|after| after.parse().ok());
    let filter = match query.read(doorward) {
        Ok(events) => events.filter(doorward).await,
        Err(error) => Err(error),
    };
    let (page, faults) = match filter {
        Ok(filter) => (Some(audit::list(doorward, &filter, after, PAGE_ROWS).await?), Vec::new()),
        Err(Error::Invalid(faults)) => (None, faults),
        Err(error) => return Err(error),
    };
    let events = page.as_ref().map_or(&[][..], |page| &page.events);
    let words = |fault: Fault| visit.texts().field_fault(fault.into());
    let view = AuditTrail {
        page: visit.context(),
        frame: visit.frame(Place::Audit, None),
        now: doorward.now(),
        events,
        users: &users_of(&visit, events).await?,
        typed,
        faults: faults.into_iter().map(|(name, fault)| (name.into(), words(fault))).collect(),
        next: page.as_ref().and_then(|page| page.next).map(|next| next.to_string()),
    };
    Ok(visit.admin_page(&view, None))
}

/// The users whom events name, if they still exist.
pub(super) async fn users_of<S>(
    visit: &AdminVisit<S>,
    events: &[AuditEvent],
) -> Result<Vec<User>, Error> {
    let named = events
        .iter()
        .flat_map(|event| [event.record.actor.person(), event.record.subject.as_deref()])
        .flatten();
    visit.users(named.filter_map(|id| id.parse().ok()).collect()).await
}

/// `POST /admin/audit/proof`: a proof that an event is in the trail, as a file.
pub(in crate::http) async fn prove(
    visit: AdminVisit<AuditRead>,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let id = form.typed("id").parse().map_err(|_| Error::NotFound)?;
    let proof = audit::prove(visit.doorward(), id).await?.ok_or(Error::NotFound)?;
    Ok(text_file(proof.to_string(), "attachment; filename=\"event.tlog-proof.txt\""))
}

/// `POST /admin/audit/checkpoint`: the signed state of the trail, as a file.
pub(in crate::http) async fn checkpoint(visit: AdminVisit<AuditRead>) -> Result<Response, Error> {
    let checkpoint = audit::checkpoint(visit.doorward()).await?;
    Ok(text_file(checkpoint.to_string(), "attachment; filename=\"audit.checkpoint.txt\""))
}

fn text_file(text: String, disposition: &'static str) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response
}
