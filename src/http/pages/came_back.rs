//! What becomes of somebody who has come back from another provider.

use axum::{http::StatusCode, response::Response};

use super::{
    factor::{self, Destination, Prompt},
    form_refusal::FormRefusal,
    login_buttons::buttons,
    return_target::{AppTarget, with_target},
    text::{LinkTo, Message},
    view::{NotSignedIn, ProveAddress, UnverifiedAccount, html},
    visit::{SIGN_IN, Visit, append_cookie},
};
use crate::{
    account::{
        self,
        external::{self, ExternalOutcome},
        external_error::ExternalError,
        identities,
    },
    event::ExternalFailure,
    federation::Login,
    http::Error,
    token::external::{ExternalSignIn, PendingLink},
};

pub(super) async fn sign_in(
    visit: &Visit,
    login: &Login,
    person: ExternalSignIn,
    app: Option<AppTarget>,
) -> Result<Response, Error> {
    let options = visit.sign_in_options(false);
    let outcome = external::sign_in(visit.doorward(), login, person, &options, &visit.requester);
    answer(visit, login, outcome.await, app).await
}

pub(super) async fn answer(
    visit: &Visit,
    login: &Login,
    outcome: Result<ExternalOutcome, ExternalError>,
    app: Option<AppTarget>,
) -> Result<Response, Error> {
    match outcome {
        Ok(ExternalOutcome::SignedIn(opened)) => Ok(visit.begin_session(&opened, app).await),
        Ok(ExternalOutcome::LinkFirst(pending)) => {
            let path = with_target(&format!("{SIGN_IN}?other=1"), app.as_ref());
            let page = visit.message(StatusCode::OK, Message::LinkFirst, LinkTo::SignIn, &path);
            Ok(with_pending_link(visit, pending, app.as_ref(), page))
        }
        Ok(ExternalOutcome::Unverified(person, pending)) => {
            let page = UnverifiedAccount {
                page: visit.context(),
                email: person.email.as_deref().unwrap_or_default(),
                person: &visit.doorward().cookies().seal_external(&person),
                target: app.as_ref().map(|app| &*app.sealed),
            };
            let page = visit.form(html(&page), None, app.as_ref().map(|app| &*app.origin));
            Ok(with_pending_link(visit, pending, app.as_ref(), page))
        }
        Ok(ExternalOutcome::ProveAddress(person)) => {
            let email = person.email.clone().unwrap_or_default();
            let asked = Asked { login, person: &person, email: &email, is_sent: false };
            Ok(ask_for_address(visit, &asked, app.as_ref(), None))
        }
        Err(ExternalError::Account(account::Error::FactorMissing(missing))) => {
            let destination = Destination { app, step_up: None };
            Ok(factor::page(visit, &destination, Some(&missing), &Prompt::default()))
        }
        Err(error) => not_signed_in(visit, &login.name, error, app.as_ref()),
    }
}

/// Keeps in the browser what its person may link once they have signed in, and where they go on then.
pub(super) fn with_pending_link(
    visit: &Visit,
    pending: PendingLink,
    app: Option<&AppTarget>,
    mut response: Response,
) -> Response {
    let target = app.map(|app| app.for_cookie(visit.doorward()));
    let value = visit.doorward().cookies().seal_link(&PendingLink { target, ..pending });
    append_cookie(&mut response, visit.pages.cookie_names().set_pending_link(&value));
    response
}

/// The page that says why nobody was signed in, with the other ways.
pub(super) fn not_signed_in(
    visit: &Visit,
    login: &str,
    error: ExternalError,
    app: Option<&AppTarget>,
) -> Result<Response, Error> {
    not_proved(visit, login, error, app, None)
}

/// The page that says why nobody has proved who they are, with the way back of a signed-in person.
pub(super) fn not_proved(
    visit: &Visit,
    login: &str,
    error: ExternalError,
    app: Option<&AppTarget>,
    way_back: Option<&str>,
) -> Result<Response, Error> {
    let failure = error.into_failure()?;
    let status = match failure {
        ExternalFailure::Cancelled => StatusCode::OK,
        failure if failure.is_of_provider() => StatusCode::BAD_GATEWAY,
        ExternalFailure::Attempt | ExternalFailure::WrongCode => StatusCode::BAD_REQUEST,
        _ => StatusCode::FORBIDDEN,
    };
    let others: Vec<_> =
        buttons(visit.doorward()).into_iter().filter(|other| other.name != login).collect();
    let page = NotSignedIn {
        page: visit.context(),
        label: &identities::label(visit.doorward(), login),
        failure,
        // Whoever is to start again may want the same.
        others: if failure.is_of_provider() && way_back.is_none() { &others } else { &[] },
        target: app.map(|app| &*app.sealed),
        way_back,
    };
    Ok(visit.page(status, html(&page)))
}

/// An address that a person is asked for.
pub(super) struct Asked<'a> {
    pub(super) login: &'a Login,
    pub(super) person: &'a ExternalSignIn,
    pub(super) email: &'a str,
    /// Whether a code is on its way to it.
    pub(super) is_sent: bool,
}

pub(super) fn ask_for_address(
    visit: &Visit,
    asked: &Asked<'_>,
    app: Option<&AppTarget>,
    refusal: Option<&FormRefusal>,
) -> Response {
    let sealed = visit.doorward().cookies().seal_external(asked.person);
    let page = ProveAddress {
        page: visit.context(),
        label: &asked.login.label,
        person: &sealed,
        email: asked.email,
        is_sent: asked.is_sent,
        target: app.map(|app| &*app.sealed),
        problem: refusal.into(),
    };
    visit.form(html(&page), refusal, app.map(|app| &*app.origin))
}
