//! `/sign-in/with/NAME`: signing in at another provider. A link leads there, with a cookie that binds the attempt to the browser: a form
//! could not, because browsers hold the redirects after it to the content security policy, too.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use form_urlencoded::Serializer;

use super::{
    answer::Pages,
    came_back::{not_proved, not_signed_in, sign_in, with_pending_link},
    factor::{self, Destination, Prompt},
    link_login::{LINK, SECURITY},
    login_buttons::{declared, renewable, way_to},
    return_target::{AppTarget, with_target},
    step_up_request::StepUp,
    visit::{SIGN_IN, Visit, append_cookie},
};
use crate::{
    Caller,
    account::{
        self,
        external::{self, CameBack},
        external_error::{ExternalError, publish},
    },
    clock::Timestamp,
    event::ExternalFailure,
    federation::Login,
    http::{Error, browser::cookies, form::PageForm},
    session::SessionId,
    token::external::{AttemptPurpose, ExternalSignIn, LoginAttempt},
};

/// `GET /sign-in/with/NAME`: begins an attempt.
pub(in crate::http) async fn begin(
    visit: Visit,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let login = declared(visit.doorward(), &name)?;
    let app = AppTarget::of(&visit);
    let Some(purpose) = purpose(&visit, &name).await? else {
        return Ok(visit.redirect(&with_target(SIGN_IN, app.as_ref())));
    };
    let (doorward, now) = (visit.doorward(), visit.doorward().now());
    let target = app.as_ref().map(|app| app.for_cookie(doorward));
    let attempt = LoginAttempt::new(&name, purpose, target, now);
    match external::authorization_url(doorward, &login, &attempt, &visit.requester).await {
        Ok(url) => {
            let mut response = visit.pages.redirect(&url);
            let value = doorward.cookies().seal_attempt(&attempt);
            let names = visit.pages.cookie_names();
            append_cookie(&mut response, names.set_login_attempt(&attempt.id.to_string(), &value));
            if let AttemptPurpose::Renew { .. } = attempt.purpose {
                // It is asked once: whoever does not come back finds the sign-in page.
                visit.remove_cookie(&mut response);
            }
            // So that those of people who try again and again do not fill the head of each request.
            for old in names.old_login_attempts(&headers) {
                append_cookie(&mut response, names.remove(&old));
            }
            Ok(response)
        }
        Err(error) => not_come_back(&visit, &attempt, error, app.as_ref()),
    }
}

/// What the person wants at the provider of a login. `None` if they have to sign in first.
async fn purpose(visit: &Visit, login: &str) -> Result<Option<AttemptPurpose>, Error> {
    let has = |parameter: &str| visit.parameter(parameter).is_some();
    if has("link") {
        return Ok(visit.caller().map(|caller| AttemptPurpose::Link { user: caller.user.id }));
    }
    if has("again") {
        let step_up = StepUp::new(visit.parameter("ask"), visit.parameter("next"));
        let (ask, next) = (step_up.ask.name().to_owned(), step_up.next);
        let of = |caller: &Caller| AttemptPurpose::StepUp { session: caller.session.id, ask, next };
        return Ok(visit.caller().map(of));
    }
    if has("renew") {
        let identity = renewable(visit).await?.filter(|identity| identity.login == login);
        return Ok(identity.map(|identity| AttemptPurpose::Renew { identity: identity.id }));
    }
    Ok(Some(AttemptPurpose::SignIn))
}

/// The page that says why nobody has come back from the provider. Who was not asked is not told either: they sign in.
fn not_come_back(
    visit: &Visit,
    attempt: &LoginAttempt,
    error: ExternalError,
    app: Option<&AppTarget>,
) -> Result<Response, Error> {
    let way_back = match &attempt.purpose {
        AttemptPurpose::SignIn => None,
        AttemptPurpose::Renew { .. } => return Ok(not_renewed(visit, app)),
        AttemptPurpose::Link { .. } => Some(with_target(SECURITY, app)),
        AttemptPurpose::StepUp { ask, next, .. } => {
            Some(StepUp::new(Some(ask.clone()), next.clone()).path(app))
        }
    };
    not_proved(visit, &attempt.login, error, app, way_back.as_deref())
}

/// Leads to the sign-in page, because nobody is signed in at the provider any more, or somebody else is.
fn not_renewed(visit: &Visit, app: Option<&AppTarget>) -> Response {
    let mut response = visit.redirect(&with_target(&format!("{SIGN_IN}?done=session"), app));
    visit.remove_cookie(&mut response);
    response
}

