//! API keys: people make their own after a sign-in that is not long ago, and the operator makes those of machines. A key makes no
//! keys.

use std::{collections::BTreeSet, ops::RangeInclusive, time::Duration};

use super::{Error, InvalidInput, effects::key_created, proof::is_fresh};
use crate::{
    Caller, Doorward,
    access::{
        api_key::{EVERY_GUARD, GUARD_SCOPE, parse_condition},
        guard::{RequestFacts, check_name},
        scope::{Scope, Scopes, unknown},
    },
    credential::api_key::{KeyKind, KeyText},
    event::{Actor, Administrator, EventKind},
    fault::{Fault, FaultKind},
    network::Requester,
    store::{self, AddKey},
    throttle::OwnChange,
    user::{ApiKey, ApiKeyId, KeyScopes, KeyState, Name, User, UserId},
};

/// How long a key is valid unless somebody says otherwise.
pub(crate) const LIFETIME: Duration = days(90);

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}

/// How long a key may be valid.
fn lifetimes(kind: KeyKind) -> RangeInclusive<Duration> {
    const SHORTEST: Duration = Duration::from_secs(5 * 60);
    match kind {
        KeyKind::Machine => SHORTEST..=days(3660),
        KeyKind::Personal => SHORTEST..=days(366),
    }
}

/// The key that somebody asks for.
pub(crate) struct NewKey {
    pub(crate) name: Name,
    pub(crate) scopes: Vec<String>,
    pub(crate) lifetime: Duration,
    /// A condition in CEL.
    pub(crate) condition: Option<String>,
}

/// A key that was made.
#[derive(Debug)]
pub(crate) struct MadeKey {
    pub(crate) key: ApiKey,
    /// The key itself. It cannot be read again.
    pub(crate) text: KeyText,
}

/// Makes a key of a machine, for somebody who has these scopes. It gets no other scope than these, and any guard.
pub(crate) async fn create_machine(
    doorward: &Doorward,
    by: &Administrator,
    held: Scopes,
    new: NewKey,
) -> Result<MadeKey, Error> {
    if let Actor::Key { .. } = by.actor {
        return Err(Error::MadeByKey);
    }
    let made = make(doorward, None, false, held, new)?;
    let effects = doorward.event_by_administrator(by, None, created(&made.key)).into();
    doorward.store().add_machine_key(&made.key, &made.text.digest(), &effects).await?;
    doorward.api_keys().key_made().await;
    Ok(made)
}

/// Makes a key of the caller, who has just signed in.
pub(crate) async fn create_personal(
    doorward: &Doorward,
    caller: &Caller,
    new: NewKey,
    requester: &Requester,
) -> Result<MadeKey, Error> {
    let user = &*caller.user;
    if !is_fresh(doorward, user, &caller.session) {
        return Err(Error::SignInAgain);
    }
    let request = RequestFacts {
        address: Some(requester.client.address),
        ..RequestFacts::at(doorward.now())
    };
    let Ok(held) = doorward.scopes_of(caller, &request) else {
        return Err(Error::SignInAgain);
    };
    let two_factors = caller.session.methods.strength() >= 2;
    // First, because a condition is compiled whether the key is made or not.
    doorward.charge_change(user.id, OwnChange::Account)?;
    let made = make(doorward, Some(user.id), two_factors, held, new)?;
    let event = doorward.event_by_caller(caller, requester, created(&made.key));
    let effects = key_created(doorward, user, requester.language).with(event);
    let store = doorward.store();
    match store.add_personal_key(user, &made.key, &made.text.digest(), &effects).await? {
        AddKey::Added => {
            doorward.api_keys().key_made().await;
            Ok(made)
        }
        AddKey::TooMany => Err(Error::TooManyKeys),
        AddKey::UserChanged => Err(Error::SignInAgain),
    }
}

fn make(
    doorward: &Doorward,
    owner: Option<UserId>,
    two_factors: bool,
    held: Scopes,
    new: NewKey,
) -> Result<MadeKey, Error> {
    let NewKey { name, scopes, lifetime, condition } = new;
    let kind = if owner.is_some() { KeyKind::Personal } else { KeyKind::Machine };
    let lifetimes = lifetimes(kind);
    if !lifetimes.contains(&lifetime) {
        let most = lifetimes.end().as_secs() / days(1).as_secs();
        let message = format!("a key is valid for 5 minutes to {most} days");
        let fault = Fault::new(FaultKind::KeyLifetime, message);
        return Err(InvalidInput { field: "lifetime", fault }.into());
    }
    if scopes.is_empty() {
        return Err(invalid_scope("a key needs a scope, such as guard:*".into()).into());
    }
    scopes.iter().try_for_each(|scope| check_scope(scope, held))?;
    if let Some(condition) = &condition {
        parse_condition(condition)
            .map_err(|error| Fault::new(FaultKind::InvalidCondition, error.message))
            .map_err(InvalidInput::new("allow"))?;
    }
    let now = doorward.now();
    let key = ApiKey {
        id: ApiKeyId::random(),
        owner,
        name: name.as_str().to_owned(),
        scopes: scopes.into_iter().collect::<KeyScopes>(),
        condition,
        two_factors,
        created_at: now,
        expires_at: now + lifetime,
        last_used_at: None,
        revoked_at: None,
    };
    Ok(MadeKey { key, text: KeyText::random(kind) })
}

