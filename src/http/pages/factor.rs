//! `/sign-in/factor`: the second factor of a sign-in. Its page is the answer to the password or the mailed code, so that no URL
//! contains what was proved. The page that asks signed-in people once more answers in the same way.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{
    answer::allow_script,
    form_refusal::{AnswerKind, FormFailure, FormRefusal},
    link_login::LINK,
    return_target::{AppTarget, with_target},
    step_up_request::StepUp,
    text::Follows,
    view::{LoginButton, NewRecoveryCode, Prove, ProveFor, html},
    visit::{SIGN_IN, Visit, append_cookie},
};
use crate::{
    account::{
        self, MissingFactor,
        factor::answer::{Answer, AnswerOptions, Answered, AnsweredIn, answer},
        trusted_devices::TRUSTED_FOR,
    },
    credential::factor::{FactorKind, Factors},
    http::{
        Error,
        form::{FaultRecorded, Form, PageForm},
        webauthn::{RequestOptions, json},
    },
    session::Session,
};

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    submit_answer(&visit, form, Destination { app, step_up: None }).await
}

/// Where people replace what they have lost.
const RECOVERED: &str = "/account/security?done=recovered";

/// Where a person goes on when they have proved who they are.
pub(super) struct Destination {
    pub(super) app: Option<AppTarget>,
    /// For those who are signed in.
    pub(super) step_up: Option<StepUp>,
}

/// What the page offers besides the challenge, and what was wrong.
#[derive(Default)]
pub(super) struct Prompt<'a> {
    pub(super) refusal: Option<&'a FormRefusal>,
    /// Whether the refused form was that for recovery codes.
    pub(super) is_recovery: bool,
    /// Whether the person chose to trust the browser.
    pub(super) trusts: bool,
    pub(super) has_password: bool,
    /// Other providers that can ask the person again.
    pub(super) logins: &'a [LoginButton],
    /// Whether a mailed code can take the place of those.
    pub(super) has_mail_code: bool,
}

/// The page that asks for a second factor.
pub(super) fn page(
    visit: &Visit,
    destination: &Destination,
    missing: Option<&MissingFactor>,
    prompt: &Prompt<'_>,
) -> Response {
    let refusal = prompt.refusal;
    let resists = destination.step_up.as_ref().is_some_and(StepUp::needs_passkey);
    let options = missing.and_then(RequestOptions::of).map(|options| json(&options));
    let holds = |kind| missing.is_some_and(|missing| missing.factors.contains(kind));
    let page = Prove {
        page: visit.context(),
        prove_for: match &destination.step_up {
            None => ProveFor::SignIn,
            Some(step_up) => ProveFor::StepUp {
                app: destination.app.as_ref().map(|app| &*app.title),
                ask: step_up.ask,
                ask_name: step_up.ask.name(),
                next: step_up.next.as_deref(),
                before: step_up.before(),
                email: visit.caller().map_or("", |caller| caller.user.email.as_str()),
            },
        },
        target: destination.app.as_ref().map(|app| &*app.sealed),
        challenge: missing.map(|missing| &*missing.challenge),
        passkey: options.as_deref(),
        has_only_keys: !holds(FactorKind::Passkey),
        has_code: holds(FactorKind::Totp) && !resists,
        has_recovery_code: missing.is_some_and(|missing| missing.has_recovery_codes) && !resists,
        has_password: prompt.has_password,
        logins: prompt.logins,
        has_mail_code: prompt.has_mail_code,
        follows: visit.caller().and_then(|caller| follows(&caller.user.factors, resists)),
        trusts: destination.step_up.is_none().then_some(prompt.trusts),
        notice: None,
        problem: refusal.into(),
        is_recovery: prompt.is_recovery,
    };
    let origin = destination.app.as_ref().map(|app| &*app.origin);
    let mut response = visit.form(html(&page), refusal, origin);
    if options.is_some() {
        allow_script(&mut response);
    }
    response
}

/// What follows the password of a user who holds these factors.
fn follows(held: &Factors, resists: bool) -> Option<Follows> {
    let kinds: Vec<_> = held.iter().collect();
    match kinds[..] {
        [] => None,
        [FactorKind::Totp] => Some(Follows::Code),
        [FactorKind::SecurityKey] => Some(Follows::SecurityKey),
        _ if resists => Some(Follows::SecurityKey),
        _ => Some(Follows::Factor),
    }
}

