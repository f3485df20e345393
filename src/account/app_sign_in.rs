//! Signing a browser in to an app on another host: a code carries the session from Doorward's pages to the guard of the app.

use std::time::Duration;

use crate::{
    Doorward,
    event::EventKind,
    network::Requester,
    session::Session,
    store::{self, Effects},
    throttle::Throttled,
    token::cookie::{AttemptDigest, CodeId, SignInCode},
};

/// How long a code can be used. A browser follows the redirect with it at once.
const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// Why a code signs nobody in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeError {
    /// The browser has no try cookie.
    #[error("the browser kept no cookie")]
    NoAttempt,
    /// The code is forged, expired or used, belongs to another browser or origin, or its session has ended. The error does
    /// not say which.
    #[error("the sign-in code is not valid")]
    Invalid,
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A session that a code has carried to an app.
pub(crate) struct CodeUsed {
    pub(crate) session: Session,
    /// Where the person returns to.
    pub(crate) url: String,
}

/// A code with which the guard at `origin` signs the browser of this session in to its app. `attempt` is the attempt that the
/// browser has begun there, and `url` where the person returns to.
///
/// # Errors
/// If the user has been given too many.
pub(crate) fn create_code(
    doorward: &Doorward,
    session: &Session,
    attempt: AttemptDigest,
    url: String,
    origin: &str,
) -> Result<String, Throttled> {
    doorward.throttle().charge_sign_in_code(session.user_id, doorward.instant())?;
    let code = SignInCode {
        id: CodeId::random(),
        user_id: session.user_id,
        session_id: session.id,
        expires_at: doorward.now() + CODE_LIFETIME,
        attempt,
        url,
    };
    Ok(doorward.cookies().seal_code(&code, origin))
}

/// Uses a code at the origin of an app. `attempts` are the values of the try cookies of the browser.
pub(crate) async fn use_code(
    doorward: &Doorward,
    sealed: &str,
    origin: &str,
    attempts: &[&str],
    requester: &Requester,
) -> Result<CodeUsed, CodeError> {
    let now = doorward.now();
    let code = doorward.cookies().open_code(sealed, origin).ok_or(CodeError::Invalid)?;
    if code.expires_at <= now {
        return Err(CodeError::Invalid);
    }
    if !attempts.iter().any(|attempt| AttemptDigest::of(attempt) == code.attempt) {
        // A code in the wrong browser may be known to others.
        doorward.store().use_code(code.id, code.expires_at, &Effects::NONE).await?;
        let is_without_cookies = attempts.is_empty();
        return Err(if is_without_cookies { CodeError::NoAttempt } else { CodeError::Invalid });
    }
    let found = doorward.store().session_with_user(code.session_id).await?;
    let (session, _) =
        found.filter(|(_, user)| user.id == code.user_id).ok_or(CodeError::Invalid)?;
    let kind = EventKind::SignedInToApp { session: code.session_id };
    let effects = doorward.event_by_user(code.user_id, requester, kind).into();
    if session.has_expired(doorward.last_used(&session), now)
        || !doorward.store().use_code(code.id, code.expires_at, &effects).await?
    {
        return Err(CodeError::Invalid);
    }
    Ok(CodeUsed { session, url: code.url })
}
