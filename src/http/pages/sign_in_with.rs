//! `/sign-in/with/NAME`: signing in at another provider. A link leads there, with a cookie that binds the attempt to the browser: a form
//! could not, because browsers hold the redirects after it to the content security policy, too.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use form_urlencoded::Serializer;
use serde_json::json;

use super::{
    answer::Pages,
    factor::{self, Destination, Prompt},
    form_refusal::{FormFailure, FormRefusal},
    link_login::LINK,
    return_target::{AppTarget, with_target},
    step_up_request::StepUp,
    text::{LinkTo, Message},
    view::{LoginButton, NotSignedIn, ProveAddress, UnverifiedAccount, html},
    visit::{SIGN_IN, Visit, append_cookie},
};
use crate::{
    Doorward,
    account::{
        self,
        external::{self, CameBack, ExternalOutcome},
        external_address,
        external_error::{ExternalError, refuse},
        identities,
    },
    event::{ExternalFailure, ExternalRefusal, ProviderFault},
    federation::Login,
    http::{
        Error,
        browser::cookies,
        form::{Form, PageForm},
    },
    network::Requester,
    token::{
        external::{AttemptPurpose, ExternalSignIn, LoginAttempt, PendingLink},
        one_time::OneTimeCode,
    },
    user::{Email, UserId},
};

/// The logins that a page offers.
pub(super) fn buttons(doorward: &Doorward) -> Vec<LoginButton> {
    doorward.logins().iter().map(button).collect()
}

/// The logins that can ask a user again who they are.
pub(super) async fn buttons_to_ask_again(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<LoginButton>, Error> {
    let identities = identities::of_user(doorward, user).await?;
    let is_theirs = |login: &&Arc<Login>| {
        login.preset.tells_auth_time()
            && identities.iter().any(|identity| identity.login == login.name)
    };
    Ok(doorward.logins().iter().filter(is_theirs).map(button).collect())
}

fn button(login: &Arc<Login>) -> LoginButton {
    LoginButton { name: login.name.clone(), label: login.label.clone(), preset: login.shown_as }
}

/// Leads on to the provider of a login. A redirect after a form could not: see above.
pub(super) fn lead_to(visit: &Visit, login: &Login, app: Option<&AppTarget>) -> Response {
    let path = with_target(&way_to(&login.name), app);
    let to = LinkTo::ContinueWith(&login.label);
    let mut page = visit.message(StatusCode::OK, Message::SignInElsewhere, to, &path);
    let refresh = format!("0; url={}{path}", visit.context().base);
    if let Ok(refresh) = HeaderValue::try_from(refresh) {
        page.headers_mut().insert(header::REFRESH, refresh);
    }
    page
}

/// The path that leads to the provider of a login.
pub(super) fn way_to(login: &str) -> String {
    format!("/sign-in/with/{login}")
}

fn declared(visit: &Visit, name: &str) -> Result<Arc<Login>, Error> {
    visit.doorward().logins().by_name(name).cloned().ok_or(Error::NotFound)
}

/// `GET /sign-in/with/NAME`: begins an attempt.
pub(in crate::http) async fn begin(
    visit: Visit,
    Path(name): Path<String>,
) -> Result<Response, Error> {
    let login = declared(&visit, &name)?;
    let app = AppTarget::of(&visit);
    let has = |parameter: &str| visit.parameter(parameter).is_some();
    let purpose = match (visit.caller(), has("link"), has("again")) {
        (Some(caller), true, _) => AttemptPurpose::Link { user: caller.user.id },
        (Some(caller), false, true) => {
            let step_up = StepUp::new(visit.parameter("ask"), visit.parameter("next"));
            let (ask, next) = (step_up.ask.name().to_owned(), step_up.next);
            AttemptPurpose::StepUp { session: caller.session.id, ask, next }
        }
        (None, true, _) | (None, _, true) => {
            return Ok(visit.redirect(&with_target(SIGN_IN, app.as_ref())));
        }
        (_, false, false) => AttemptPurpose::SignIn,
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
            Ok(response)
        }
        Err(error) => not_signed_in(&visit, &name, error, app.as_ref()),
    }
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
    let login = declared(&visit, &name)?;
    let doorward = visit.doorward();
    let names = visit.pages.cookie_names();
    let state = visit.parameter("state").unwrap_or_default();
    let cookie = names.login_attempt(&state);
    let attempt = cookies::value(&headers, &cookie)
        .and_then(|value| str::from_utf8(value).ok())
        .and_then(|sealed| doorward.cookies().open_attempt(sealed, doorward.now()))
        .filter(|attempt| attempt.login == name && attempt.id.to_string() == state);
    let Some(attempt) = attempt else {
        let refused = ExternalError::Refused(ExternalRefusal::Attempt);
        let refused = refuse(doorward, &name, refused, None, &visit.requester);
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
        Err(error) => return not_signed_in(visit, &login.name, error, app.as_ref()),
    };
    match attempt.purpose {
        AttemptPurpose::SignIn => sign_in(visit, login, person, app).await,
        AttemptPurpose::Link { user } => {
            let mut pending = external::pending_link(doorward, &person, Some(user));
            pending.target = app.map(|app| app.sealed);
            Ok(with_pending_link(visit, &pending, visit.redirect(LINK)))
        }
        AttemptPurpose::StepUp { session, ref ask, ref next } => {
            let caller = visit.caller().filter(|caller| caller.session.id == session);
            let Some(caller) = caller else {
                return Ok(visit.redirect(&with_target(SIGN_IN, app.as_ref())));
            };
            let step_up = StepUp::new(Some(ask.clone()), next.clone());
            let destination = Destination { app, step_up: Some(step_up) };
            let whose = (&*caller.user, &*caller.session);
            let requester = &visit.requester;
            let opened =
                external::step_up(doorward, login, &person, whose, attempt.begun_at(), requester);
            match opened.await {
                Ok(opened) => {
                    let mut response = destination.go_on(visit, &opened.session);
                    visit.set_session_cookie(&mut response, &opened.session);
                    Ok(response)
                }
                Err(ExternalError::Account(account::Error::FactorMissing(missing))) => {
                    Ok(factor::page(visit, &destination, Some(&missing), &Prompt::default()))
                }
                Err(error) => not_signed_in(visit, &login.name, error, destination.app.as_ref()),
            }
        }
    }
}

