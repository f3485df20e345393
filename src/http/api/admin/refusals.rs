//! `/api/admin/refusals` and `/api/admin/users/{user}/refusals`: what the server that answers has refused recently.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};

use crate::{
    Doorward,
    access::refusals::Refusal,
    account::refused::{self, RecentRefusals, RefusalFilter, RefusalPage},
    http::{
        Error,
        admin::{Admin, GuardsRead, UsersRead},
        answer::NoStore,
        query::Query,
    },
};

/// Lists the latest refusals of everybody.
pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    mut query: Query,
) -> Result<NoStore<RefusalPage>, Error> {
    const DEFAULT_LIMIT: usize = 50;
    const MAX_LIMIT: usize = 500;
    let guard = query.0.optional("guard", Ok);
    let only_reported = query.flag("onlyReported");
    let after = query.0.optional("after", Ok);
    let limit = query.limit(DEFAULT_LIMIT, MAX_LIMIT);
    let (Ok(guard), Ok(only_reported), Ok(after), Ok(limit)) = (guard, only_reported, after, limit)
    else {
        return Err(query.0.into_error());
    };
    let filter = RefusalFilter { guard, only_reported };
    let page = refused::of_everybody(&doorward, &filter, after.as_deref(), limit);
    Ok(NoStore(StatusCode::OK, page))
}

/// Shows a refusal with its reason.
pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    Path(decision): Path<String>,
) -> Result<NoStore<Refusal>, Error> {
    let refusal = doorward.refusal(&decision).ok_or(Error::NotFound)?;
    Ok(NoStore(StatusCode::OK, refusal))
}

/// Lists failed logins and refusals of a user.
pub(in crate::http) async fn of_user(
    State(doorward): State<Doorward>,
    _: Admin<UsersRead>,
    Path(user): Path<String>,
) -> Result<NoStore<RecentRefusals>, Error> {
    let recent = refused::of_user(&doorward, &user).await?.ok_or(Error::NotFound)?;
    Ok(NoStore(StatusCode::OK, recent))
}
