//! `/step-up`: a signed-in person proves once more who they are, or more than before. A guard or a page of the account sends them
//! here, and from here they return.

use axum::{http::StatusCode, response::Response};

use super::{
    factor::{Destination, Prompt, page, submit_answer},
    form_refusal::{FormFailure, FormRefusal},
    login_buttons::buttons_to_ask_again,
    return_target::{AppTarget, with_target},
    signed_in::{SignedInForm, SignedInVisit},
    step_up_request::{SECURITY_FOR_PASSKEY, StepUp},
    text::{LinkTo, Message},
};
use crate::{
    access::guard::Ask,
    account::{
        self,
        factor::step_up::{begin, with_password},
        proof::RECENT,
    },
    credential::{factor::FactorKind, password::Password},
    http::Error,
};

pub(in crate::http) async fn show(visit: SignedInVisit) -> Result<Response, Error> {
    let step_up = StepUp::new(visit.parameter("ask"), visit.parameter("next"));
    let (app, caller) = (AppTarget::of(&visit), &visit.caller);
    if step_up.is_met(visit.doorward(), caller, app.is_some()) {
        return Ok(Destination { app, step_up: Some(step_up) }.go_on(&visit, &caller.session));
    }
    if !step_up.can_be_met(caller) {
        let page = match step_up.needs_passkey() {
            true => SECURITY_FOR_PASSKEY,
            false => "/account/security",
        };
        return Ok(visit.redirect(&with_target(page, app.as_ref())));
    }
    ask(&visit, &Destination { app, step_up: Some(step_up) }, None).await
}

pub(in crate::http) async fn submit(
    SignedInForm { visit, mut form, app }: SignedInForm,
) -> Result<Response, Error> {
    let step_up = StepUp::new(Some(form.typed("ask")), Some(form.typed("next")));
    let destination = Destination { app, step_up: Some(step_up) };
    if !form.typed("challenge").is_empty() {
        return submit_answer(&visit, form, destination).await;
    }
    let needs_passkey = destination.step_up.as_ref().is_some_and(StepUp::needs_passkey);
    let (doorward, caller, requester) = (visit.doorward(), &visit.caller, &visit.requester);
    let failure = match form.required("password", |typed| Ok(Password::unchecked(typed))) {
        // Where a passkey is asked for, the password only comes before a security key.
        Ok(_) if needs_passkey && !caller.user.factors.contains(FactorKind::SecurityKey) => {
            FormFailure::needs_passkey()
        }
        Ok(password) => match with_password(doorward, caller, password, requester).await {
            Ok(opened) => {
                let mut response = destination.go_on(&visit, &opened.session);
                visit.set_session_cookie(&mut response, &opened.session);
                return Ok(response);
            }
            Err(account::Error::FactorMissing(missing)) => {
                return Ok(page(&visit, &destination, Some(&missing), &Prompt::default()));
            }
            Err(error) => error.into(),
        },
        Err(_) => FormFailure::faults_of(form),
    };
    ask(&visit, &destination, Some(&failure.refusal()?)).await
}

/// Asks for what is enough: a passkey, or the password, which a factor follows.
async fn ask(
    visit: &SignedInVisit,
    destination: &Destination,
    refusal: Option<&FormRefusal>,
) -> Result<Response, Error> {
    let (doorward, caller, user) = (visit.doorward(), &visit.caller, &visit.caller.user);
    let needs_passkey = destination.step_up.as_ref().is_some_and(StepUp::needs_passkey);
    // An app may ask for a sign-in of the last minute.
    let most_age = if destination.app.is_some() { Ask::MIN_AGE } else { RECENT };
    let missing = match user.factors.is_empty() {
        true => None,
        false => Some(begin(doorward, caller, most_age).await?),
    };
    let has_factor = missing.as_ref().is_some_and(|missing| !missing.factors.is_empty());
    let may_begin_with_password = !needs_passkey || user.factors.contains(FactorKind::SecurityKey);
    let has_password = user.has_password() && may_begin_with_password;
    let logins = match needs_passkey {
        true => Vec::new(),
        false => buttons_to_ask_again(doorward, user.id).await?,
    };
    if !has_factor && !has_password && logins.is_empty() {
        let path = match doorward.signs_in_by_mail() {
            true => with_target("/sign-in/code", destination.app.as_ref()),
            false => with_target("/sign-in?other=1", destination.app.as_ref()),
        };
        let message = match destination.app {
            Some(_) => Message::SignInAgainForApp,
            None => Message::SignInAgain,
        };
        return Ok(visit.message(StatusCode::OK, message, LinkTo::SignIn, &path));
    }
    let missing = missing.filter(|_| has_factor);
    // Not every provider asks again, so nobody is left with that alone.
    let has_mail_code = !has_factor && !has_password && doorward.signs_in_by_mail();
    let logins = &*logins;
    let prompt = Prompt { refusal, has_password, logins, has_mail_code, ..Prompt::default() };
    Ok(page(visit, destination, missing.as_ref(), &prompt))
}