async fn sign_in(
    visit: &Visit,
    login: &Login,
    person: ExternalSignIn,
    app: Option<AppTarget>,
) -> Result<Response, Error> {
    let options = visit.sign_in_options(false);
    let outcome = external::sign_in(visit.doorward(), login, person, &options, &visit.requester);
    answer(visit, login, outcome.await, app).await
}

async fn answer(
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
            let target = app.map(|app| app.for_cookie(visit.doorward()));
            Ok(with_pending_link(visit, &PendingLink { target, ..pending }, page))
        }
        Ok(ExternalOutcome::Unverified(person, pending)) => {
            let target = app.as_ref().map(|app| app.for_cookie(visit.doorward()));
            let page = UnverifiedAccount {
                page: visit.context(),
                email: person.email.as_deref().unwrap_or_default(),
                person: &visit.doorward().cookies().seal_external(&person),
                target: app.as_ref().map(|app| &*app.sealed),
            };
            let page = visit.form(html(&page), None, app.as_ref().map(|app| &*app.origin));
            Ok(with_pending_link(visit, &PendingLink { target, ..pending }, page))
        }
        Ok(ExternalOutcome::ProveAddress(person)) => {
            let email = person.email.clone().unwrap_or_default();
            let asked = Asked { login, person: &person, email: &email, is_sent: false };
            Ok(prove_page(visit, &asked, app.as_ref(), None))
        }
        Err(ExternalError::Account(account::Error::FactorMissing(missing))) => {
            let destination = Destination { app, step_up: None };
            Ok(factor::page(visit, &destination, Some(&missing), &Prompt::default()))
        }
        Err(error) => not_signed_in(visit, &login.name, error, app.as_ref()),
    }
}

/// Keeps in the browser what it may link once its person has signed in.
fn with_pending_link(visit: &Visit, pending: &PendingLink, mut response: Response) -> Response {
    let value = visit.doorward().cookies().seal_link(pending);
    append_cookie(&mut response, visit.pages.cookie_names().set_pending_link(&value));
    response
}

