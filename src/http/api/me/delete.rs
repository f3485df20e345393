//! `DELETE /api/me`: deletes the account and everything stored about it.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::leave::leave,
    http::{Error, answer::NoContent, client_ip::RequestOrigin, form::Form, only::Only},
};

pub(crate) async fn delete(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
    RequestOrigin { requester, .. }: RequestOrigin,
    mut form: Form,
) -> Result<NoContent, Error> {
    let password = form.current_password("password", &caller.user);
    let (Ok(password), Ok(())) = (password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    leave(&doorward, &caller.user, password, requester).await?;
    Ok(NoContent)
}
