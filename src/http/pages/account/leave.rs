//! The form of the account that deletes it.

use axum::response::Response;

use super::{
    super::{form_refusal::FormFailure, view::FailedForm, visit::SignedInVisit},
    DELETE, DELETED, Outcome, page,
};
use crate::{
    account::{leave::leave, proof::Proof},
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
};

pub(in crate::http) async fn delete(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let deleted = match form.current_password("password", &visit.caller.user) {
        Ok(password) => {
            let requester = &visit.requester;
            let deleted = leave(
                visit.doorward(),
                &visit.caller,
                Proof::of(&visit.caller, password),
                requester,
            )
            .await;
            deleted.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match deleted {
        Ok(()) => {
            let mut response = visit.redirect(&format!("/account?done={DELETED}"));
            visit.remove_cookie(&mut response);
            Ok(response)
        }
        Err(failure) => {
            let refusal = visit.refusal(failure, DELETE, None)?;
            let failed = FailedForm::Delete { password: refusal.password_fault("password") };
            page(&visit, Outcome::Refused(&refusal, failed)).await
        }
    }
}
