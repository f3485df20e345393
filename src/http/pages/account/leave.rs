//! The form of the account that deletes it.

use axum::response::Response;

use super::{
    super::{form_refusal::FormRefusal, view::FailedForm, visit::Visit},
    DELETED, Outcome, page,
};
use crate::{
    account::leave::leave,
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
};

pub(in super::super) async fn delete(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    let deleted = match form.current_password("password", &caller.user) {
        Ok(password) => {
            let requester = visit.source.requester;
            let deleted = leave(visit.doorward(), &caller.user, password, requester).await;
            deleted.map_err(Error::from)
        }
        Err(FaultRecorded) => Err(form.into_error()),
    };
    match deleted {
        Ok(()) => {
            let mut response = visit.redirect(&format!("/account?done={DELETED}"));
            visit.remove_cookie(&mut response);
            Ok(response)
        }
        Err(error) => {
            let refusal = FormRefusal::of(error, "password")?;
            let failed = FailedForm::Delete { password: refusal.fault("password") };
            page(&visit, caller, Outcome::Refused(&refusal, failed)).await
        }
    }
}
