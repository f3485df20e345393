//! Answering a challenge: with a code of an authenticator app, a recovery code, or a passkey. The factor is used, and the session
//! begins or becomes stronger, in one transaction.

use zeroize::Zeroizing;

use super::budget::Budget;
use crate::{
    Doorward,
    account::{
        Error, NewSession, OpenedSession,
        effects::recovery_code_used,
        session_start::{Authentication, NotBegun, SessionFor, begin_session},
        sign_in::publish_failed,
        trusted_devices, unanswered,
    },
    credential::{
        passkey::{Assertion, AssertionResponse, CredentialId, PublicKey, verify},
        recovery_code::RecoveryCode,
        totp::TotpSecret,
    },
    event::LoginRefusal,
    network::{ClientInfo, Requester},
    session::{ExternalStart, Method, Methods, Persistence, Session, SessionId, TokenId},
    store::{self, Effects, FactorUse, Requirement, SignInRefusal},
    token::{
        challenge::{Challenge, PAGE_LIFETIME, Person, signed_challenge},
        cookie::CodeId,
    },
    user::{FactorId, HeldFactors, Passkey, User},
};

/// What a person answers a challenge with.
pub(crate) enum Answer {
    /// A code of an authenticator app, or a recovery code.
    Code(Zeroizing<String>),
    Passkey(AssertionResponse),
}

/// What the person chooses with their answer. A program chooses nothing.
#[derive(Default)]
pub(crate) struct AnswerOptions {
    /// Whether they trust their browser from now on.
    pub(crate) trusts_device: bool,
    /// How long the session lasts, if the challenge was made before the person could choose.
    pub(crate) persistence: Option<Persistence>,
    pub(crate) answered_in: AnsweredIn,
}

/// Where a challenge is answered. One that makes a session stronger is answered nowhere else than by that session's holder.
#[derive(Clone, Copy, Default)]
pub(crate) enum AnsweredIn {
    /// A program, which gets a token and not a cookie.
    #[default]
    Program,
    /// A browser that signs in.
    SignIn,
    /// A browser with this session, which is to become stronger.
    StepUp(SessionId),
}

impl AnsweredIn {
    fn admits(self, session: Option<SessionId>) -> bool {
        match self {
            Self::Program => true,
            Self::SignIn => session.is_none(),
            Self::StepUp(own) => session == Some(own),
        }
    }
}

/// An accepted answer.
pub(crate) struct Answered {
    pub(crate) opened: OpenedSession,
    /// In the place of the recovery code that was used. It is shown once.
    pub(crate) new_recovery_code: Option<RecoveryCode>,
    /// The browser, if its user trusts it from now on.
    pub(crate) trusted_device: Option<FactorId>,
    /// Whether the session existed before.
    pub(crate) is_step_up: bool,
}

/// The challenge of a sign-in with a passkey, before anything is known of the person.
pub(crate) fn open_challenge(doorward: &Doorward) -> String {
    doorward.cookies().seal_challenge(&Challenge {
        id: CodeId::random(),
        expires_at: doorward.now() + PAGE_LIFETIME,
        persistence: Persistence::Lifetime,
        person: Person::Unknown,
    })
}

/// Who answers, and what they have proved before.
struct Answering {
    user: User,
    methods: Methods,
    session: Option<(SessionId, TokenId)>,
    /// The sign-in at another provider that was the first factor.
    external: Option<ExternalStart>,
    /// The passkey that an unknown person has shown.
    passkey: Option<Passkey>,
}

/// A factor that was right.
struct Proved {
    method: Method,
    usage: FactorUse,
    new_recovery_code: Option<RecoveryCode>,
}

