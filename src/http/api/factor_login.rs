//! `POST /api/auth/login/factor`: answers the challenge of a login with a second factor. `POST /api/auth/login/passkey`: begins a
//! login with a passkey, without a name and a password. `POST /api/me/step-up`: proves once more who one is.

use axum::{extract::State, http::StatusCode};

use super::login::LoggedIn;
use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{
        factor::{
            answer::{Answer, AnswerOptions, answer, open_challenge},
            step_up,
        },
        proof::RECENT,
    },
    credential::{factor::FactorKind, password::Password},
    http::{
        Error,
        answer::NoStore,
        bearer::Bearer,
        factor_challenge::FactorChallenge,
        form::{Flattened, JsonForm, form},
        webauthn::RequestOptions,
    },
    network::Requester,
};

form! {
    pub(crate) struct FactorAnswer {
        challenge: String,
        answer: Flattened<Answer>,
    }
}

form! {
    pub(crate) struct StepUpForm as "StepUp" {
        password: Option<Password>,
    }
}

pub(crate) async fn begin_passkey(
    State(doorward): State<Doorward>,
) -> Result<NoStore<FactorChallenge>, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::NotFound)?;
    let challenge = open_challenge(&doorward);
    let public_key = Some(RequestOptions::of_anybody(&challenge, relying_party.id));
    let factors = vec![FactorKind::Passkey.name()];
    Ok(NoStore(StatusCode::OK, FactorChallenge { challenge, factors, public_key }))
}

pub(crate) async fn login(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<FactorAnswer>,
) -> Result<NoStore<LoggedIn>, Error> {
    let FactorAnswer { challenge, answer: given } = form.read(&doorward)?;
    let options = AnswerOptions::default();
    let answered = answer(&doorward, &challenge, given, options, &requester).await?;
    let logged_in = LoggedIn::new(answered.opened, &doorward).await;
    let code = answered.new_recovery_code.map(|code| code.to_string());
    Ok(NoStore(StatusCode::OK, logged_in.with_recovery_code(code)))
}

pub(crate) async fn step_up(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<StepUpForm>,
) -> Result<NoStore<LoggedIn>, Error> {
    let StepUpForm { password } = form.read(&doorward)?;
    let Some(password) = password else {
        let missing = step_up::begin(&doorward, &caller, RECENT).await?;
        return Err(Error::FactorMissing(Box::new(FactorChallenge::from(&missing))));
    };
    let opened = step_up::with_password(&doorward, &caller, password, &requester).await?;
    Ok(NoStore(StatusCode::OK, LoggedIn::new(opened, &doorward).await))
}
