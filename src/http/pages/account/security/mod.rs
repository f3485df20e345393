//! `/account/security`: the second factors of a person. Adding and removing one needs a sign-in that is not long ago, and people
//! return from it to where they were.

mod logins;
mod passkeys;
mod recovery_codes;
mod totp;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

pub(in crate::http) use self::{
    logins::remove_login,
    passkeys::{
        add_key, add_passkey, remove_passkey, rename_passkey, show_add_key, show_add_passkey,
        show_passkey,
    },
    recovery_codes::replace_codes,
    totp::{confirm_totp, remove_totp, show_totp},
};
use super::super::{
    answer::allow_script,
    form_refusal::FormRefusal,
    login_buttons::buttons,
    return_target::{AppTarget, with_target},
    signed_in::SignedInVisit,
    text::Notice,
    view::{RemoveFactor, Security, Signal, html},
    visit::SIGN_IN,
};
use crate::{
    access::guard::Ask,
    account::{
        factor::{Enrolled, totp::is_offered},
        identities::{self, label},
        keys::of_user,
        proof::is_fresh,
        trusted_devices,
    },
    http::{
        Error,
        form::{Form, PageForm},
        webauthn::{AcceptedCredentials, UnknownCredential, json},
    },
    user::{HeldFactors, Passkey},
};

const SECURITY: &str = "/account/security";

pub(in crate::http) async fn show_security(visit: SignedInVisit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    let notice = match visit.parameter("done").as_deref() {
        Some("confirmed") => Some(Notice::Confirmed),
        Some("recovered") => Some(Notice::Recovered),
        Some("passkey") => Some(Notice::PasskeyAdded),
        Some("key") => Some(Notice::KeyAdded),
        Some("app") => Some(Notice::AppAdded),
        Some("renamed") => Some(Notice::PasskeyRenamed),
        Some("removed") => Some(Notice::FactorRemoved),
        Some("device") => Some(Notice::DeviceRemoved),
        Some("linked") => Some(Notice::LoginLinked),
        Some("not-linked") => Some(Notice::LoginNotLinked),
        Some("login-removed") => Some(Notice::LoginRemoved),
        _ => None,
    };
    page(&visit, app.as_ref(), Outcome { notice, ..Outcome::default() }).await
}

/// `POST /account/security/devices/remove`
pub(in crate::http) async fn remove_device(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let mut response = visit.redirect(&format!("{SECURITY}?done=device"));
    if let Ok(id) = form.typed("id").parse() {
        // A browser that is gone already, as after a double click, is what the person wants.
        let (doorward, requester) = (visit.doorward(), &visit.requester);
        if let Some(session) =
            trusted_devices::remove(doorward, &visit.caller, id, requester).await?
        {
            visit.set_session_cookie(&mut response, &session);
        }
    }
    Ok(response)
}

/// What just happened.
#[derive(Default)]
struct Outcome<'a> {
    notice: Option<Notice>,
    refusal: Option<&'a FormRefusal>,
    /// The passkey that was just removed. Password managers are told to forget it.
    removed: Option<&'a Passkey>,
}

async fn page(
    visit: &SignedInVisit,
    app: Option<&AppTarget>,
    outcome: Outcome<'_>,
) -> Result<Response, Error> {
    let (doorward, caller) = (visit.doorward(), &visit.caller);
    let Outcome { notice, refusal, removed } = outcome;
    let HeldFactors { passkeys, totp, recovery_codes, trusted_devices } =
        doorward.store().factors_of(&caller.user, doorward.now()).await?;
    let relying_party = doorward.passkey_relying_party();
    let unknown =
        removed.map(|passkey| UnknownCredential::new(&passkey.rp_id, &passkey.credential_id));
    let unknown = unknown.map(|unknown| json(&unknown));
    let accepted = relying_party
        .as_ref()
        .and_then(|relying_party| AcceptedCredentials::of(&passkeys, &relying_party.id))
        .map(|accepted| json(&accepted));
    let signal = match (&unknown, &accepted) {
        (Some(unknown), _) => Some(Signal::Unknown(unknown)),
        (None, Some(accepted)) => Some(Signal::AllAccepted(accepted)),
        (None, None) => None,
    };
    let identities = identities::of_user(doorward, caller.user.id).await?;
    let labels: Vec<_> =
        identities.iter().map(|identity| label(doorward, &identity.login)).collect();
    let logins = buttons(doorward);
    let held = &caller.user.factors;
    let needs_passkey = asks_for_passkey(visit) && !held.resist_phishing();
    let title = app.map(|app| &*app.title);
    let page = Security {
        page: visit.context(),
        now: doorward.now(),
        app: title.filter(|_| held.is_empty() || needs_passkey),
        needs_passkey,
        go_on: title.filter(|_| notice == Some(Notice::Recovered)),
        target: app.map(|app| &*app.sealed),
        is_fresh: is_fresh(doorward, &caller.user, &caller.session),
        offers_passkeys: relying_party.is_some(),
        lacks_passkeys: relying_party.is_none()
            && doorward.settings().lacks_passkeys_because().is_some(),
        offers_totp: is_offered(doorward),
        has_keys: doorward.guards().iter().any(|guard| guard.keys)
            || !of_user(doorward, caller.user.id).await?.is_empty(),
        passkeys: &passkeys,
        totp: totp.as_ref(),
        recovery_codes,
        devices: &trusted_devices,
        identities: &identities,
        labels: &labels,
        logins: &logins,
        signal,
        notice,
        problem: refusal.into(),
    };
    let mut response = visit.form(html(&page), refusal, None);
    if page.signal.is_some() {
        allow_script(&mut response);
    }
    Ok(response)
}

/// Whether the person has answered the question before a factor is removed.
fn is_confirmed(form: &Form) -> bool {
    !form.typed("confirmed").is_empty()
}

/// The question before a factor is removed: this passkey, or the authenticator app.
async fn ask_to_remove(
    visit: &SignedInVisit,
    passkey: Option<&Passkey>,
) -> Result<Response, Error> {
    let (doorward, user) = (visit.doorward(), &visit.caller.user);
    if !is_fresh(doorward, user, &visit.caller.session) {
        return Ok(visit.way_to_step_up(SECURITY, None));
    }
    let held = doorward.store().factors_of(user, doorward.now()).await?;
    let is_last = held.passkeys.len() + usize::from(held.totp.is_some()) == 1;
    let page = RemoveFactor { page: visit.context(), passkey, is_last };
    Ok(visit.page(StatusCode::OK, html(&page)))
}

/// Whether an app has sent the person here because it takes nothing but a passkey or a security key.
fn asks_for_passkey(visit: &SignedInVisit) -> bool {
    visit.parameter("ask").as_deref() == Some(Ask::PhishingResistant.name())
}

/// Answers after a factor was added: with the recovery codes that come with the first one, or leads on.
fn enrolled(
    visit: &SignedInVisit,
    enrolled: Enrolled,
    app: Option<AppTarget>,
    done: &str,
) -> Response {
    let Enrolled { recovery_codes, opened } = enrolled;
    let on = format!("{SECURITY}?done={done}");
    let mut response = match (recovery_codes, app) {
        (Some(codes), app) => {
            // The sign-in page leads those who are signed in to the app.
            let on = app.map_or(on, |app| with_target(SIGN_IN, Some(&app)));
            recovery_codes::page(visit, &codes, &on)
        }
        (None, Some(app)) => {
            app.redirect(visit, &opened.session).unwrap_or_else(Error::into_response)
        }
        (None, None) => visit.redirect(&on),
    };
    visit.set_session_cookie(&mut response, &opened.session);
    response
}
