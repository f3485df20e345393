//! `DELETE /api/me`: a user leaves, with everything that is theirs.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    http::{
        Error,
        answer::NoContent,
        api::proof::{confirm, own_password},
        client_ip::RequestOrigin,
        form::Form,
        only::Only,
    },
};

pub(crate) async fn delete(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
    RequestOrigin { requester, .. }: RequestOrigin,
    mut form: Form,
) -> Result<NoContent, Error> {
    let password = own_password(&mut form, "password", &caller.user);
    let (Ok(password), Ok(())) = (password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    let user = confirm(&doorward, &caller.user, password, requester).await?;
    doorward.store().delete_user(user.id, doorward.now()).await?;
    tracing::info!(user = %user.id, "deleted by themselves");
    Ok(NoContent)
}
