//! `POST /api/auth/login/factor`: answers the challenge of a login with a second factor. `POST /api/auth/login/passkey`: begins a
//! login with a passkey, without a name and a password. `POST /api/me/step-up`: proves once more who one is.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

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
    credential::{factor::FactorKind, password::Password, recovery_code::RecoveryCode},
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

/// The token of a session that has proved a second factor.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SignedWithFactor")]
pub(crate) struct LoggedInWithFactor {
    #[serde(flatten)]
    logged_in: LoggedIn,
    /// A new one, in the place of the recovery code that was used. It is shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RecoveryCode>")]
    recovery_code: Option<String>,
}

/// What a person signs in with who has named nobody.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyLogin {
    /// To be sent back with the answer, once, within an hour.
    #[schemars(regex(pattern = "^[A-Za-z0-9_.-]+$"))]
    challenge: String,
    #[schemars(extend("items" = { "type": "string", "const": "passkey" }))]
    factors: Vec<&'static str>,
    public_key: RequestOptions,
}

pub(crate) async fn begin_passkey(
    State(doorward): State<Doorward>,
) -> Result<NoStore<PasskeyLogin>, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::NotFound)?;
    let challenge = open_challenge(&doorward);
    let public_key = RequestOptions::of_anybody(&challenge, relying_party.id);
    let factors = vec![FactorKind::Passkey.name()];
    Ok(NoStore(StatusCode::OK, PasskeyLogin { challenge, factors, public_key }))
}

pub(crate) async fn login(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<FactorAnswer>,
) -> Result<NoStore<LoggedInWithFactor>, Error> {
    let FactorAnswer { challenge, answer: given } = form.read(&doorward)?;
    let options = AnswerOptions::default();
    let answered = answer(&doorward, &challenge, given, options, &requester).await?;
    let logged_in = LoggedIn::new(answered.opened, &doorward).await;
    let recovery_code = answered.new_recovery_code.map(|code| code.to_string());
    Ok(NoStore(StatusCode::OK, LoggedInWithFactor { logged_in, recovery_code }))
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
