//! `GET /api/admin/backup`: everything that is stored, with all secrets. Only the operator on the machine gets it.

use axum::{extract::State, response::Response};

use crate::{
    Doorward,
    account::backup,
    http::{Error, admin::OperatorOnly, spooled},
};

pub(in crate::http) async fn make(
    State(doorward): State<Doorward>,
    _: OperatorOnly,
) -> Result<Response, Error> {
    spooled::answer(&doorward, "backup", |doorward, spool| Box::pin(backup::write(doorward, spool)))
        .await
}
