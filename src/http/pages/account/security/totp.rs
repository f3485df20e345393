//! `/account/security/totp`: sets an authenticator app up. The secret is stored when the person has typed a code for it.

use axum::response::Response;

use super::{
    super::super::{
        form_refusal::{FormFailure, FormRefusal},
        return_target::{AppTarget, with_target},
        signed_in::SignedInVisit,
        view::{SetUpTotp, html},
    },
    Outcome, SECURITY, ask_to_remove, enrolled, is_confirmed,
};
use crate::{
    account::{
        self,
        factor::totp::{NewTotp, begin, confirm, remove, resume},
    },
    credential::{factor::FactorKind, qr::svg_path},
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
};

const PATH: &str = "/account/security/totp";

pub(in crate::http) async fn show_totp(visit: SignedInVisit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    match begin(visit.doorward(), &visit.caller) {
        Ok(new) => Ok(page(&visit, &new, app.as_ref(), None)),
        Err(account::Error::SignInAgain) => Ok(visit.way_to_step_up(PATH, app.as_ref())),
        Err(_) => Ok(visit.redirect(&with_target(SECURITY, app.as_ref()))),
    }
}

pub(in crate::http) async fn confirm_totp(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let setup = form.typed("setup");
    let failure = match form.required("code", Ok) {
        Ok(code) => {
            let (doorward, caller) = (visit.doorward(), &visit.caller);
            match confirm(doorward, caller, &setup, &code, &visit.requester).await {
                Ok(added) => return Ok(enrolled(&visit, added, app, "app")),
                // The page makes a new secret.
                Err(account::Error::SetupExpired) => {
                    return Ok(visit.redirect(&with_target(PATH, app.as_ref())));
                }
                Err(account::Error::FactorTaken | account::Error::FactorNotOffered) => {
                    return Ok(visit.redirect(&with_target(SECURITY, app.as_ref())));
                }
                Err(error) => FormFailure::from(error),
            }
        }
        Err(FaultRecorded) => FormFailure::faults_of(form),
    };
    let refusal = visit.refusal(failure, PATH, app.as_ref())?;
    match resume(visit.doorward(), &visit.caller, &setup) {
        Some(new) => Ok(page(&visit, &new, app.as_ref(), Some(&refusal))),
        None => Ok(visit.redirect(&with_target(PATH, app.as_ref()))),
    }
}

/// Asks first.
pub(in crate::http) async fn remove_totp(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    if !is_confirmed(&form) && visit.caller.user.factors.contains(FactorKind::Totp) {
        return ask_to_remove(&visit, None).await;
    }
    match remove(visit.doorward(), &visit.caller, &visit.requester).await {
        Ok(session) => {
            let mut response = visit.redirect(&format!("{SECURITY}?done=removed"));
            visit.set_session_cookie(&mut response, &session);
            Ok(response)
        }
        // An app that is gone already, as after a double click, is what the person wants.
        Err(account::Error::NoSuchFactor) => {
            Ok(visit.redirect(&format!("{SECURITY}?done=removed")))
        }
        Err(error) => {
            let refusal = visit.refusal(FormFailure::from(error), SECURITY, None)?;
            let outcome = Outcome { refusal: Some(&refusal), ..Outcome::default() };
            super::page(&visit, None, outcome).await
        }
    }
}

fn page(
    visit: &SignedInVisit,
    new: &NewTotp,
    app: Option<&AppTarget>,
    refusal: Option<&FormRefusal>,
) -> Response {
    let (qr, secret) = (svg_path(&new.uri), new.secret.to_text());
    let page = SetUpTotp {
        page: visit.context(),
        qr: qr.as_ref(),
        secret: &secret,
        uri: &new.uri,
        setup: &new.setup,
        target: app.map(|app| &*app.sealed),
        problem: refusal.into(),
    };
    visit.form(html(&page), refusal, app.map(|app| &*app.origin))
}
