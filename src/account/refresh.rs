//! Refreshing a session: a new token replaces the old one. Using a replaced token again ends the session.

use std::time::Duration;

use super::{Error, effects::sessions_ended};
use crate::{
    Caller, Doorward,
    event::EventKind,
    mail::EndedBy,
    network::Requester,
    session::{Session, TokenId},
    store::{self, Effects, ReusedToken},
    token::{Claims, Token},
};

/// A client that lost the response may send its old token again for this long. It gets no new token, because a token is
/// refreshed only once, but its session stays valid.
const REUSE_TOLERANCE: Duration = Duration::from_secs(30);

/// Replaces the token of the caller's session.
pub(crate) async fn refresh(doorward: &Doorward, caller: &Caller) -> Result<Token, Error> {
    doorward.throttle().charge_refresh(caller.user.id, doorward.instant())?;
    let (store, token_id, now) = (doorward.store(), TokenId::random(), doorward.now());
    let mut session = (*caller.session).clone();
    if !store.renew_session(&session, token_id, now).await? {
        // It may have lost a proof since it was read, which the new token must not name.
        let stored = store.session_with_user(session.id).await?;
        let stored = stored.filter(|(stored, _)| stored.token_id == session.token_id);
        let (stored, user) = stored.ok_or(Error::SessionEnded)?;
        session = stored.of_holder(&user.factors);
        if !store.renew_session(&session, token_id, now).await? {
            return Err(Error::SessionEnded);
        }
    }
    Ok(doorward.new_token_of(&Session { token_id, ..session }).await)
}

/// Ends the session of a replaced token that is used again: two clients hold tokens of the session, and one of them is
/// not its owner. The signature of the token must have been verified.
pub(crate) async fn end_reused_session(
    doorward: &Doorward,
    token: &str,
    requester: &Requester,
) -> Result<(), store::Error> {
    let now = doorward.now();
    let Ok(replaced) = doorward.mint().read_to_refresh(token) else { return Ok(()) };
    let Claims { user_id, session_id, token_id, expires_at, .. } = replaced.claims;
    let reused = ReusedToken { user_id, session_id, token_id, expires_at };
    let effects = match doorward.store().user_by_id(user_id).await? {
        Some(user) => sessions_ended(doorward, &user, EndedBy::Reuse),
        None => Effects::NONE,
    };
    let kind = EventKind::TokenReused { session: session_id };
    let effects = effects.with(doorward.event_by_unknown(user_id, requester, kind));
    let replaced_by = now - REUSE_TOLERANCE;
    doorward.store().end_reused_session(&reused, replaced_by, now, &effects).await?;
    Ok(())
}
