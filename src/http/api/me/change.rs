//! `PATCH /api/me`: changes the name, or the e-mail address, which needs the password.

use axum::{extract::State, http::StatusCode};

use super::SignedInMe;
use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{
        change::{self, Change},
        proof::Proof,
    },
    http::{Error, answer::NoStore, bearer::Bearer, form::Form},
    network::Requester,
    user::{Email, Name},
};

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    mut form: Form,
) -> Result<NoStore<SignedInMe>, Error> {
    let name = form.optional("name", Name::parse);
    let email = form.optional("email", Email::parse);
    let password = match email {
        Ok(None) => Ok(None),
        _ => form.current_password("password", &caller.user),
    };
    let (Ok(name), Ok(email), Ok(password), Ok(())) =
        (name, email, password, form.reject_misspelled())
    else {
        return Err(form.into_error());
    };
    let (new, proof) = (Change { name, email }, Proof::of(&caller, password));
    let changed = change::change(&doorward, &caller, new, proof, &requester).await?;
    let me = SignedInMe::new(&changed.user, changed.pending_email, &caller.session);
    Ok(NoStore(StatusCode::OK, me))
}
