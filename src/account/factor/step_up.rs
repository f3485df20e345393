//! Making a session stronger: its user proves once more who they are.

use std::time::Duration;

use crate::{
    Caller, Doorward,
    account::{
        Error, MissingFactor, OpenedSession,
        session_start::{Authentication, NotBegun, SessionFor, begin_session},
        sign_in::user_by_password,
        unanswered,
    },
    credential::password::Password,
    network::Requester,
    session::{Method, Methods, Persistence},
    store,
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
    let (persistence, session) = (Persistence::Lifetime, Some(&*caller.session));
    MissingFactor::of(doorward, &caller.user, methods, persistence, session, None).await
}

/// Proves the caller's password once more. If they hold a second factor, that is still missing.
///
/// # Errors
/// [`Error::FactorMissing`] for a user with a second factor.
pub(crate) async fn with_password(
    doorward: &Doorward,
    caller: &Caller,
    password: Password,
    requester: &Requester,
) -> Result<OpenedSession, Error> {
    let email = caller.user.email.key();
    let known = Some(caller.user.id);
    let user = user_by_password(doorward, &email, password, known, requester).await?;
    let user = user.filter(|user| user.id == caller.user.id);
    let user = user.ok_or(Error::WrongPassword)?;
    let methods = Methods::at(doorward.now(), [Method::Password]);
    let session = &*caller.session;
    let step_up = SessionFor::StepUp(session);
    let authentication = Authentication::new(&user, methods.clone(), step_up);
    match begin_session(doorward, authentication, requester).await {
        Ok(opened) => Ok(opened),
        Err(NotBegun::FactorMissing) => {
            let (persistence, session) = (Persistence::Lifetime, Some(session));
            let missing =
                unanswered::ask(doorward, &user, methods, persistence, session, None, requester)
                    .await?;
            Err(Error::FactorMissing(Box::new(missing)))
        }
        // The session has ended or was refreshed in the meantime.
        Err(NotBegun::Refused(_)) => Err(Error::WrongPassword),
        Err(NotBegun::Store(error)) => Err(error.into()),
    }
}
