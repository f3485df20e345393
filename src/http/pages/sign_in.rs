//! `/sign-in`: one form for the e-mail address and the password. Every failed sign-in gets the same answer.

use axum::response::Response;

use super::{
    form_refusal::{FormFailure, FormRefusal},
    return_target::AppTarget,
    session_cookie::persistence,
    text::Notice,
    view,
    visit::{Visit, Visitor},
};
use crate::{
    access::registration::RegistrationPolicy,
    account::sign_in::sign_in,
    credential::password::Password,
    http::{Error, form::PageForm},
    user::EmailKey,
};

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    // A signed-in person is asked to sign in only if they want to be somebody else.
    if let Some(caller) = visit.caller()
        && visit.parameter("other").is_none()
    {
        return match app {
            Some(app) => app.redirect(&visit, &caller.session),
            None => Ok(visit.redirect("/account")),
        };
    }
    Ok(page(&visit, app.as_ref(), &Typed::default(), notice(&visit), None))
}

/// What just happened.
fn notice(visit: &Visit) -> Option<Notice> {
    match (visit.parameter("signed-out").as_deref(), visit.parameter("done").as_deref()) {
        (Some("everywhere"), _) => Some(Notice::SignedOutEverywhere),
        (Some(_), _) => Some(Notice::SignedOut),
        (None, Some("reset")) => Some(Notice::PasswordReset),
        (None, Some("verified")) => Some(Notice::EmailVerified),
        (None, Some("restored")) => Some(Notice::EmailRestored),
        _ => matches!(visit.visitor, Visitor::SignedOut).then_some(Notice::SessionExpired),
    }
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = Typed { email: form.typed("email"), stay: !form.typed("stay").is_empty() };
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    // From a page that knows the address already.
    if !form.typed("prefill").is_empty() {
        return Ok(page(&visit, app.as_ref(), &typed, None, None));
    }
    let email = form.required("email", |typed| Ok(EmailKey::of(&typed)));
    let password = form.required("password", |typed| Ok(Password::unchecked(typed)));
    let opened = match (email, password) {
        (Ok(email), Ok(password)) => {
            let persistence = persistence(typed.stay);
            let opened =
                sign_in(visit.doorward(), &email, password, &visit.requester, persistence).await;
            opened.map_err(FormFailure::from)
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match opened {
        Ok(opened) => Ok(visit.begin_session(&opened, app).await),
        Err(failure) => {
            let refusal = failure.refusal()?;
            Ok(page(&visit, app.as_ref(), &typed, None, Some(&refusal)))
        }
    }
}

/// What the person typed, except the password.
#[derive(Default)]
struct Typed {
    email: String,
    stay: bool,
}

fn page(
    visit: &Visit,
    app: Option<&AppTarget>,
    typed: &Typed,
    notice: Option<Notice>,
    refusal: Option<&FormRefusal>,
) -> Response {
    let fault = |field| refusal.and_then(|refusal| refusal.fault(field));
    let page = view::SignIn {
        app: app.map(|app| &*app.title),
        email: &typed.email,
        stay: typed.stay,
        target: app.map(|app| &*app.sealed),
        sends_mail: visit.doorward().sends_mail(),
        has_mail_code: visit.doorward().signs_in_by_mail(),
        has_sign_up: visit.doorward().settings().registration != RegistrationPolicy::Closed,
        notice,
        error: refusal.and_then(|refusal| refusal.error),
        email_fault: fault("email"),
        password_fault: fault("password"),
    };
    visit.form(page.render(&visit.context()), refusal, app.map(|app| &*app.origin))
}
