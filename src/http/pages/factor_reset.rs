//! `/factors/reset`: removes all second factors with the link of the operator, and the password of whoever has one.

use axum::response::Response;

use super::{
    form_refusal::FormFailure,
    one_time::{Sent, link_page, refused},
    view::{CodeEntry, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::factor_reset::use_link,
    credential::password::Password,
    http::{
        Error,
        form::{FaultRecorded, PageForm, form},
    },
    token::one_time::SecretDigest,
};

form! {
    struct LinkOfOperator {
        code: SecretDigest,
        password: Option<Password>,
    }
}

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    match visit.parameter("code") {
        Some(secret) => Ok(link_page(&visit, &secret, OneTimeKind::ResetFactors, None).await?),
        None => Ok(visit.redirect("/sign-in")),
    }
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let done = match form.fields::<LinkOfOperator>(visit.doorward()) {
        Ok(LinkOfOperator { code, password }) => {
            let done = use_link(visit.doorward(), code, password, &visit.requester).await;
            done.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match done {
        Ok(_) => Ok(visit.redirect("/sign-in?done=factors")),
        Err(failure) => {
            let entry = CodeEntry::Link { secret: &sent.code, address: &sent.link };
            refused(&visit, failure, OneTimeKind::ResetFactors, &sent, entry, None)
        }
    }
}
