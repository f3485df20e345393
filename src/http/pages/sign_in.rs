//! `/sign-in`: one form for the e-mail address and the password, or a passkey. Every failed sign-in gets the same answer.

use axum::response::Response;

use super::{
    answer::allow_script,
    factor::{self, Destination, Prompt},
    form_refusal::{AnswerKind, FormFailure, FormRefusal},
    login_buttons::{buttons, lead_to, way_to_renew},
    return_target::{AppTarget, with_target},
    session_cookie::persistence,
    text::Notice,
    view::{self, Signal, html},
    visit::{SIGN_IN, Visit, Visitor},
};
use crate::{
    access::registration::RegistrationPolicy,
    account::{
        self,
        factor::answer::{Answer, AnswerOptions, AnsweredIn, answer, open_challenge},
        sign_in::{elsewhere, sign_in},
    },
    credential::password::Password,
    http::{
        Error,
        form::PageForm,
        webauthn::{RequestOptions, UnknownCredential, json},
    },
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
    if visit.parameter("other").is_none()
        && let Some(path) = way_to_renew(&visit).await?
    {
        return Ok(visit.redirect(&with_target(&path, app.as_ref())));
    }
    Ok(page(&visit, app.as_ref(), &Typed::default(), notice(&visit), None))
}

/// What just happened.
fn notice(visit: &Visit) -> Option<Notice> {
    match (visit.parameter("signed-out").as_deref(), visit.parameter("done").as_deref()) {
        (Some("everywhere"), _) => Some(Notice::SignedOutEverywhere),
        (Some(_), _) => Some(Notice::SignedOut),
        (None, Some("reset")) => Some(Notice::PasswordReset),
        (None, Some("factors")) => Some(Notice::FactorsReset),
        (None, Some("verified")) => Some(Notice::EmailVerified),
        (None, Some("restored")) => Some(Notice::EmailRestored),
        (None, Some("expired")) => Some(Notice::AnswerExpired),
        (None, Some("session")) => Some(Notice::SessionExpired),
        _ => matches!(visit.visitor, Visitor::SignedOut(_)).then_some(Notice::SessionExpired),
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
    if let Some(login) = elsewhere(visit.doorward(), &EmailKey::of(&typed.email))
        // Whoever comes from there signs in here to link the account.
        && visit.pending_link().is_none_or(|link| link.account.login != login.name)
    {
        return Ok(lead_to(&visit, &login, app.as_ref()));
    }
    let email = form.required("email", |typed| Ok(EmailKey::of(&typed)));
    let password = form.required("password", |typed| Ok(Password::unchecked(typed)));
    let opened = match (email, password) {
        (Ok(email), Ok(password)) => {
            let options = visit.sign_in_options(typed.stay);
            match sign_in(visit.doorward(), &email, password, &visit.requester, &options).await {
                Err(account::Error::FactorMissing(missing)) => {
                    let destination = Destination { app, step_up: None };
                    return Ok(factor::page(
                        &visit,
                        &destination,
                        Some(&missing),
                        &Prompt::default(),
                    ));
                }
                opened => opened.map_err(FormFailure::from),
            }
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

/// `POST /sign-in/passkey`: signs in with a passkey, which says whose it is.
pub(in crate::http) async fn submit_passkey(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = Typed { email: form.typed("email"), stay: !form.typed("stay").is_empty() };
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let sealed = form.typed("challenge");
    let Ok(Answer::Passkey(response)) = form.fields::<Answer>(visit.doorward()) else {
        let refusal = FormFailure::refused_passkey().refusal()?;
        return Ok(page(&visit, app.as_ref(), &typed, None, Some(&refusal)));
    };
    let credential = response.raw_id.clone();
    let persistence = Some(persistence(typed.stay));
    let answered_in = AnsweredIn::SignIn;
    let options = AnswerOptions { persistence, answered_in, ..AnswerOptions::default() };
    let given = Answer::Passkey(response);
    match answer(visit.doorward(), &sealed, given, options, &visit.requester).await {
        Ok(answered) => Ok(visit.begin_session(&answered.opened, app).await),
        Err(account::Error::ChallengeExpired) => {
            Ok(visit.redirect(&with_target(&format!("{SIGN_IN}?done=expired"), app.as_ref())))
        }
        Err(error) => {
            let is_unknown = matches!(error, account::Error::UnknownPasskey);
            let refusal = FormFailure::of_answer(error, AnswerKind::Passkey).refusal()?;
            let unknown = is_unknown.then_some(&*credential);
            Ok(page_about(&visit, app.as_ref(), &typed, None, Some(&refusal), unknown))
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
    page_about(visit, app, typed, notice, refusal, None)
}

/// The page, which tells password managers to forget a passkey that is not known.
fn page_about(
    visit: &Visit,
    app: Option<&AppTarget>,
    typed: &Typed,
    notice: Option<Notice>,
    refusal: Option<&FormRefusal>,
    unknown: Option<&[u8]>,
) -> Response {
    let relying_party = visit.doorward().passkey_relying_party();
    let passkey = relying_party.as_ref().map(|relying_party| {
        let challenge = open_challenge(visit.doorward());
        let options = RequestOptions::of_anybody(&challenge, relying_party.id.clone());
        (challenge, json(&options))
    });
    let signal = relying_party
        .zip(unknown)
        .map(|(relying_party, id)| json(&UnknownCredential::new(&relying_party.id, id)));
    let logins = buttons(visit.doorward());
    let page = view::SignIn {
        page: visit.context(),
        app: app.map(|app| &*app.title),
        email: &typed.email,
        stay: typed.stay,
        target: app.map(|app| &*app.sealed),
        sends_mail: visit.doorward().sends_mail(),
        has_mail_code: visit.doorward().signs_in_by_mail(),
        passkey: passkey.as_ref().map(|(challenge, options)| (&**challenge, &**options)),
        signal: signal.as_deref().map(Signal::Unknown),
        logins: &logins,
        has_sign_up: visit.doorward().settings().registration != RegistrationPolicy::Closed,
        notice,
        problem: refusal.into(),
    };
    let mut response = visit.form(html(&page), refusal, app.map(|app| &*app.origin));
    if passkey.is_some() {
        allow_script(&mut response);
    }
    response
}
