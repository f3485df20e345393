//! `DELETE /api/me`: deletes the account and what is stored about it, but for what the audit trail keeps.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{leave::leave, proof::Proof},
    http::{Error, answer::NoContent, bearer::Bearer, form::Form},
    network::Requester,
};

pub(crate) async fn delete(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    mut form: Form,
) -> Result<NoContent, Error> {
    let password = form.current_password("password", &caller.user);
    let (Ok(password), Ok(())) = (password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    leave(&doorward, &caller, Proof::of(&caller, password), &requester).await?;
    Ok(NoContent)
}
