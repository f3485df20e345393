//! `POST /api/auth/login/factor`: answers the challenge of a login with a second factor. `POST /api/auth/login/passkey`: begins a
//! login with a passkey, without a name and a password. `POST /api/me/step-up`: proves once more who one is.

use axum::{extract::State, http::StatusCode};
use zeroize::Zeroizing;

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
    credential::{factor::FactorKind, passkey::PostedAssertion, password::Password},
    http::{
        Error,
        answer::NoStore,
        bearer::Bearer,
        factor_challenge::FactorChallenge,
        form::{FaultRecorded, Form},
        webauthn::RequestOptions,
    },
    network::Requester,
};

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
    mut form: Form,
) -> Result<NoStore<LoggedIn>, Error> {
    let challenge = form.required("challenge", Ok);
    let given = form.answer();
    let (Ok(challenge), Ok(given), Ok(())) = (challenge, given, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
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
    mut form: Form,
) -> Result<NoStore<LoggedIn>, Error> {
    let password = form.optional("password", |sent| Ok(Password::unchecked(sent)));
    let (Ok(password), Ok(())) = (password, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    let Some(password) = password else {
        let missing = step_up::begin(&doorward, &caller, RECENT).await?;
        return Err(Error::FactorMissing(Box::new(FactorChallenge::from(&missing))));
    };
    let opened = step_up::with_password(&doorward, &caller, password, &requester).await?;
    Ok(NoStore(StatusCode::OK, LoggedIn::new(opened, &doorward).await))
}

impl Form {
    /// The fields `code` and `credential`, of which one has to be there.
    pub(in crate::http) fn answer(&mut self) -> Result<Answer, FaultRecorded> {
        let credential = self.object::<PostedAssertion>("credential")?;
        match credential {
            Some(posted) => Ok(Answer::Passkey(posted.into())),
            None => self.required("code", |typed| Ok(Answer::Code(Zeroizing::new(typed)))),
        }
    }
}
