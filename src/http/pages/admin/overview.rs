//! `GET /admin`: how the service is doing.

use axum::response::Response;

use super::{
    super::view::{Overview, Place},
    AdminVisit, guards,
};
use crate::{
    access::{guard::Guard, scope::Scope},
    account::status,
    config::DatabaseUrl,
    http::{Error, admin::StatusRead},
};

pub(in crate::http) async fn show(visit: AdminVisit<StatusRead>) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let guard_set = doorward.guards();
    let may_see_guards = visit.may(Scope::GuardsRead);
    let keys = match visit.may(Scope::SigningKeysRead) {
        true => Some(doorward.keys().list().await),
        false => None,
    };
    let status = status::status(doorward).await;
    let not_ready = status.not_ready.iter().cloned();
    let warnings = guard_set.iter().filter(|_| may_see_guards).filter_map(Guard::warning);
    let view = Overview {
        findings: not_ready.chain(warnings).collect(),
        status: &status,
        database: match &doorward.settings().database {
            DatabaseUrl::Sqlite(_) => "SQLite".into(),
            DatabaseUrl::Postgres(_) => "PostgreSQL".into(),
            DatabaseUrl::Memory(_) => "SQLite, in memory".into(),
        },
        certificate: None,
        public_url: doorward.public_base(),
        guards: may_see_guards.then(|| guards::rows(doorward, &guard_set)),
        signing_keys: keys.as_deref(),
        may_see_users: visit.may(Scope::UsersRead),
        may_see_mail: visit.may(Scope::MailRead),
    };
    let frame = visit.frame(Place::Overview, None);
    Ok(visit.admin_page(view.render(&visit.context(), &frame), None))
}