/// Answers a challenge with what the form has sent.
pub(super) async fn submit_answer(
    visit: &Visit,
    mut form: Form,
    destination: Destination,
) -> Result<Response, Error> {
    let (doorward, sealed) = (visit.doorward(), form.typed("challenge"));
    let is_recovery = !form.typed("recovery").is_empty();
    let trusts = !form.typed("trust").is_empty();
    let needs_passkey = destination.step_up.as_ref().is_some_and(StepUp::needs_passkey);
    let failure = match form.fields::<Answer>(visit.doorward()) {
        Ok(Answer::Code(_)) if needs_passkey => FormFailure::needs_passkey(),
        Ok(given) => {
            let kind = match &given {
                Answer::Passkey(_) => AnswerKind::Passkey,
                Answer::Code(_) if is_recovery => AnswerKind::RecoveryCode,
                Answer::Code(_) => AnswerKind::Totp,
            };
            let answered_in = match (&destination.step_up, visit.caller()) {
                (Some(_), Some(caller)) => AnsweredIn::StepUp(caller.session.id),
                _ => AnsweredIn::SignIn,
            };
            let options = AnswerOptions { trusts_device: trusts, persistence: None, answered_in };
            match answer(doorward, &sealed, given, options, &visit.requester).await {
                Ok(answered) => return Ok(destination.finish(visit, answered).await),
                Err(account::Error::ChallengeExpired) => return Ok(destination.start_again(visit)),
                Err(error) => FormFailure::of_answer(error, kind),
            }
        }
        Err(FaultRecorded) => FormFailure::faults_of(form),
    };
    let refusal = failure.refusal()?;
    match MissingFactor::again(doorward, sealed).await? {
        Some(missing) => {
            let refusal = Some(&refusal);
            let prompt = Prompt { refusal, is_recovery, trusts, ..Prompt::default() };
            Ok(page(visit, &destination, Some(&missing), &prompt))
        }
        None => Ok(destination.start_again(visit)),
    }
}

impl Destination {
    /// Signs the browser in, or gives it the cookie of the session that has proved more, and leads on.
    async fn finish(self, visit: &Visit, answered: Answered) -> Response {
        let Answered { opened, new_recovery_code, trusted_device, is_step_up } = answered;
        let links = !is_step_up && visit.signs_in_to_link(&opened.user);
        let mut response = match new_recovery_code {
            None if links => visit.redirect(LINK),
            None => self.go_on(visit, &opened.session),
            Some(code) => {
                let go_on = if links { LINK.to_owned() } else { self.path_on() };
                let code = code.to_string();
                // Whoever signs in with a recovery code has lost something.
                let replace = with_target(RECOVERED, self.app.as_ref());
                let replace = (!is_step_up).then_some(&*replace);
                let page =
                    NewRecoveryCode { page: visit.context(), code: &code, go_on: &go_on, replace };
                visit.page(StatusCode::OK, html(&page))
            }
        };
        match is_step_up {
            true => visit.set_session_cookie(&mut response, &opened.session),
            false => response = visit.begin_session_with(&opened, response).await,
        }
        if let Some(device) = trusted_device {
            let value = visit.doorward().cookies().device_cookie(device);
            let names = visit.pages.cookie_names();
            append_cookie(&mut response, names.set_device(&value, TRUSTED_FOR));
        }
        response
    }

    /// Leads a person on who has proved who they are.
    pub(super) fn go_on(self, visit: &Visit, session: &Session) -> Response {
        match self {
            Self { app: Some(app), step_up }
                if step_up.as_ref().is_none_or(|to| to.next.is_none()) =>
            {
                app.redirect(visit, session).unwrap_or_else(Error::into_response)
            }
            other => visit.redirect(&other.path_on()),
        }
    }

    /// The page from which they go on. The sign-in page leads those who are signed in to the app.
    fn path_on(&self) -> String {
        let app = self.app.as_ref();
        let back = self.step_up.as_ref().and_then(|step_up| step_up.way_back(app));
        back.unwrap_or_else(|| match app {
            Some(app) => with_target(SIGN_IN, Some(app)),
            None => "/account".into(),
        })
    }

    /// For an answer that came too late.
    fn start_again(&self, visit: &Visit) -> Response {
        let app = self.app.as_ref();
        visit.redirect(&match &self.step_up {
            None => with_target(&format!("{SIGN_IN}?done=expired"), app),
            Some(step_up) => step_up.path(app),
        })
    }
}
