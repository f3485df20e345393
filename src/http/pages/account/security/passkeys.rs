//! `/account/security/passkey` and `/account/security/key`: add a passkey or a security key. `/account/security/passkeys/{id}`:
//! renames or removes one.

use axum::response::Response;

use super::{
    super::super::{
        answer::allow_script,
        form_refusal::{FormFailure, FormRefusal},
        return_target::{AppTarget, with_target},
        signed_in::SignedInVisit,
        view::{AddPasskey, EditPasskey, html},
    },
    Outcome, SECURITY, ask_to_remove, enrolled, is_confirmed,
};
use crate::{
    account::{
        self,
        factor::passkey::{MadePasskey, NewPasskey, begin, enrol, remove, rename},
    },
    credential::factor::FactorKind,
    http::{
        Error,
        factor_forms::PostedPasskey,
        form::{FaultRecorded, PageForm},
        path_id::PathId,
        webauthn::{CreationOptions, json},
    },
    user::{FactorId, Name, Passkey},
};

pub(in crate::http) async fn show_add_passkey(visit: SignedInVisit) -> Result<Response, Error> {
    show_add(visit, FactorKind::Passkey).await
}

pub(in crate::http) async fn show_add_key(visit: SignedInVisit) -> Result<Response, Error> {
    show_add(visit, FactorKind::SecurityKey).await
}

pub(in crate::http) async fn add_passkey(
    visit: SignedInVisit,
    form: PageForm,
) -> Result<Response, Error> {
    add(visit, form, FactorKind::Passkey).await
}

pub(in crate::http) async fn add_key(
    visit: SignedInVisit,
    form: PageForm,
) -> Result<Response, Error> {
    add(visit, form, FactorKind::SecurityKey).await
}

fn path(kind: FactorKind) -> &'static str {
    match kind {
        FactorKind::SecurityKey => "/account/security/key",
        _ => "/account/security/passkey",
    }
}

async fn show_add(visit: SignedInVisit, kind: FactorKind) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    add_page(&visit, kind, app.as_ref(), "", None).await
}

async fn add(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
    kind: FactorKind,
) -> Result<Response, Error> {
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let (setup, typed) = (form.typed("setup"), form.typed("name"));
    let failure = match form.fields::<PostedPasskey>(visit.doorward()).map(MadePasskey::from) {
        Ok(made) => {
            let (doorward, caller) = (visit.doorward(), &visit.caller);
            match enrol(doorward, caller, &setup, made, &visit.requester).await {
                Ok(added) => return Ok(enrolled(&visit, added, app, kind.name())),
                // The page asks for another one.
                Err(account::Error::SetupExpired) => {
                    return Ok(visit.redirect(&with_target(path(kind), app.as_ref())));
                }
                Err(account::Error::FactorNotOffered) => return Ok(visit.redirect(SECURITY)),
                Err(error) => FormFailure::from(error),
            }
        }
        Err(FaultRecorded) => FormFailure::faults_of(form),
    };
    let refusal = visit.refusal(failure, path(kind), app.as_ref())?;
    add_page(&visit, kind, app.as_ref(), &typed, Some(&refusal)).await
}

async fn add_page(
    visit: &SignedInVisit,
    kind: FactorKind,
    app: Option<&AppTarget>,
    name: &str,
    refusal: Option<&FormRefusal>,
) -> Result<Response, Error> {
    let (doorward, user) = (visit.doorward(), &visit.caller.user);
    let new = match begin(doorward, &visit.caller, kind).await {
        Ok(new) => new,
        Err(account::Error::SignInAgain) => return Ok(visit.way_to_step_up(path(kind), app)),
        Err(error @ account::Error::TooManyPasskeys) => {
            let refusal = FormFailure::from(error).refusal()?;
            let outcome = Outcome { refusal: Some(&refusal), ..Outcome::default() };
            return super::page(visit, app, outcome).await;
        }
        Err(account::Error::FactorNotOffered) => return Ok(visit.redirect(SECURITY)),
        Err(error) => return Err(error.into()),
    };
    let options = json(&CreationOptions::new(&new, user, doorward.settings().service_name()));
    let NewPasskey { setup, .. } = &new;
    let page = AddPasskey {
        page: visit.context(),
        is_key: kind == FactorKind::SecurityKey,
        options: &options,
        setup,
        target: app.map(|app| &*app.sealed),
        has_password: user.has_password(),
        name,
        problem: refusal.into(),
    };
    let mut response = visit.form(html(&page), refusal, app.map(|app| &*app.origin));
    allow_script(&mut response);
    Ok(response)
}

