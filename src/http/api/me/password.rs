//! `POST /api/me/password`: sets a new password, which needs the current one. All other sessions end.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{password, proof::Proof},
    http::{
        Error,
        answer::NoContent,
        bearer::Bearer,
        form::{CurrentPassword, FormContext, JsonForm, NewPassword, form},
    },
    network::Requester,
};

form! {
    pub(crate) struct PasswordChange {
        current: CurrentPassword,
        new: NewPassword,
    }
}

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<PasswordChange>,
) -> Result<NoContent, Error> {
    let context = FormContext::of(&doorward, &caller.user);
    let PasswordChange { current, new } = form.read(context)?;
    password::change(&doorward, &caller, Proof::of(&caller, current), new, &requester).await?;
    Ok(NoContent)
}