/// Accepts an answer to a sealed challenge.
pub(crate) async fn answer(
    doorward: &Doorward,
    sealed: &str,
    answer: Answer,
    options: AnswerOptions,
    requester: &Requester,
) -> Result<Answered, Error> {
    let challenge = doorward.cookies().open_challenge(sealed, doorward.now());
    let mut challenge = challenge.ok_or(Error::ChallengeExpired)?;
    if let (Some(chosen), Person::Unknown) = (options.persistence, &challenge.person) {
        challenge.persistence = chosen;
    }
    doorward.throttle().charge_answer(requester, doorward.instant())?;
    let answering = answering(doorward, &challenge, &answer).await?;
    if !options.answered_in.admits(answering.session.map(|(session, _)| session)) {
        return Err(Error::ChallengeExpired);
    }
    let budget = budget_of(&answer);
    if let Some(budget) = budget {
        // No challenge asks for a code without a first factor. Whoever holds a session could use up the guesses of its user.
        if answering.methods.first_factors().is_empty() {
            refuse(doorward, &challenge, &answering, &Error::WrongFactor, requester).await?;
            return Err(Error::WrongFactor);
        }
        budget.charge(doorward, &answering.user, requester).await?;
    }
    let written = match prove(doorward, sealed, &answering, &answer).await {
        Ok(proved) => {
            accept(doorward, &challenge, &answering, proved, options.trusts_device, requester).await
        }
        Err(refused) => Err(refused),
    };
    match &written {
        Ok(answered) => {
            doorward.throttle().refund_answer(requester);
            if let Some(budget) = budget {
                budget.forget(doorward, &answered.opened.user).await?;
            }
            unanswered::answered(doorward, &answered.opened.user);
        }
        Err(refused) => refuse(doorward, &challenge, &answering, refused, requester).await?,
    }
    written
}

/// The answer of a passkey cannot be guessed. A budget would only let whoever knows the password lock its owner out.
fn budget_of(answer: &Answer) -> Option<Budget> {
    match answer {
        Answer::Passkey(_) => None,
        Answer::Code(code) if RecoveryCode::parse(code).is_some() => Some(Budget::RecoveryCode),
        Answer::Code(_) => Some(Budget::Totp),
    }
}

/// The person who answers.
async fn answering(
    doorward: &Doorward,
    challenge: &Challenge,
    answer: &Answer,
) -> Result<Answering, Error> {
    let store = doorward.store();
    match &challenge.person {
        Person::User { id, password_version, methods, session, external } => {
            let user = store.user_by_id(*id).await?;
            let is_same =
                |user: &User| !user.disabled && user.password_version == *password_version;
            let user = user.filter(is_same).ok_or(Error::ChallengeExpired)?;
            let (methods, external) = (methods.clone(), external.clone());
            Ok(Answering { user, methods, session: *session, external, passkey: None })
        }
        Person::Unknown => {
            let Answer::Passkey(response) = answer else { return Err(Error::WrongFactor) };
            let found = store.passkey_by_credential_id(&response.raw_id).await?;
            let (passkey, user) = found.ok_or(Error::UnknownPasskey)?;
            // A browser forgets a passkey that is not known, and the user may be enabled again.
            if user.disabled {
                return Err(Error::WrongFactor);
            }
            let (methods, passkey) = (Methods::default(), Some(passkey));
            Ok(Answering { user, methods, session: None, external: None, passkey })
        }
    }
}

/// Checks the factor itself. Whether a code was used before is known when it is written.
async fn prove(
    doorward: &Doorward,
    sealed: &str,
    answering: &Answering,
    answer: &Answer,
) -> Result<Proved, Error> {
    let (user, now) = (&answering.user, doorward.now());
    match answer {
        Answer::Passkey(response) => {
            let passkey = match &answering.passkey {
                // Nothing else has said whose passkey it is, so the authenticator has to (WebAuthn Level 3, section 7.2).
                Some(_) if response.user_handle.is_none() => return Err(Error::WrongFactor),
                Some(passkey) => passkey.clone(),
                None => held_passkey(doorward, user, response).await?,
            };
            let asserted = assert(doorward, sealed, &passkey, response)?;
            // A key that was added for after a password does not replace it, whatever it has verified.
            let method = match passkey.verifies_user && asserted.user_verified {
                true => Method::Passkey,
                false => Method::SecurityKey,
            };
            let usage = FactorUse::Passkey {
                id: passkey.id,
                sign_count: asserted.sign_count.into(),
                backup_eligible: asserted.backup_eligible,
                backed_up: asserted.backed_up,
            };
            Ok(Proved { method, usage, new_recovery_code: None })
        }
        Answer::Code(code) => match RecoveryCode::parse(code) {
            Some(typed) => {
                let new = RecoveryCode::random();
                let (used, replacement) = (typed.digest(), new.digest());
                let usage = FactorUse::RecoveryCode { used, replacement };
                Ok(Proved { method: Method::RecoveryCode, usage, new_recovery_code: Some(new) })
            }
            None => {
                let HeldFactors { totp, .. } = doorward.store().factors_of(user, now).await?;
                let totp = totp.ok_or(Error::WrongFactor)?;
                let secret = doorward.factor_key().decrypt(user.id, &totp.secret);
                let secret = secret.and_then(|secret| TotpSecret::from_bytes(&secret));
                let secret = secret.ok_or_else(damaged_secret)?;
                let step = secret.matching_step(code, now).ok_or(Error::WrongFactor)?.0;
                if step <= totp.last_step {
                    return Err(Error::CodeUsed);
                }
                let usage = FactorUse::Totp { step };
                Ok(Proved { method: Method::Totp, usage, new_recovery_code: None })
            }
        },
    }
}