pub(in crate::http) async fn show_passkey(
    visit: SignedInVisit,
    id: PathId<FactorId>,
) -> Result<Response, Error> {
    match held(&visit, Some(id.valid()?)).await? {
        Some(passkey) => Ok(edit_page(&visit, &passkey, &passkey.name, None)),
        None => Err(Error::NotFound),
    }
}

pub(in crate::http) async fn rename_passkey(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("name");
    let Some(passkey) = held(&visit, form.typed("id").parse().ok()).await? else {
        return Ok(visit.redirect(SECURITY));
    };
    let failure = match form.required("name", Name::parse) {
        Ok(name) => {
            let (doorward, caller) = (visit.doorward(), &visit.caller);
            match rename(doorward, caller, passkey.id, &name, &visit.requester).await {
                Ok(()) => return Ok(visit.redirect(&format!("{SECURITY}?done=renamed"))),
                Err(account::Error::NoSuchFactor) => return Ok(visit.redirect(SECURITY)),
                Err(error) => FormFailure::from(error),
            }
        }
        Err(FaultRecorded) => FormFailure::faults_of(form),
    };
    let refusal = visit.refusal(failure, SECURITY, None)?;
    Ok(edit_page(&visit, &passkey, &typed, Some(&refusal)))
}

/// Asks first. Then it answers with the page itself, which tells the browser what was removed. A redirect could not.
pub(in crate::http) async fn remove_passkey(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let Some(passkey) = held(&visit, form.typed("id").parse().ok()).await? else {
        return Ok(visit.redirect(&format!("{SECURITY}?done=removed")));
    };
    if !is_confirmed(&form) {
        return ask_to_remove(&visit, Some(&passkey)).await;
    }
    match remove(visit.doorward(), &visit.caller, passkey.id, &visit.requester).await {
        Ok(session) => {
            let notice = Some(super::Notice::FactorRemoved);
            let outcome = Outcome { notice, removed: Some(&passkey), ..Outcome::default() };
            let mut response = super::page(&visit, None, outcome).await?;
            visit.set_session_cookie(&mut response, &session);
            Ok(response)
        }
        // One that is gone already, as after a double click, is what the person wants.
        Err(account::Error::NoSuchFactor) => {
            Ok(visit.redirect(&format!("{SECURITY}?done=removed")))
        }
        Err(error) => {
            let refusal = visit.refusal(FormFailure::from(error), SECURITY, None)?;
            Ok(edit_page(&visit, &passkey, &passkey.name, Some(&refusal)))
        }
    }
}

/// The passkey with this id, if it is the person's.
async fn held(visit: &SignedInVisit, id: Option<FactorId>) -> Result<Option<Passkey>, Error> {
    let doorward = visit.doorward();
    let held = doorward.store().factors_of(&visit.caller.user, doorward.now()).await?;
    Ok(held.passkeys.into_iter().find(|passkey| Some(passkey.id) == id))
}

fn edit_page(
    visit: &SignedInVisit,
    passkey: &Passkey,
    typed: &str,
    refusal: Option<&FormRefusal>,
) -> Response {
    let page = EditPasskey {
        page: visit.context(),
        now: visit.doorward().now(),
        passkey,
        typed,
        problem: refusal.into(),
    };
    visit.form(html(&page), refusal, None)
}
