//! Account operations, shared by the JSON API, the command line and apps that embed Doorward. Each function takes
//! validated values and the requester, and returns the outcome. It throttles, hashes, stores and logs as needed.

pub(crate) mod activity;
pub(crate) mod app_sign_in;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod change;
pub(crate) mod edit;
mod effects;
pub(crate) mod emergency;
mod enumeration;
mod error;
pub(crate) mod export;
pub(crate) mod external;
pub(crate) mod external_address;
pub(crate) mod external_error;
pub(crate) mod factor;
pub(crate) mod factor_list;
pub(crate) mod factor_reset;
pub(crate) mod first_factor;
pub(crate) mod forgot;
pub(crate) mod guard_check;
pub(crate) mod guard_reload;
pub(crate) mod identities;
pub(crate) mod identity_list;
pub(crate) mod import;
pub(crate) mod invite;
pub(crate) mod key_list;
pub(crate) mod keys;
mod last_way;
pub(crate) mod leave;
pub(crate) mod look_up;
pub(crate) mod mail_code;
pub(crate) mod mail_queue;
mod missing_factor;
pub(crate) mod one_time;
pub(crate) mod order;
pub(crate) mod password;
pub(crate) mod proof;
pub(crate) mod refresh;
pub(crate) mod refused;
pub(crate) mod register;
pub(crate) mod register_passkey;
pub(crate) mod repeated;
pub(crate) mod reset;
pub(crate) mod restore;
pub(crate) mod roles;
pub(crate) mod search;
pub(crate) mod secure;
pub(crate) mod session_start;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod signing_keys;
pub(crate) mod status;
#[cfg(test)]
mod tests;
pub(crate) mod trusted_devices;
mod unanswered;
pub(crate) mod unlock;
pub(crate) mod user_order;
pub(crate) mod verify;
pub(crate) mod witness;

pub use self::{
    error::{Error, InvalidInput},
    invite::{InvitationTicket, Invited, NewInvitation},
    missing_factor::MissingFactor,
    register::NewUser,
};
use crate::{
    Caller, Doorward,
    event::{Administrator, Authority, Event, EventKind, Right},
    network::Requester,
    session::Session,
    throttle::{OwnChange, Throttled},
    token::Token,
    user::{User, UserId},
};

/// A user, the session that was opened for them and its token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewSession {
    /// The user.
    pub user: User,
    /// The session.
    pub session: Session,
    /// The bearer token of the session.
    pub token: Token,
}

/// A user and the session that was opened for them.
pub(crate) struct OpenedSession {
    pub(crate) user: User,
    pub(crate) session: Session,
}

impl OpenedSession {
    /// The session with its bearer token, whose holder guards of this instance know.
    pub(crate) async fn with_token(self, doorward: &Doorward) -> NewSession {
        let Self { user, session } = self;
        let token = doorward.new_token_of(&session).await;
        NewSession { user, session, token }
    }
}

impl Doorward {
    /// Charges a change that a user makes in their own account.
    fn charge_change(&self, user: UserId, change: OwnChange) -> Result<(), Throttled> {
        self.throttle().charge_change(user, change, self.instant())
    }

    /// The event that a user does something with their own account.
    fn event_by_user(&self, user: UserId, requester: &Requester, kind: EventKind) -> Event {
        Event::by_user(user, requester, self.now(), kind)
    }

    /// The event that a caller changes something in their own account. Nothing is written if their session has ended before.
    fn event_by_caller(&self, caller: &Caller, requester: &Requester, kind: EventKind) -> Event {
        let right = Right::of_session(caller.session.id, &caller.user);
        let authority = Some(Authority::new(right, [].into()));
        Event { authority, ..self.event_by_user(caller.user.id, requester, kind) }
    }

    /// The event that somebody orders something about the account of another.
    fn event_by_administrator(
        &self,
        by: &Administrator,
        subject: impl Into<Option<UserId>>,
        kind: EventKind,
    ) -> Event {
        Event::by_administrator(by, subject.into(), self.now(), kind)
    }

    /// The event that somebody does something who has not shown who they are.
    fn event_by_unknown(
        &self,
        subject: impl Into<Option<UserId>>,
        requester: &Requester,
        kind: EventKind,
    ) -> Event {
        Event::by_unknown(subject.into(), requester, self.now(), kind)
    }
}
