//! The sessions of a user: listing and ending them.

use super::{Error, effects::sessions_ended, keys::valid_of_user, user_order::Order};
use crate::{
    Caller, Doorward,
    event::{Administrator, EventKind},
    mail::EndedBy,
    network::Requester,
    session::{Session, SessionId},
    store,
    user::{User, UserId},
};

/// The sessions of a user that have not expired, oldest first.
pub(crate) async fn list(doorward: &Doorward, user: UserId) -> Result<Vec<Session>, store::Error> {
    let now = doorward.now();
    let mut sessions = doorward.store().sessions_by_user(user, now).await?;
    for session in &mut sessions {
        session.last_seen_at = doorward.last_used(session);
    }
    sessions.retain(|session| !session.has_expired(session.last_seen_at, now));
    Ok(sessions)
}

/// Ends the caller's session.
pub(crate) async fn log_out(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<(), store::Error> {
    let (user, session) = (caller.user.id, caller.session.id);
    let kind = EventKind::SignedOut { session };
    let effects = doorward.event_by_user(user, requester, kind).into();
    doorward.store().end_session(user, session, doorward.now(), &effects).await?;
    Ok(())
}

/// Ends the session of a token that an OAuth client has revoked.
pub(crate) async fn end_by_client(
    doorward: &Doorward,
    caller: &Caller,
    client: String,
    requester: &Requester,
) -> Result<(), store::Error> {
    let (user, session) = (caller.user.id, caller.session.id);
    let kind = EventKind::SessionEndedByClient { session, client };
    let effects = doorward.event_by_unknown(user, requester, kind).into();
    doorward.store().end_session(user, session, doorward.now(), &effects).await?;
    Ok(())
}

/// Ends all sessions of a user at their request.
pub(crate) async fn log_out_everywhere(
    doorward: &Doorward,
    user: UserId,
    requester: &Requester,
) -> Result<(), store::Error> {
    let kind = EventKind::SessionsEnded { count: None };
    let effects = doorward.event_by_user(user, requester, kind).into();
    doorward.store().end_sessions(user, doorward.now(), &effects).await?;
    Ok(())
}

/// Ends one session of a user at their request. False if they have no such session.
pub(crate) async fn end(
    doorward: &Doorward,
    user: UserId,
    session: SessionId,
    requester: &Requester,
) -> Result<bool, store::Error> {
    let kind = EventKind::SessionEnded { session };
    let effects = doorward.event_by_user(user, requester, kind).into();
    doorward.store().end_session(user, session, doorward.now(), &effects).await
}

/// Ends one session of a user for an administrator.
pub(crate) struct EndSession {
    pub(crate) session: SessionId,
}

impl Order for EndSession {
    /// False if they have no such session.
    type Outcome = bool;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<bool, Error> {
        let Self { session } = self;
        let kind = EventKind::SessionEnded { session };
        let effects = doorward.event_by_administrator(by, user.id, kind).into();
        Ok(doorward.store().end_session(user.id, session, doorward.now(), &effects).await?)
    }
}

/// What came of ending all sessions of a user.
pub(crate) struct AllEnded {
    pub(crate) sessions: usize,
    /// The API keys of the user that still count: they are no sessions.
    pub(crate) keys_left: usize,
}

/// Ends all sessions of a user for an administrator.
pub(crate) struct EndSessions;

impl Order for EndSessions {
    type Outcome = AllEnded;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<AllEnded, Error> {
        let kind = EventKind::SessionsEnded { count: None };
        let effects = sessions_ended(doorward, user, EndedBy::Operator)
            .with(doorward.event_by_administrator(by, user.id, kind));
        let sessions = doorward.store().end_sessions(user.id, doorward.now(), &effects).await?;
        Ok(AllEnded { sessions, keys_left: valid_of_user(doorward, user.id).await?.len() })
    }
}

impl Doorward {
    /// Ends all sessions of a user and returns how many there were, as `doorward user logout` does. Their tokens are
    /// refused from the next request on. API keys of the user still count.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn end_sessions(&self, user: UserId) -> Result<usize, Error> {
        Ok(self.order(EndSessions, user).await?.sessions)
    }
}
