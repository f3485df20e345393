//! `GET /admin/users`: users by words of their name or address, page by page.

use axum::response::Response;

use super::{
    super::view::{Place, Users},
    AdminVisit, PAGE_ROWS,
};
use crate::{
    access::scope::Scope,
    account::search::{self, UserFilter, UserPage},
    http::{Error, admin::UsersRead},
};

pub(in crate::http) async fn show(visit: AdminVisit<UsersRead>) -> Result<Response, Error> {
    let parameter = |name| visit.parameter(name).map(|value| value.trim().to_owned());
    let typed = |name| parameter(name).filter(|value| !value.is_empty());
    let filter = UserFilter {
        text: typed("text"),
        role: typed("role"),
        disabled: typed("disabled").is_some(),
    };
    let after = typed("after");
    let UserPage { users, next } =
        search::page(visit.doorward(), after.as_deref(), PAGE_ROWS, &filter).await?;
    let view = Users {
        page: visit.context(),
        frame: visit.frame(Place::Users, None),
        now: visit.doorward().now(),
        users: &users,
        text: filter.text.as_deref().unwrap_or_default(),
        role: filter.role.as_deref().unwrap_or_default(),
        is_only_disabled: filter.disabled,
        next: next.as_deref(),
        may_add: visit.may(Scope::UsersWrite),
    };
    Ok(visit.admin_page(&view, None))
}
