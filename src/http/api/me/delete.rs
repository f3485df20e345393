//! `DELETE /api/me`: deletes the account and what is stored about it, but for what the audit trail keeps.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{leave::leave, proof::Proof},
    http::{
        Error,
        answer::NoContent,
        bearer::Bearer,
        form::{CurrentPassword, FormContext, JsonForm, form},
    },
    network::Requester,
};

form! {
    pub(crate) struct AccountDeletion {
        password: CurrentPassword,
    }
}

pub(crate) async fn delete(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<AccountDeletion>,
) -> Result<NoContent, Error> {
    let AccountDeletion { password } = form.read(FormContext::of(&doorward, &caller.user))?;
    leave(&doorward, &caller, Proof::of(&caller, password), &requester).await?;
    Ok(NoContent)
}
