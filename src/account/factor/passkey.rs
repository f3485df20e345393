//! Passkeys and security keys: making, renaming and removing them.

use super::{Enrolled, enrolled, first_recovery_codes, holder, removed, require_fresh};
use crate::{
    Caller, Doorward,
    account::{
        Error,
        effects::{factor_added, factor_removed},
        last_way::other_ways,
    },
    clock::Timestamp,
    credential::{
        factor::FactorKind,
        passkey::{RegistrationResponse, RelyingParty, authenticator_name, register},
    },
    event::EventKind,
    network::Requester,
    random::random_bytes,
    session::{Session, device::Device},
    store::{AddedIn, MAX_PASSKEYS},
    throttle::OwnChange,
    token::challenge::{PasskeySetup, signed_challenge},
    user::{FactorId, Name, Passkey},
};

/// A passkey that a browser is asked to make.
pub(crate) struct NewPasskey {
    /// What the answer is sent with.
    pub(crate) setup: String,
    /// What the authenticator signs.
    pub(crate) challenge: Vec<u8>,
    pub(crate) relying_party: RelyingParty,
    pub(crate) user_handle: Vec<u8>,
    /// Whether it replaces the password.
    pub(crate) verifies_user: bool,
    /// The authenticators that hold one already.
    pub(crate) existing: Vec<Passkey>,
}

/// What a browser has answered.
pub(crate) struct MadePasskey {
    pub(crate) response: RegistrationResponse,
    pub(crate) transports: Vec<&'static str>,
    /// What the user calls it. Else it is called after its authenticator.
    pub(crate) name: Option<Name>,
}

/// Asks for a new passkey of the caller, or for a security key that only follows a password.
pub(crate) async fn begin(
    doorward: &Doorward,
    caller: &Caller,
    kind: FactorKind,
) -> Result<NewPasskey, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::FactorNotOffered)?;
    require_fresh(doorward, caller)?;
    let (user, now) = (&*caller.user, doorward.now());
    let existing = doorward.store().factors_of(user, now).await?.passkeys;
    if existing.len() >= MAX_PASSKEYS {
        return Err(Error::TooManyPasskeys);
    }
    let user_handle = existing.first().map_or_else(random_handle, |held| held.user_handle.clone());
    let verifies_user = kind == FactorKind::Passkey;
    let setup = PasskeySetup::new(user.id, user_handle.clone(), verifies_user, now);
    let setup = doorward.cookies().seal_passkey_setup(&setup);
    let challenge = signed_challenge(&setup);
    Ok(NewPasskey { setup, challenge, relying_party, user_handle, verifies_user, existing })
}

/// 32 random bytes: an authenticator shows and stores them, so they say nothing about the user.
pub(in crate::account) fn random_handle() -> Vec<u8> {
    random_bytes::<32>().to_vec()
}

/// Stores a passkey that the caller's authenticator has made.
pub(crate) async fn enrol(
    doorward: &Doorward,
    caller: &Caller,
    setup: &str,
    made: MadePasskey,
    requester: &Requester,
) -> Result<Enrolled, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::FactorNotOffered)?;
    require_fresh(doorward, caller)?;
    let (user, now) = (&*caller.user, doorward.now());
    let opened = doorward.cookies().open_passkey_setup(setup, now);
    let opened = opened.filter(|opened| opened.user == user.id).ok_or(Error::SetupExpired)?;
    let challenge = signed_challenge(setup);
    let setup = (opened.id, opened.expires_at);
    let passkey = new_record(relying_party, &challenge, opened, made, requester, now)?;
    doorward.charge_change(user.id, OwnChange::Account)?;
    let codes = first_recovery_codes(user);
    let digests: Vec<_> = codes.iter().flatten().map(|code| code.digest()).collect();
    let kind = passkey.kind();
    let event = EventKind::FactorAdded { kind };
    let effects = factor_added(doorward, user, kind, requester.language)
        .with(doorward.event_by_user(user.id, requester, event));
    let own = caller.session.with_added(kind.into(), now);
    let added_in = Some(AddedIn { known: &caller.session, own: &own });
    let store = doorward.store();
    let added = store.add_passkey(user, &passkey, setup, &digests, added_in, &effects).await?;
    enrolled(caller, added, own, codes)
}

/// The record of a passkey that an authenticator has made for the user of the setup, who has answered this challenge.
pub(in crate::account) fn new_record(
    relying_party: RelyingParty,
    challenge: &[u8],
    setup: PasskeySetup,
    made: MadePasskey,
    requester: &Requester,
    now: Timestamp,
) -> Result<Passkey, Error> {
    let registered =
        register(&relying_party, challenge, &made.response).map_err(Error::InvalidPasskey)?;
    let device = Device::of(&requester.client.user_agent);
    let name = match made.name {
        Some(name) => name.as_str().to_owned(),
        None => authenticator_name(registered.aaguid)
            .map_or_else(|| device.in_words(requester.language), str::to_owned),
    };
    Ok(Passkey {
        id: FactorId::random(),
        user_id: setup.user,
        credential_id: registered.credential_id.as_bytes().to_vec(),
        rp_id: relying_party.id,
        user_handle: setup.user_handle,
        public_key: registered.public_key.to_bytes(),
        verifies_user: setup.verifies_user && registered.user_verified,
        aaguid: registered.aaguid,
        name,
        transports: made.transports.join(" "),
        sign_count: registered.sign_count.into(),
        backup_eligible: registered.backup_eligible,
        backed_up: registered.backed_up,
        created_at: now,
        last_used_at: None,
    })
}

/// Gives a passkey of the caller another name.
pub(crate) async fn rename(
    doorward: &Doorward,
    caller: &Caller,
    id: FactorId,
    name: &Name,
    requester: &Requester,
) -> Result<(), Error> {
    let user = caller.user.id;
    doorward.charge_change(user, OwnChange::Account)?;
    let effects = doorward.event_by_caller(caller, requester, EventKind::PasskeyRenamed).into();
    match doorward.store().rename_passkey(user, id, name.as_str(), &effects).await? {
        true => Ok(()),
        false => Err(Error::NoSuchFactor),
    }
}

/// Removes a passkey of the caller, unless they could not sign in without it. Returns their session, which has not proved one any
/// more.
pub(crate) async fn remove(
    doorward: &Doorward,
    caller: &Caller,
    id: FactorId,
    requester: &Requester,
) -> Result<Session, Error> {
    require_fresh(doorward, caller)?;
    let (user, now, store) = (&*caller.user, doorward.now(), doorward.store());
    let held = store.factors_of(user, now).await?.passkeys;
    let passkey = held.into_iter().find(|passkey| passkey.id == id);
    let passkey = passkey.ok_or(Error::NoSuchFactor)?;
    let kind = passkey.kind();
    let event = EventKind::FactorRemoved { kind };
    let effects = factor_removed(doorward, user, kind, requester.language)
        .with(doorward.event_by_user(user.id, requester, event));
    let other_ways = other_ways(doorward, user, store.identities_of(user.id).await?.iter());
    let outcome = store.remove_passkey(holder(caller), id, other_ways, now, &effects).await?;
    removed(outcome, Error::LastWayIn)
}
