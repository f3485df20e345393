//! `/api/admin/status`: what the server that answers knows about itself, and what its database says.

use axum::{extract::State, http::StatusCode};

use crate::{
    Doorward,
    account::status::{self, Status},
    event::Actor,
    http::{
        Error,
        admin::{Admin, OperatorOnly, StatusRead},
        answer::NoStore,
    },
    store::DatabaseReport,
};

pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    admin: Admin<StatusRead>,
) -> NoStore<Status> {
    let mut status = status::status(&doorward).await;
    // It has the hashes of secrets that people may have made up.
    if !matches!(admin.actor, Actor::Operator(_)) {
        status.settings.remove("clients");
    }
    NoStore(StatusCode::OK, status)
}

/// Checks the database, which is too much work for a client on a network.
pub(in crate::http) async fn check_database(
    State(doorward): State<Doorward>,
    _: OperatorOnly,
) -> Result<NoStore<DatabaseReport>, Error> {
    let report = status::database(&doorward).await;
    // The operator sees the cause.
    let report = report
        .map_err(|error| Error::NotDone(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
    Ok(NoStore(StatusCode::OK, report))
}
