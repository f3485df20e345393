//! `/account/security/link`: links an account at another provider, after whoever has it has signed in here.

use axum::response::Response;

use super::{
    form_refusal::{FormFailure, FormRefusal},
    return_target::AppTarget,
    signed_in::{SignedInForm, SignedInVisit},
    view::{LinkLogin, html},
    visit::append_cookie,
};
use crate::{
    account::{
        self,
        identities::{label, link},
        proof::is_fresh,
    },
    http::Error,
    token::external::PendingLink,
};

/// The page.
pub(super) const LINK: &str = "/account/security/link";

pub(super) const SECURITY: &str = "/account/security";

pub(in crate::http) async fn show(visit: SignedInVisit) -> Result<Response, Error> {
    let Some(pending) = visit.pending_link() else { return Ok(visit.redirect(SECURITY)) };
    if visit.parameter("no").is_some() {
        let app = pending.target.and_then(|sealed| AppTarget::open(visit.doorward(), sealed));
        return go_on(&visit, app, "not-linked");
    }
    if !is_fresh(visit.doorward(), &visit.caller.user, &visit.caller.session) {
        return Ok(visit.way_to_step_up(LINK, None));
    }
    Ok(page(&visit, &pending, None))
}

/// Leads on to the app, or to what just happened.
fn go_on(visit: &SignedInVisit, app: Option<AppTarget>, done: &str) -> Result<Response, Error> {
    let mut response = match app {
        Some(app) => app.redirect(visit, &visit.caller.session)?,
        None => visit.redirect(&format!("{SECURITY}?done={done}")),
    };
    let names = visit.pages.cookie_names();
    append_cookie(&mut response, names.remove(&names.pending_link()));
    Ok(response)
}

fn page(visit: &SignedInVisit, pending: &PendingLink, refusal: Option<&FormRefusal>) -> Response {
    let app = pending.target.clone().and_then(|sealed| AppTarget::open(visit.doorward(), sealed));
    let page = LinkLogin {
        page: visit.context(),
        label: &label(visit.doorward(), &pending.account.login),
        display: &pending.account.display,
        target: pending.target.as_deref(),
        problem: refusal.into(),
    };
    visit.form(html(&page), refusal, app.map(|app| app.origin).as_deref())
}

pub(in crate::http) async fn submit(
    SignedInForm { visit, app, .. }: SignedInForm,
) -> Result<Response, Error> {
    let Some(pending) = visit.pending_link() else { return Ok(visit.redirect(SECURITY)) };
    match link(visit.doorward(), &visit.caller, &pending, &visit.requester).await {
        Ok(()) => go_on(&visit, app, "linked"),
        Err(account::Error::SignInAgain) => Ok(visit.way_to_step_up(LINK, None)),
        Err(error) => {
            let refusal = FormFailure::from(error).refusal()?;
            Ok(page(&visit, &pending, Some(&refusal)))
        }
    }
}
