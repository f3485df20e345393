//! `POST /account/security/codes`: new recovery codes in the place of all others. They are shown once, in the answer.

use axum::{http::StatusCode, response::Response};

use super::{
    super::super::{
        form_refusal::FormFailure,
        signed_in::SignedInVisit,
        view::{RecoveryCodes, html},
    },
    Outcome, SECURITY,
};
use crate::{
    account::{self, factor::recovery_codes::replace},
    credential::recovery_code::RecoveryCode,
    http::Error,
};

pub(in crate::http) async fn replace_codes(visit: SignedInVisit) -> Result<Response, Error> {
    match replace(visit.doorward(), &visit.caller, &visit.requester).await {
        Ok(codes) => Ok(page(&visit, &codes, SECURITY)),
        Err(account::Error::NoSuchFactor) => Ok(visit.redirect(SECURITY)),
        Err(error) => {
            let refusal = visit.refusal(FormFailure::from(error), SECURITY, None)?;
            let outcome = Outcome { refusal: Some(&refusal), ..Outcome::default() };
            super::page(&visit, None, outcome).await
        }
    }
}

/// The page with all codes, from which the person goes on to `on`.
pub(super) fn page(visit: &SignedInVisit, codes: &[RecoveryCode], on: &str) -> Response {
    let codes: Vec<_> = codes.iter().map(ToString::to_string).collect();
    let email = visit.caller.user.email.as_str();
    let page = RecoveryCodes { page: visit.context(), codes: &codes, email, go_on: on };
    visit.page(StatusCode::OK, html(&page))
}
