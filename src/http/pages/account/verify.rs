//! The form of the account that mails the link and the code that verify the address once more.

use axum::response::Response;

use super::{
    super::{form_refusal::FormFailure, signed_in::SignedInVisit, view::FailedForm},
    Outcome, page,
};
use crate::{account::verify::send, http::Error};

pub(in crate::http) async fn send_verification(visit: SignedInVisit) -> Result<Response, Error> {
    match send(visit.doorward(), &visit.caller.user, &visit.requester, None).await {
        Ok(()) => Ok(visit.redirect("/account?done=verify-sent")),
        Err(error) => {
            let refusal = FormFailure::from(error).refusal()?;
            page(&visit, Outcome::Refused(&refusal, FailedForm::Verification)).await
        }
    }
}
