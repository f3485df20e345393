//! The form of the account that mails the link and the code that verify the address once more.

use axum::response::Response;

use super::{
    super::{form_refusal::FormRefusal, view::FailedForm, visit::Visit},
    Outcome, page,
};
use crate::{account::verify::send, http::Error};

pub(in super::super) async fn send_verification(visit: Visit) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    match send(visit.doorward(), &caller.user, visit.source.requester).await {
        Ok(()) => Ok(visit.redirect("/account?done=verify-sent")),
        Err(error) => {
            let refusal = FormRefusal::of(error.into(), "password")?;
            page(&visit, caller, Outcome::Refused(&refusal, FailedForm::Verification)).await
        }
    }
}