/// The passkey of the user that a browser has answered with.
async fn held_passkey(
    doorward: &Doorward,
    user: &User,
    response: &AssertionResponse,
) -> Result<Passkey, Error> {
    let held = doorward.store().factors_of(user, doorward.now()).await?.passkeys;
    let answered = held.into_iter().find(|passkey| passkey.credential_id == response.raw_id);
    answered.ok_or(Error::UnknownPasskey)
}

/// Verifies what an authenticator has signed.
fn assert(
    doorward: &Doorward,
    sealed: &str,
    passkey: &Passkey,
    response: &AssertionResponse,
) -> Result<Assertion, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::WrongFactor)?;
    if response.user_handle.as_ref().is_some_and(|handle| *handle != passkey.user_handle) {
        return Err(Error::WrongFactor);
    }
    let stored = (
        PublicKey::from_bytes(&passkey.public_key),
        CredentialId::from_bytes(&passkey.credential_id),
    );
    let (Some(key), Some(id)) = stored else { return Err(damaged_secret()) };
    let challenge = signed_challenge(sealed);
    verify(&relying_party, &challenge, &key, &id, response).map_err(|invalid| {
        tracing::info!(reason = %invalid, "a passkey was refused");
        Error::WrongFactor
    })
}

fn damaged_secret() -> Error {
    let message =
        "a stored factor cannot be read: it is damaged, or the file factor-secret is another one";
    Error::Store(store::Error::Failed(message.into()))
}

/// Begins the session, or makes it stronger, unless its user does so too often.
async fn accept(
    doorward: &Doorward,
    challenge: &Challenge,
    answering: &Answering,
    proved: Proved,
    trusts_device: bool,
    requester: &Requester,
) -> Result<Answered, Error> {
    let right = doorward.throttle().begin_answer(answering.user.id, doorward.instant())?;
    let written = write(doorward, challenge, answering, proved, trusts_device, requester).await;
    match &written {
        Ok(_) => drop(right),
        Err(_) => right.refused(),
    }
    written
}

async fn write(
    doorward: &Doorward,
    challenge: &Challenge,
    answering: &Answering,
    proved: Proved,
    trusts_device: bool,
    requester: &Requester,
) -> Result<Answered, Error> {
    let (user, method) = (&answering.user, proved.method);
    let known = match answering.session {
        Some(session) => Some(known_session(doorward, session).await?),
        None => None,
    };
    let used_recovery_code = proved.new_recovery_code.is_some();
    let mail = match used_recovery_code {
        true => {
            // The used one is replaced.
            let left = doorward.store().factors_of(user, doorward.now()).await?.recovery_codes;
            recovery_code_used(doorward, user, left, requester.language)
        }
        false => Effects::NONE,
    };
    // A recovery code is for a person who has lost something, and a step-up is for this session.
    let is_trusted = trusts_device && known.is_none() && !used_recovery_code;
    let device = is_trusted.then(|| trusted_devices::new(doorward, user, requester));
    let trusted_device = device.as_ref().map(|device| device.id);
    let session = match &known {
        Some(known) => SessionFor::StepUp(known),
        None => SessionFor::SignIn(challenge.persistence),
    };
    let mut requires = vec![
        Requirement::Challenge(challenge.id, challenge.expires_at),
        Requirement::Factor(proved.usage),
    ];
    let identity = answering.external.as_ref().map(|external| external.session.identity);
    requires.extend(identity.map(Requirement::Identity));
    let authentication = Authentication {
        requires,
        new_trusted_device: device,
        mail,
        external: answering.external.clone(),
        ..Authentication::new(user, proved_with(doorward, challenge, answering, method), session)
    };
    let opened = begin_session(doorward, authentication, requester).await;
    Ok(Answered {
        opened: opened.map_err(|not_begun| refusal(not_begun, method))?,
        new_recovery_code: proved.new_recovery_code,
        trusted_device,
        is_step_up: known.is_some(),
    })
}

