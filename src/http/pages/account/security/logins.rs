//! Removing the link to an account at another provider.

use axum::response::Response;

use super::{
    super::super::{form_refusal::FormFailure, signed_in::SignedInVisit},
    Outcome, SECURITY, page,
};
use crate::{
    account::{self, identities::unlink},
    http::{Error, form::PageForm},
};

/// `POST /account/security/logins/remove`
pub(in crate::http) async fn remove_login(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let Ok(id) = form.typed("id").parse() else { return Ok(visit.redirect(SECURITY)) };
    match unlink(visit.doorward(), &visit.caller, id, &visit.requester).await {
        // One that is gone already, as after a double click, is what the person wants.
        Ok(()) | Err(account::Error::NoSuchIdentity) => {
            Ok(visit.redirect(&format!("{SECURITY}?done=login-removed")))
        }
        Err(account::Error::SignInAgain) => Ok(visit.way_to_step_up(SECURITY, None)),
        Err(error) => {
            let refusal = FormFailure::from(error).refusal()?;
            page(&visit, None, Outcome { refusal: Some(&refusal), ..Outcome::default() }).await
        }
    }
}
