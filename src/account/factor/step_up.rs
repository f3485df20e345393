//! Making a session stronger: its user proves once more who they are.

use crate::{
    Caller, Doorward,
    account::{
        MissingFactor, OpenedSession, SignInError, proof::proved_lately, sign_in::user_by_password,
    },
    credential::password::Password,
    event::EventKind,
    network::Requester,
    session::{Method, Methods, Persistence, Session, TokenId},
    store::{self, Effects, SessionStart, SignIn, SignInWritten},
    user::User,
};

/// The challenge to a second factor or a passkey of the caller.
pub(crate) async fn begin(
    doorward: &Doorward,
    caller: &Caller,
) -> Result<MissingFactor, store::Error> {
    let methods = proved_lately(doorward, &caller.session);
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
    let methods = proved_lately(doorward, &caller.session).with(Method::Password);
    if !user.factors.is_empty() && methods.strength() < 2 {
        let missing = challenge(doorward, caller, &user, methods).await?;
        return Err(SignInError::FactorMissing(Box::new(missing)));
    }
    let opened = write(doorward, caller, methods, Some(requester)).await?;
    opened.ok_or(SignInError::WrongCredentials)
}

/// Gives the caller's session these methods, the current time and a new token. Returns `None` if it has ended or was refreshed in the meantime.
pub(super) async fn write(
    doorward: &Doorward,
    caller: &Caller,
    methods: Methods,
    requester: Option<&Requester>,
) -> Result<Option<OpenedSession>, store::Error> {
    let Caller { user, session: old, .. } = caller;
    let session = stepped_up(doorward, old, methods);
    let effects = match requester {
        Some(requester) => stepped_up_event(doorward, &session, requester),
        None => Effects::NONE,
    };
    let replaces = old.token_id;
    let start = SessionStart::StepUp { session: session.clone(), replaces };
    let sign_in = SignIn { start, ..SignIn::new(user, session.clone()) };
    let written = doorward.store().sign_in(sign_in, &effects).await?;
    let user = User::clone(user);
    Ok((written == SignInWritten::Begun).then_some(OpenedSession { user, session }))
}

/// The session after it has proved more.
pub(super) fn stepped_up(doorward: &Doorward, session: &Session, methods: Methods) -> Session {
    Session {
        token_id: TokenId::random(),
        authenticated_at: doorward.now(),
        methods,
        ..session.clone()
    }
}

pub(super) fn stepped_up_event(
    doorward: &Doorward,
    session: &Session,
    requester: &Requester,
) -> Effects {
    let kind = EventKind::SteppedUp { session: session.id, methods: session.methods.clone() };
    doorward.event_by_user(session.user_id, requester, kind).into()
}
