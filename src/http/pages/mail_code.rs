//! `/sign-in/code`: mails a link and a code to sign in with. `/sign-in/code/use`: signs in with them. The answer to the first
//! is the same for every address.

use axum::response::Response;

use super::{
    form_refusal::{FormFailure, FormRefusal},
    one_time::{Sent, form_page, link_page, refused},
    return_target::{AppTarget, with_target},
    session_cookie::persistence,
    text::Notice,
    view::{CodeEntry, MailRequest, MailRequestKind, OneTimeForm, OneTimeKind},
    visit::Visit,
};
use crate::{
    account::{
        SignInError,
        mail_code::{send, sign_in},
        one_time::OneTimeError,
    },
    config::MailCodeSignIn,
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::Email,
};

pub(in crate::http) async fn show(visit: Visit) -> Response {
    let app = AppTarget::of(&visit);
    if !visit.doorward().signs_in_by_mail() {
        return visit.redirect(&with_target("/sign-in", app.as_ref()));
    }
    page(&visit, app.as_ref(), "", None)
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
    match sent {
        Ok(()) => {
            let page = OneTimeForm {
                kind: OneTimeKind::SignIn,
                entry: CodeEntry::Mailed(&typed),
                notice: Some(Notice::MailSent),
                ..OneTimeForm::default()
            };
            Ok(form_page(&visit, page, app.as_ref(), None))
        }
        Err(failure) => {
            let refusal = failure.refusal()?;
            Ok(page(&visit, app.as_ref(), &typed, Some(&refusal)))
        }
    }
}

fn page(
    visit: &Visit,
    app: Option<&AppTarget>,
    email: &str,
    refusal: Option<&FormRefusal>,
) -> Response {
    let page = MailRequest {
        kind: MailRequestKind::SignIn,
        app: app.map(|app| &*app.title),
        target: app.map(|app| &*app.sealed),
        only_without_password: visit.doorward().settings().mail_code_sign_in
            == MailCodeSignIn::WithoutPassword,
        email,
        error: refusal.and_then(|refusal| refusal.error),
        email_fault: refusal.and_then(|refusal| refusal.fault("email")),
    };
    visit.form(page.render(&visit.context()), refusal, app.map(|app| &*app.origin))
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
    let opened = match form.presented() {
        Ok(presented) => {
            let persistence = persistence(sent.stay);
            let opened = sign_in(visit.doorward(), presented, &visit.requester, persistence).await;
            opened.map_err(|error| match error {
                SignInError::WrongCredentials => OneTimeError::WrongCode.into(),
                error => error.into(),
            })
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
