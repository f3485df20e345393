//! `DELETE /api/me`: a user leaves, with everything that is theirs.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    http::{
        Error,
        answer::Done,
        api::proof::{confirm, own_password},
        client_ip::Peer,
        form::Form,
        only::Only,
    },
};

pub(in crate::http) async fn delete(
    State(doorward): State<Doorward>,
    Only(caller): Only<SignedIn>,
    Peer(_, requester): Peer,
    mut form: Form,
) -> Result<Done, Error> {
    let password = own_password(&mut form, "password", &caller.user);
    let (Ok(password), Ok(())) = (password, form.no_misspelled()) else {
        return Err(form.refuse());
    };
    let user = confirm(&doorward, &caller.user, password, requester).await?;
    doorward.store().delete_user(user.id, doorward.now()).await?;
    tracing::info!(user = %user.id, "deleted by themselves");
    Ok(Done)
}
