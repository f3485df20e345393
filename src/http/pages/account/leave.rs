//! The form of the account that deletes it, and the page that follows.

use axum::{http::StatusCode, response::Response};

use super::{
    super::{
        form_refusal::FormFailure,
        signed_in::SignedInVisit,
        text::{LinkTo, Message},
        view::FailedForm,
        visit::Visit,
    },
    DELETE, Outcome, page,
};
use crate::{
    account::{self, leave::leave, proof::Proof},
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
};

pub(in crate::http) async fn delete(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let failure = match form.current_password("password", &visit.caller.user) {
        Ok(password) => {
            let proof = Proof::of(&visit.caller, password);
            match leave(visit.doorward(), &visit.caller, proof, &visit.requester).await {
                // The form may have been sent twice.
                Ok(()) | Err(account::Error::SessionEnded) => {
                    let mut response = visit.redirect("/account/deleted");
                    visit.remove_cookie(&mut response);
                    return Ok(response);
                }
                Err(error) => error.into(),
            }
        }
        Err(FaultRecorded) => FormFailure::faults_of(form),
    };
    let refusal = visit.refusal(failure, DELETE, None)?;
    page(&visit, Outcome::Refused(&refusal, FailedForm::Delete)).await
}

/// `GET /account/deleted`: what stays of an account that its user has just deleted.
pub(in crate::http) async fn show_deleted(visit: Visit) -> Response {
    if visit.caller().is_some() {
        return visit.redirect("/account");
    }
    let kept_days = visit.doorward().settings().audit.longest_retention_days();
    let message = Message::AccountDeleted { kept_days };
    visit.message(StatusCode::OK, message, LinkTo::Start, "/")
}
