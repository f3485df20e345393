//! `POST /api/me/password`: sets a new password, which needs the current one. All other sessions end.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{password, proof::Proof},
    http::{Error, answer::NoContent, bearer::Bearer, form::Form},
    network::Requester,
};

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    mut form: Form,
) -> Result<NoContent, Error> {
    let current = form.current_password("current", &caller.user);
    let new = form.required("new", |sent| password::parse(&doorward, &caller.user, sent));
    let (Ok(current), Ok(new), Ok(())) = (current, new, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    password::change(&doorward, &caller, Proof::of(&caller, current), new, &requester).await?;
    Ok(NoContent)
}
