//! `/sign-in/code`: mails a link and a code to sign in with. `/sign-in/code/use`: signs in with them. The answer to the first
//! is the same for every address.

use axum::response::Response;

use super::{
    factor::{self, Destination, Prompt},
    form_refusal::FormFailure,
    mail_request,
    one_time::{Sent, link_page, refused},
    return_target::{AppTarget, with_target},
    view::{CodeEntry, MailRequestKind, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::{
        self,
        mail_code::{send, sign_in},
    },
    http::{
        Error,
        form::{FaultRecorded, PageForm},
        mail_forms::MailedCode,
    },
    user::Email,
};

pub(in crate::http) async fn show(visit: Visit) -> Response {
    let app = AppTarget::of(&visit);
    if !visit.doorward().signs_in_by_mail() {
        return visit.redirect(&with_target("/sign-in", app.as_ref()));
    }
    mail_request::page(&visit, MailRequestKind::SignIn, app.as_ref(), "", None)
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("email");
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let sent = match form.required("email", Email::parse) {
        Ok(email) => {
            let target = app.as_ref().map(|app| app.for_mail(visit.doorward()));
            let sent = send(visit.doorward(), email, &visit.requester, target.as_ref()).await;
            sent.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    mail_request::answer(&visit, MailRequestKind::SignIn, app.as_ref(), &typed, sent)
}

pub(in crate::http) async fn show_use(visit: Visit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    match visit.parameter("code") {
        Some(secret) => Ok(link_page(&visit, &secret, OneTimeKind::SignIn, app.as_ref()).await?),
        None => Ok(visit.redirect(&with_target("/sign-in/code", app.as_ref()))),
    }
}

pub(in crate::http) async fn submit_use(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let opened = match form.fields::<MailedCode>(visit.doorward()) {
        Ok(mailed) => {
            let options = visit.sign_in_options(sent.stay);
            let opened = sign_in(visit.doorward(), mailed.into(), &visit.requester, &options).await;
            match opened {
                Err(account::Error::FactorMissing(missing)) => {
                    let destination = Destination { app, step_up: None };
                    return Ok(factor::page(
                        &visit,
                        &destination,
                        Some(&missing),
                        &Prompt::default(),
                    ));
                }
                Err(account::Error::WrongCredentials) => Err(account::Error::WrongCode.into()),
                opened => opened.map_err(FormFailure::from),
            }
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match opened {
        Ok(opened) => Ok(visit.begin_session(&opened, app).await),
        Err(failure) => {
            let typed = match sent.email.is_empty() {
                true => CodeEntry::Typed { email: "" },
                false => CodeEntry::Mailed(&sent.email),
            };
            refused(&visit, failure, OneTimeKind::SignIn, &sent, typed, app.as_ref())
        }
    }
}
