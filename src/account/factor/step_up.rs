//! Making a session stronger: its user proves once more who they are.

use std::time::Duration;

use crate::{
    Caller, Doorward,
    account::{MissingFactor, OpenedSession, SignInError, sign_in::user_by_password, unanswered},
    credential::password::Password,
    event::EventKind,
    network::Requester,
    session::{Method, Methods, Persistence, Session, TokenId},
    store::{self, Effects, SessionStart, SignIn, SignInWritten},
    user::User,
};

/// The challenge to a second factor or a passkey of the caller. Everything is proved anew, but for the mailed code of a user who
/// has no password, if it is not older than this: nobody can give that here.
pub(crate) async fn begin(
    doorward: &Doorward,
    caller: &Caller,
    most_age: Duration,
) -> Result<MissingFactor, store::Error> {
    let methods = match caller.user.has_password() {
        true => Methods::default(),
        false => caller.session.methods.first_factors().given_after(doorward.now() - most_age),
    };
    challenge(doorward, caller, &caller.user, methods).await
}

async fn challenge(
    doorward: &Doorward,
    caller: &Caller,
    user: &User,
    methods: Methods,
) -> Result<MissingFactor, store::Error> {
    let session = Some(&*caller.session);
    MissingFactor::of(doorward, user, methods, Persistence::Lifetime, session).await
}

/// Proves the caller's password once more. If they hold a second factor, that is still missing.
///
/// # Errors
/// [`SignInError::FactorMissing`] for a user with a second factor.
pub(crate) async fn with_password(
    doorward: &Doorward,
    caller: &Caller,
    password: Password,
    requester: &Requester,
) -> Result<OpenedSession, SignInError> {
    let email = caller.user.email.key();
    let user = user_by_password(doorward, &email, password, requester).await?;
    let user = user.filter(|user| user.id == caller.user.id);
    let user = user.ok_or(SignInError::WrongCredentials)?;
    let methods = Methods::at(doorward.now(), [Method::Password]);
    if !user.factors.is_empty() {
        let missing = challenge(doorward, caller, &user, methods.clone()).await?;
        unanswered::asked(doorward, &user, methods, &missing, requester).await?;
        return Err(SignInError::FactorMissing(Box::new(missing)));
    }
    let session = stepped_up(doorward, &caller.session, methods);
    let effects = stepped_up_event(doorward, &session, requester);
    let replaces = caller.session.token_id;
    let start = SessionStart::StepUp { session: session.clone(), replaces };
    let sign_in = SignIn { start, ..SignIn::new(&user, session.clone()) };
    match doorward.store().sign_in(sign_in, &effects).await? {
        SignInWritten::Begun => Ok(OpenedSession { user, session }),
        // The session has ended or was refreshed in the meantime.
        _ => Err(SignInError::WrongCredentials),
    }
}

/// The session after a step-up: it has proved what was given in it, and nothing else.
pub(super) fn stepped_up(doorward: &Doorward, session: &Session, methods: Methods) -> Session {
    Session {
        token_id: TokenId::random(),
        // What a cookie of before had proved counts no more, also if a clock that was ahead has made it.
        authenticated_at: session.later(doorward.now()),
        methods,
        ..session.clone()
    }
}

pub(super) fn stepped_up_event(
    doorward: &Doorward,
    session: &Session,
    requester: &Requester,
) -> Effects {
    // Nobody gives a mailed code in a step-up.
    let methods = session.methods.without(Method::MailedCode);
    let kind = EventKind::SteppedUp { session: session.id, methods };
    doorward.event_by_user(session.user_id, requester, kind).into()
}