/// What the person has proved with this answer.
fn proved_with(
    doorward: &Doorward,
    challenge: &Challenge,
    answering: &Answering,
    method: Method,
) -> Methods {
    // Nobody knows when an authenticator has signed: whoever holds an answer back must not make it newer.
    let given_at = match method {
        Method::Passkey | Method::SecurityKey => challenge.made_at().min(doorward.now()),
        _ => doorward.now(),
    };
    match (answering.session, method) {
        // It is enough. The mailed code of an earlier sign-in would only make the session older.
        (Some(_), Method::Passkey) => {
            answering.methods.without(Method::MailedCode).with(method, given_at)
        }
        _ => answering.methods.with(method, given_at),
    }
}

/// The session that becomes stronger, if it still has this token.
async fn known_session(
    doorward: &Doorward,
    (id, token): (SessionId, TokenId),
) -> Result<Session, Error> {
    let found = doorward.store().session_with_user(id).await?.map(|(session, _)| session);
    found.filter(|session| session.token_id == token).ok_or(Error::ChallengeExpired)
}

fn refusal(not_begun: NotBegun, method: Method) -> Error {
    match not_begun {
        NotBegun::FactorMissing => Error::WrongFactor,
        NotBegun::Refused(SignInRefusal::FactorUsed) => match method {
            Method::Totp => Error::CodeUsed,
            Method::Passkey | Method::SecurityKey => Error::UnknownPasskey,
            // Used ones are not kept, so one that was used is like any other wrong one.
            _ => Error::WrongFactor,
        },
        NotBegun::Refused(_) => Error::ChallengeExpired,
        NotBegun::Store(error) => error.into(),
    }
}

/// Records a refused answer, and tells the user: somebody knows their password.
async fn refuse(
    doorward: &Doorward,
    challenge: &Challenge,
    answering: &Answering,
    refused: &Error,
    requester: &Requester,
) -> Result<(), Error> {
    let reason = match refused {
        Error::CodeUsed => LoginRefusal::FactorUsed,
        Error::WrongFactor | Error::UnknownPasskey => LoginRefusal::WrongFactor,
        _ => return Ok(()),
    };
    let user = &answering.user;
    publish_failed(doorward, reason, Some(user.id), &user.email.key(), requester);
    if answering.methods != Methods::default() {
        unanswered::refused(doorward, user, challenge, requester).await?;
    }
    Ok(())
}

impl Doorward {
    /// Opens the session of a [`Error::FactorMissing`] with a code of the user's authenticator app or a recovery code, as
    /// `POST /api/auth/login/factor` does. A recovery code is replaced: the second value is the new one, to show it to the user.
    ///
    /// # Errors
    /// [`Error::WrongFactor`] or [`Error::CodeUsed`], and [`Error::ChallengeExpired`] if the challenge has expired or was answered.
    pub async fn sign_in_with_code(
        &self,
        challenge: &str,
        code: &str,
        client: ClientInfo,
    ) -> Result<(NewSession, Option<String>), Error> {
        let (given, requester) =
            (Answer::Code(Zeroizing::new(code.to_owned())), Requester::new(client));
        let options = AnswerOptions::default();
        let answered = answer(self, challenge, given, options, &requester).await?;
        let recovery_code = answered.new_recovery_code.map(|code| code.to_string());
        Ok((answered.opened.with_token(self).await, recovery_code))
    }
}
