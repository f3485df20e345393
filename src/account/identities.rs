//! The accounts of a person at other providers: linking, listing and removing them, and what a provider says has ended.

use super::{
    Error,
    effects::{identity_linked, identity_unlinked},
    external_error::{ExternalError, refuse},
    factor::{holder, require_fresh},
    user_order::Order,
};
use crate::{
    Caller, Doorward,
    event::{Administrator, EventKind},
    federation::{Login, ProviderError},
    id::Id,
    network::Requester,
    store::{self, LinkIdentity, UnlinkIdentity},
    throttle::OwnChange,
    token::{cookie::CodeId, external::PendingLink},
    user::{Identity, IdentityId, User, UserId},
};

/// The identities of a user, the oldest first.
pub(crate) async fn of_user(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<Identity>, store::Error> {
    doorward.store().identities_of(user).await
}

/// What people call a login: its name, if it is not declared any more.
pub(crate) fn label(doorward: &Doorward, login: &str) -> String {
    doorward.logins().by_name(login).map_or_else(|| login.to_owned(), |login| login.label.clone())
}

/// Links an account at a provider to that of the caller, who has just proved who they are.
pub(crate) async fn link(
    doorward: &Doorward,
    caller: &Caller,
    pending: &PendingLink,
    requester: &Requester,
) -> Result<(), Error> {
    if pending.user.is_some_and(|user| user != caller.user.id) {
        return Err(Error::IdentityTaken);
    }
    require_fresh(doorward, caller)?;
    doorward.charge_change(caller.user.id, OwnChange::Account)?;
    let (user, now) = (&*caller.user, doorward.now());
    let identity = Identity {
        id: IdentityId::random(),
        user_id: user.id,
        issuer: pending.issuer.clone(),
        subject: pending.subject.clone(),
        login: pending.login.clone(),
        display: pending.display.clone(),
        created_at: now,
        last_used_at: None,
    };
    let kind = EventKind::IdentityLinked { login: pending.login.clone() };
    let label = label(doorward, &pending.login);
    let effects = identity_linked(doorward, user, label, requester.language)
        .with(doorward.event_by_user(user.id, requester, kind));
    match doorward.store().link_identity(holder(caller), &identity, &effects).await? {
        LinkIdentity::Linked => Ok(()),
        LinkIdentity::Taken => Err(Error::IdentityTaken),
        LinkIdentity::TooMany => Err(Error::TooManyIdentities),
        LinkIdentity::UserChanged => Err(Error::SignInAgain),
    }
}

/// Removes an account at a provider from that of the caller, unless they could not sign in without it.
pub(crate) async fn unlink(
    doorward: &Doorward,
    caller: &Caller,
    id: IdentityId,
    requester: &Requester,
) -> Result<(), Error> {
    require_fresh(doorward, caller)?;
    doorward.charge_change(caller.user.id, OwnChange::Account)?;
    let (user, now) = (&*caller.user, doorward.now());
    let identity = identity_of(doorward, user.id, id).await?;
    let kind = EventKind::IdentityUnlinked { login: identity.login.clone() };
    let label = label(doorward, &identity.login);
    let effects = identity_unlinked(doorward, user, label, requester.language)
        .with(doorward.event_by_user(user.id, requester, kind));
    let (who, by_mail) = (holder(caller), doorward.signs_in_by_mail());
    match doorward.store().unlink_identity(who, id, by_mail, now, &effects).await? {
        UnlinkIdentity::Unlinked => Ok(()),
        UnlinkIdentity::Kept => Err(Error::LastWayIn),
        UnlinkIdentity::UserChanged => Err(Error::SignInAgain),
    }
}

async fn identity_of(doorward: &Doorward, user: UserId, id: IdentityId) -> Result<Identity, Error> {
    let mut identities = of_user(doorward, user).await?.into_iter();
    identities.find(|identity| identity.id == id).ok_or(Error::NoSuchIdentity)
}

/// Removes an account at a provider from that of a user, for an administrator. The sessions that began with it end.
pub(crate) struct RemoveIdentity {
    pub(crate) identity: IdentityId,
}

impl Order for RemoveIdentity {
    type Outcome = ();

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<(), Error> {
        let identity = identity_of(doorward, user.id, self.identity).await?;
        let kind = EventKind::IdentityUnlinked { login: identity.login.clone() };
        let (label, language) =
            (label(doorward, &identity.login), doorward.settings().mail.language);
        let effects = identity_unlinked(doorward, user, label, language)
            .with(doorward.event_by_administrator(by, user.id, kind));
        let (store, now) = (doorward.store(), doorward.now());
        match store.remove_identity(user.id, self.identity, now, &effects).await? {
            true => Ok(()),
            false => Err(Error::NoSuchIdentity),
        }
    }
}

/// Ends the sessions of which a provider says that they have ended there. What it says counts once. Returns how many there were.
pub(crate) async fn end_by_provider(
    doorward: &Doorward,
    login: &Login,
    logout_token: &str,
    requester: &Requester,
) -> Result<usize, ExternalError> {
    let logout = doorward.providers().logout(login, logout_token, doorward.now()).await;
    let logout = logout.map_err(|error: ProviderError| {
        refuse(doorward, &login.name, error.into(), None, requester)
    })?;
    let (store, now) = (doorward.store(), doorward.now());
    let message = (CodeId::from_uuid(uuid::Uuid::from_bytes(logout.id)), logout.expires_at);
    let identities = match (&logout.session_id, &logout.subject) {
        (Some(session), _) => store.identities_by_upstream_session(&logout.issuer, session).await?,
        (None, Some(subject)) => {
            let found = store.identity_with_user(&logout.issuer, subject).await?;
            found.map(|(identity, _)| identity).into_iter().collect()
        }
        (None, None) => Vec::new(),
    };
    let named = |identity: &Identity| {
        logout.subject.as_ref().is_none_or(|subject| *subject == identity.subject)
    };
    let mut ended = 0;
    for identity in identities.iter().filter(|identity| named(identity)) {
        let kind = EventKind::SessionsEnded { count: None };
        let effects = doorward.event_by_unknown(identity.user_id, requester, kind).into();
        let session = logout.session_id.as_deref();
        ended += store.end_sessions_by_provider(identity, session, message, now, &effects).await?;
    }
    Ok(ended)
}
