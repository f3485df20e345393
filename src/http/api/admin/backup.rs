//! `GET /api/admin/backup`: everything that is stored, with all secrets. Only the operator on the machine gets it.

use axum::extract::State;

use crate::{
    Doorward,
    account::backup,
    http::{Error, admin::OperatorOnly, description::JsonLines, spooled},
};

pub(in crate::http) async fn make(
    State(doorward): State<Doorward>,
    operator: OperatorOnly,
) -> Result<JsonLines, Error> {
    let by = operator.administrator.clone();
    let answer = spooled::answer(&doorward, "backup", move |doorward, spool| {
        Box::pin(async move { backup::write(doorward, &by, spool).await })
    });
    Ok(JsonLines(answer.await?))
}