/// Whether somebody with these scopes can give this one to a key. A guard need not exist yet.
fn check_scope(text: &str, held: Scopes) -> Result<(), InvalidInput> {
    if let Some(guard) = text.strip_prefix(GUARD_SCOPE) {
        return match text == EVERY_GUARD || check_name(guard).is_ok() {
            true => Ok(()),
            false => Err(invalid_scope(format!(
                "{text:?} is not a scope: write guard:* or the name of a guard, such as guard:wiki"
            ))),
        };
    }
    match Scope::by_name(text) {
        Some(scope) if held.contains(scope) => Ok(()),
        Some(scope) => Err(invalid_scope(format!(
            "{scope} is not yours to give: a key can have the scopes of whoever makes it"
        ))),
        None => Err(invalid_scope(format!("{}, guard:*, guard:NAME", unknown(text)))),
    }
}

fn invalid_scope(message: String) -> InvalidInput {
    InvalidInput { field: "scopes", fault: Fault::new(FaultKind::InvalidScope, message) }
}

fn created(key: &ApiKey) -> EventKind {
    EventKind::KeyCreated { key: key.id, name: key.name.clone() }
}

fn revoked(key: &ApiKey) -> EventKind {
    EventKind::KeyRevoked { key: key.id, name: key.name.clone() }
}

/// The keys of a user, the newest first: valid ones, and those that have ended lately.
pub(crate) async fn of_user(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<ApiKey>, store::Error> {
    Ok(with_last_use(doorward, doorward.store().api_keys_by_user(user, doorward.now()).await?))
}

/// The keys of a user that have not ended.
pub(crate) async fn valid_of_user(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<ApiKey>, store::Error> {
    let mut keys = of_user(doorward, user).await?;
    keys.retain(|key| key.state(doorward.now()) == KeyState::Valid);
    Ok(keys)
}

/// Up to `limit` keys of machines and people, the newest first, from the one after `after`.
pub(crate) async fn list(
    doorward: &Doorward,
    after: Option<ApiKeyId>,
    limit: usize,
) -> Result<Vec<ApiKey>, store::Error> {
    let after = match after {
        Some(id) => doorward.store().api_key_by_id(id).await?,
        None => None,
    };
    Ok(with_last_use(doorward, doorward.store().api_keys(after.as_ref(), limit).await?))
}

/// The users whose keys these are, each once.
pub(crate) async fn owners(
    doorward: &Doorward,
    keys: &[ApiKey],
) -> Result<Vec<User>, store::Error> {
    let ids: BTreeSet<_> = keys.iter().filter_map(|key| key.owner).collect();
    doorward.store().users_by_ids(&ids).await
}

fn with_last_use(doorward: &Doorward, mut keys: Vec<ApiKey>) -> Vec<ApiKey> {
    for key in &mut keys {
        key.last_used_at = doorward.api_keys().last_used(key);
    }
    keys
}

/// Revokes a key of a user at their request. False if they have no such key, or it has ended.
pub(crate) async fn revoke_own(
    doorward: &Doorward,
    user: UserId,
    id: ApiKeyId,
    requester: &Requester,
) -> Result<bool, store::Error> {
    let key = doorward.store().api_key_by_id(id).await?;
    let Some(key) = key.filter(|key| key.owner == Some(user)) else { return Ok(false) };
    let effects = doorward.event_by_user(user, requester, revoked(&key)).into();
    doorward.store().revoke_api_key(&key, doorward.now(), &effects).await
}

/// Revokes any key for an administrator, but not of somebody who may do more. False if there is none, or it has ended.
pub(crate) async fn revoke(
    doorward: &Doorward,
    by: &Administrator,
    id: ApiKeyId,
) -> Result<bool, store::Error> {
    let Some(key) = doorward.store().api_key_by_id(id).await? else { return Ok(false) };
    let effects = doorward.event_by_administrator(by, key.owner, revoked(&key)).into();
    doorward.store().revoke_api_key(&key, doorward.now(), &effects).await
}