/// `POST /sign-in/with/NAME/back`: Apple has its page post what others put into the URL. Such a form comes without our cookies, and the
/// request that follows has them.
pub(in crate::http) async fn come_back_by_form(
    State(pages): State<Arc<Pages>>,
    Path(name): Path<String>,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let login = pages.doorward().logins().by_name(&name).cloned();
    if !login.is_some_and(|login| login.preset.uses_form_post()) {
        return Err(Error::NotFound);
    }
    let mut query = Serializer::new(String::new());
    for field in ["code", "state", "error", "iss", "user"] {
        let value = form.typed(field);
        if !value.is_empty() {
            query.append_pair(field, &value);
        }
    }
    Ok(pages.redirect_to_page(&format!("{}/back?{}", way_to(&name), query.finish())))
}

/// `GET /sign-in/with/NAME/back`: the browser comes back from the provider.
pub(in crate::http) async fn come_back(
    visit: Visit,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let login = declared(visit.doorward(), &name)?;
    let doorward = visit.doorward();
    let names = visit.pages.cookie_names();
    let state = visit.parameter("state").unwrap_or_default();
    let cookie = names.login_attempt(&state);
    let attempt = cookies::value(&headers, &cookie)
        .and_then(|value| str::from_utf8(value).ok())
        .and_then(|sealed| doorward.cookies().open_attempt(sealed, doorward.now()))
        .filter(|attempt| attempt.login == name && attempt.id.to_string() == state);
    let Some(attempt) = attempt else {
        let refused = ExternalFailure::Attempt.into();
        publish(doorward, &name, &visit.requester, &refused);
        return not_signed_in(&visit, &name, refused, None);
    };
    let mut response = finish(&visit, &login, attempt).await?;
    append_cookie(&mut response, names.remove(&cookie));
    Ok(response)
}

async fn finish(visit: &Visit, login: &Login, attempt: LoginAttempt) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let app = attempt.target.clone().and_then(|sealed| AppTarget::open(doorward, sealed));
    let answer = CameBack {
        code: visit.parameter("code"),
        error: visit.parameter("error"),
        iss: visit.parameter("iss"),
        user: visit.parameter("user"),
    };
    let person = external::come_back(doorward, login, &attempt, &answer, &visit.requester).await;
    let person = match person {
        Ok(person) => person,
        Err(error) => return not_come_back(visit, &attempt, error, app.as_ref()),
    };
    match attempt.purpose {
        AttemptPurpose::SignIn => sign_in(visit, login, person, app).await,
        AttemptPurpose::Renew { identity } => {
            match external::is_same_person(doorward, &person, identity).await? {
                true => sign_in(visit, login, person, app).await,
                false => Ok(not_renewed(visit, app.as_ref())),
            }
        }
        AttemptPurpose::Link { user } => {
            let pending = external::pending_link(doorward, &person, user);
            Ok(with_pending_link(visit, pending, app.as_ref(), visit.redirect(LINK)))
        }
        AttemptPurpose::StepUp { session, ref ask, ref next } => {
            let step_up = StepUp::new(Some(ask.clone()), next.clone());
            let destination = Destination { app, step_up: Some(step_up) };
            step_up_by(visit, login, (&person, attempt.begun_at()), session, destination).await
        }
    }
}

/// Makes the session stronger for which the attempt has begun.
async fn step_up_by(
    visit: &Visit,
    login: &Login,
    (person, begun_at): (&ExternalSignIn, Timestamp),
    session: SessionId,
    destination: Destination,
) -> Result<Response, Error> {
    let app = destination.app.as_ref();
    let Some(caller) = visit.caller().filter(|caller| caller.session.id == session) else {
        return Ok(visit.redirect(&with_target(SIGN_IN, app)));
    };
    let (whose, requester) = ((&*caller.user, &*caller.session), &visit.requester);
    match external::step_up(visit.doorward(), login, person, whose, begun_at, requester).await {
        Ok(opened) => {
            let mut response = destination.go_on(visit, &opened.session);
            visit.set_session_cookie(&mut response, &opened.session);
            Ok(response)
        }
        Err(ExternalError::Account(account::Error::FactorMissing(missing))) => {
            Ok(factor::page(visit, &destination, Some(&missing), &Prompt::default()))
        }
        Err(error) => {
            let path = destination.step_up.as_ref().map(|step_up| step_up.path(app));
            not_proved(visit, &login.name, error, app, path.as_deref())
        }
    }
}
