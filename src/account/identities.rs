//! The accounts of a person at other providers: linking, listing and removing them, and what a provider says has ended.

use super::{
    Error,
    effects::{identity_linked, identity_unlinked},
    external_error::{ExternalError, published},
    factor::{holder, require_fresh},
    last_way::other_ways,
    user_order::Order,
};
use crate::{
    Caller, Doorward,
    event::{Administrator, Event, EventKind},
    federation::Login,
    id::Id,
    network::Requester,
    store::{self, GivenRoles, LinkIdentity, UnlinkIdentity, UpstreamSession},
    throttle::OwnChange,
    token::{cookie::CodeId, external::PendingLink},
    user::{Identity, IdentityId, Roles, User, UserId},
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

/// The roles that a login gives, separated by spaces, each of them an event about this user.
pub(super) fn given(
    doorward: &Doorward,
    roles: &str,
    user: UserId,
    requester: &Requester,
) -> GivenRoles {
    // The kind is replaced by that of each role.
    let event = doorward.event_by_unknown(user, requester, EventKind::UserEnabled);
    GivenRoles { roles: Roles::from_store(roles), event }
}

/// Links an account at a provider to that of the caller, who has just proved who they are.
pub(crate) async fn link(
    doorward: &Doorward,
    caller: &Caller,
    pending: &PendingLink,
    requester: &Requester,
) -> Result<(), Error> {
    if pending.user != caller.user.id {
        return Err(Error::IdentityTaken);
    }
    require_fresh(doorward, caller)?;
    doorward.charge_change(caller.user.id, OwnChange::Account)?;
    let (user, login) = (&*caller.user, &pending.account.login);
    let identity = pending.account.of(user.id, doorward.now());
    let kind = EventKind::IdentityLinked { login: login.clone() };
    let gives = given(doorward, &pending.roles, user.id, requester);
    let effects = identity_linked(doorward, user, label(doorward, login), requester.language)
        .with(doorward.event_by_user(user.id, requester, kind));
    match doorward.store().link_identity(holder(caller), &identity, &gives, &effects).await? {
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
    let identities = of_user(doorward, user.id).await?;
    let removed = identities.iter().find(|identity| identity.id == id);
    let removed = removed.ok_or(Error::NoSuchIdentity)?;
    let kind = EventKind::IdentityUnlinked { login: removed.login.clone() };
    let label = label(doorward, &removed.login);
    let effects = identity_unlinked(doorward, user, label, requester.language)
        .with(doorward.event_by_user(user.id, requester, kind));
    let others = identities.iter().filter(|other| other.id != id);
    let other_ways = other_ways(doorward, user, others);
    match doorward.store().unlink_identity(holder(caller), id, other_ways, now, &effects).await? {
        UnlinkIdentity::Unlinked => Ok(()),
        UnlinkIdentity::Kept => Err(Error::LastWayIn),
        UnlinkIdentity::UserChanged => Err(Error::SignInAgain),
    }
}

/// Removes an account at a provider from that of a user, for an administrator. The sessions in which they have signed in with a provider
/// end.
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
        let mut identities = of_user(doorward, user.id).await?.into_iter();
        let identity = identities.find(|identity| identity.id == self.identity);
        let identity = identity.ok_or(Error::NoSuchIdentity)?;
        let by_order = |kind| doorward.event_by_administrator(by, user.id, kind);
        match remove(doorward, user, &identity, by_order).await? {
            true => Ok(()),
            false => Err(Error::NoSuchIdentity),
        }
    }
}

/// Removes an identity of a user, who has not asked for that, with the sessions in which they have signed in with a provider. Returns
/// false if it is gone already.
async fn remove(
    doorward: &Doorward,
    user: &User,
    identity: &Identity,
    event: impl FnOnce(EventKind) -> Event,
) -> Result<bool, store::Error> {
    let (label, language) = (label(doorward, &identity.login), doorward.settings().mail.language);
    let kind = EventKind::IdentityUnlinked { login: identity.login.clone() };
    let effects = identity_unlinked(doorward, user, label, language).with(event(kind));
    doorward.store().remove_identity(user.id, identity.id, doorward.now(), &effects).await
}

/// Ends what a provider says has ended there. A message that ends sessions counts once.
pub(crate) async fn end_by_provider(
    doorward: &Doorward,
    login: &Login,
    message: &str,
    requester: &Requester,
) -> Result<(), ExternalError> {
    let ended = published(doorward, &login.name, requester, async {
        Ok(doorward.providers().ended(login, message, doorward.now()).await?)
    });
    let ended = ended.await?;
    let Some(ended) = ended else { return Ok(()) };
    let (store, now) = (doorward.store(), doorward.now());
    let identities = match (&ended.subject, &ended.session_id) {
        (Some(subject), _) => {
            let found = store.identity_with_user(&ended.issuer, subject).await?;
            let Some((identity, user)) = found else { return Ok(()) };
            if ended.is_closed {
                let of_provider = |kind| doorward.event_by_unknown(user.id, requester, kind);
                remove(doorward, &user, &identity, of_provider).await?;
                return Ok(());
            }
            vec![identity]
        }
        (None, Some(session)) => {
            store.identities_by_upstream_session(&ended.issuer, session).await?
        }
        (None, None) => Vec::new(),
    };
    let message = (CodeId::from_uuid(uuid::Uuid::from_bytes(ended.id)), ended.expires_at);
    for identity in &identities {
        let kind = EventKind::SessionsEnded { count: None };
        let effects = doorward.event_by_unknown(identity.user_id, requester, kind).into();
        // Of a person who is named, it may be any that is not.
        let or_unnamed = ended.subject.is_some();
        let session = ended.session_id.as_deref().map(|id| UpstreamSession { id, or_unnamed });
        store.end_sessions_by_provider(identity, session, message, now, &effects).await?;
    }
    Ok(())
}
