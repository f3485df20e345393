//! `GET /api/admin/backup`: everything that is stored, with all secrets. Only the operator on the machine gets it.

use axum::{extract::State, response::Response};

use crate::{
    Doorward,
    account::backup,
    http::{Error, admin::OperatorOnly, spooled},
};

pub(in crate::http) async fn make(
    State(doorward): State<Doorward>,
    operator: OperatorOnly,
) -> Result<Response, Error> {
    let by = operator.administrator.clone();
    spooled::answer(&doorward, "backup", move |doorward, spool| {
        Box::pin(async move { backup::write(doorward, &by, spool).await })
    })
    .await
}