/// The page that says why nobody was signed in, with the other ways.
fn not_signed_in(
    visit: &Visit,
    login: &str,
    error: ExternalError,
    app: Option<&AppTarget>,
) -> Result<Response, Error> {
    let failure = error.into_failure()?;
    let status = match failure {
        ExternalFailure::Provider(ProviderFault::Cancelled) => StatusCode::OK,
        ExternalFailure::Provider(_) => StatusCode::BAD_GATEWAY,
        ExternalFailure::Refused(ExternalRefusal::Attempt | ExternalRefusal::WrongCode) => {
            StatusCode::BAD_REQUEST
        }
        ExternalFailure::Refused(_) => StatusCode::FORBIDDEN,
    };
    let page = NotSignedIn {
        page: visit.context(),
        label: &identities::label(visit.doorward(), login),
        failure,
        target: app.map(|app| &*app.sealed),
    };
    Ok(visit.page(status, html(&page)))
}

/// An address that a person is asked for.
struct Asked<'a> {
    login: &'a Login,
    person: &'a ExternalSignIn,
    email: &'a str,
    /// Whether a code is on its way to it.
    is_sent: bool,
}

fn prove_page(
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

/// `POST /sign-in/address`: mails a code to the address of whoever has come back from a provider, or takes the code, or replaces the
/// account that somebody else has registered with the address.
pub(in crate::http) async fn prove_address(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let app = AppTarget::open(doorward, form.typed("for"));
    let Some(person) = doorward.cookies().open_external(&form.typed("person"), doorward.now())
    else {
        let refused = ExternalError::Refused(ExternalRefusal::Attempt);
        return not_signed_in(&visit, "", refused, app.as_ref());
    };
    let login = declared(&visit, &person.login)?;
    if !form.typed("replace").is_empty() {
        let (options, requester) = (visit.sign_in_options(false), &visit.requester);
        let replaced = external::replace_account(doorward, &login, person, &options, requester);
        return answer(&visit, &login, replaced.await, app).await;
    }
    let typed = form.typed("email");
    let is_sent = !form.typed("sent").is_empty();
    let asked = Asked { login: &login, person: &person, email: &typed, is_sent };
    if !form.typed("change").is_empty() {
        return Ok(prove_page(&visit, &asked, app.as_ref(), None));
    }
    let Ok(email) = form.required("email", Email::parse) else {
        let refusal = FormFailure::faults_of(form).refusal()?;
        let asked = Asked { is_sent: false, ..asked };
        return Ok(prove_page(&visit, &asked, app.as_ref(), Some(&refusal)));
    };
    if !is_sent {
        let sent = external_address::send_code(doorward, &person, &email, &visit.requester).await;
        return match sent {
            Ok(()) => {
                let asked = Asked { is_sent: true, ..asked };
                Ok(prove_page(&visit, &asked, app.as_ref(), None))
            }
            Err(error) => {
                let refusal = FormFailure::from(error).refusal()?;
                Ok(prove_page(&visit, &asked, app.as_ref(), Some(&refusal)))
            }
        };
    }
    let code = typed_code(&mut form);
    let proved =
        external_address::prove(doorward, &person, &email, code.as_ref(), &visit.requester).await;
    let failure = match proved {
        Ok(proved) => return sign_in(&visit, &login, proved, app).await,
        Err(ExternalError::Refused(ExternalRefusal::WrongCode)) => {
            FormFailure::from(account::Error::WrongCode)
        }
        Err(ExternalError::Account(error)) => error.into(),
        Err(error) => return not_signed_in(&visit, &login.name, error, app.as_ref()),
    };
    let refusal = failure.refusal()?;
    Ok(prove_page(&visit, &asked, app.as_ref(), Some(&refusal)))
}

fn typed_code(form: &mut Form) -> Option<OneTimeCode> {
    OneTimeCode::parse(&form.typed("code"))
}

/// `POST /sign-in/with/NAME/logout`: the provider says that a session has ended there (OpenID Connect Back-Channel Logout 1.0).
pub(in crate::http) async fn log_out(
    State(pages): State<Arc<Pages>>,
    Path(name): Path<String>,
    requester: Requester,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let doorward = pages.doorward();
    let login = doorward.logins().by_name(&name).cloned().ok_or(Error::NotFound)?;
    let token = form.typed("logout_token");
    let (status, body) =
        match identities::end_by_provider(doorward, &login, &token, &requester).await {
            Ok(_) => (StatusCode::OK, json!({})),
            Err(error) => {
                let reason = error.into_failure()?.label();
                let body = json!({ "error": "invalid_request", "error_description": reason });
                (StatusCode::BAD_REQUEST, body)
            }
        };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((status, no_store, Json(body)).into_response())
}
