//! `/reset`: sets a new password with the link or the code in a mail, or with the reset code that the operator has created.

use axum::response::Response;
use zeroize::Zeroizing;

use super::{
    form_refusal::FormFailure,
    one_time::{Sent, form_page, link_page, refused},
    return_target::{AppTarget, with_target},
    view::{CodeEntry, OneTimeForm, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::reset::reset,
    credential::password::Password,
    http::{Error, form::PageForm},
    user::EmailKey,
};

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    if let Some(secret) = visit.parameter("code") {
        return Ok(link_page(&visit, &secret, OneTimeKind::Reset, app.as_ref()).await?);
    }
    Ok(form_page(&visit, OneTimeForm::new(visit.context()), app.as_ref(), None))
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let rules = visit.doorward().settings().password_rules();
    let code = form.required("code", |sent| Ok(Zeroizing::new(sent.trim().to_owned())));
    let email = form.optional("email", |typed| Ok(EmailKey::of(&typed)));
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let done = match (code, email, password) {
        (Ok(code), Ok(email), Ok(password)) => {
            let requester = &visit.requester;
            let outcome = reset(visit.doorward(), code, email, password, requester).await;
            outcome.map_err(FormFailure::from)
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match done {
        Ok(_) => Ok(visit.redirect(&with_target("/sign-in?done=reset", app.as_ref()))),
        Err(failure) => {
            let typed = match sent.email.is_empty() {
                true => CodeEntry::Operator,
                false => CodeEntry::Mailed(&sent.email),
            };
            refused(&visit, failure, OneTimeKind::Reset, &sent, typed, app.as_ref())
        }
    }
}
