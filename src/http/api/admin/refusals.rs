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
        form::form,
        query::{Flag, Limit, Query},
    },
};

form! {
    pub(in crate::http) struct RefusalQuery {
        /// Only those of the guard or policy with this name.
        guard: Option<String>,
        /// Only those that were admitted because the guard only reports, or only the others.
        only_reported as "onlyReported": Option<Flag>,
        /// The `next` of the previous page.
        after: Option<String>,
        /// How many at most.
        limit: Limit<50, 500>,
        ..Ignored
    }
}

/// Lists the latest refusals of everybody.
pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    query: Query<RefusalQuery>,
) -> Result<NoStore<RefusalPage>, Error> {
    let RefusalQuery { guard, only_reported, after, limit } = query.read(&doorward)?;
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
