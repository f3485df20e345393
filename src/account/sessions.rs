//! The sessions of a user: listing and ending them.

use super::mailing::sessions_ended;
use crate::{
    Caller, Doorward,
    mail::{EndedBy, Mailing},
    session::{Session, SessionId},
    store,
    user::UserId,
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
pub(crate) async fn log_out(doorward: &Doorward, caller: &Caller) -> Result<(), store::Error> {
    let (user, session) = (caller.user.id, caller.session.id);
    doorward.store().end_session(user, session, doorward.now()).await?;
    tracing::info!(%user, %session, "logged out");
    Ok(())
}

/// Ends all sessions of a user at their request.
pub(crate) async fn log_out_everywhere(
    doorward: &Doorward,
    user: UserId,
) -> Result<(), store::Error> {
    let ended = doorward.store().end_sessions(user, doorward.now(), &Mailing::NONE).await?;
    tracing::info!(%user, ended, "logged out everywhere");
    Ok(())
}

/// Ends one session of a user at their request. False if they have no such session.
pub(crate) async fn end(
    doorward: &Doorward,
    user: UserId,
    session: SessionId,
) -> Result<bool, store::Error> {
    let ended = doorward.store().end_session(user, session, doorward.now()).await?;
    if ended {
        tracing::info!(%user, %session, "session ended by its user");
    }
    Ok(ended)
}

impl Doorward {
    /// Ends all sessions of a user and returns how many there were, as `doorward user logout` does. Their tokens are
    /// refused from the next request on.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn end_sessions(&self, user: UserId) -> Result<usize, store::Error> {
        let mailing = match self.store().user_by_id(user).await? {
            Some(user) => sessions_ended(self, &user, EndedBy::Operator),
            None => Mailing::NONE,
        };
        let ended = self.store().end_sessions(user, self.now(), &mailing).await?;
        self.announce(&mailing);
        tracing::info!(%user, ended, "sessions ended by the operator");
        Ok(ended)
    }
}
