//! Registration with a passkey in place of a password. The rules are those of every registration. User, passkey, recovery codes,
//! session and events are one transaction.

use uuid::Uuid;

use super::{
    Error, OpenedSession,
    factor::{
        new_recovery_codes,
        passkey::{MadePasskey, NewPasskey, new_record, random_handle},
    },
    register::{Registered, Registration, check, register_as},
};
use crate::{
    Doorward,
    credential::{passkey::Invalid, recovery_code::RecoveryCode},
    id::Id,
    network::Requester,
    session::Persistence,
    store::FirstPasskey,
    token::challenge::{PasskeySetup, signed_challenge},
    user::UserId,
};

/// Somebody who has registered with a passkey.
pub(crate) struct RegisteredWithPasskey {
    pub(crate) opened: Box<OpenedSession>,
    /// They are shown once.
    pub(crate) recovery_codes: Vec<RecoveryCode>,
}

/// Whether a passkey can stand in for the password of a new account. Where sign-up does not tell whether an address is taken,
/// nobody is signed in before they have confirmed it, and a passkey would stay with whoever has typed the address. An
/// invitation is addressed to the person, so there is nothing to hide from them.
pub(crate) fn is_offered(doorward: &Doorward, is_invited: bool) -> bool {
    doorward.passkey_relying_party().is_some() && (is_invited || !doorward.signs_up_silently())
}

/// The setup belongs to no user: one for an account that exists does not register, and this one adds nothing to an account.
fn nobody() -> UserId {
    UserId::from_uuid(Uuid::nil())
}

/// Asks for the passkey of a person who may register. They learn now what keeps them from it, because a passkey that was made
/// stays in their device.
pub(crate) async fn begin(
    doorward: &Doorward,
    registration: &Registration,
    requester: &Requester,
) -> Result<NewPasskey, Error> {
    if !is_offered(doorward, registration.invitation.is_some()) {
        return Err(Error::FactorNotOffered);
    }
    check(doorward, registration, requester).await?;
    begin_again(doorward)
}

/// Asks once more, after an answer that was not accepted.
pub(crate) fn begin_again(doorward: &Doorward) -> Result<NewPasskey, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::FactorNotOffered)?;
    let (user_handle, verifies_user) = (random_handle(), true);
    let setup = PasskeySetup::new(nobody(), user_handle.clone(), verifies_user, doorward.now());
    let setup = doorward.cookies().seal_passkey_setup(&setup);
    let (challenge, existing) = (signed_challenge(&setup), Vec::new());
    Ok(NewPasskey { setup, challenge, relying_party, user_handle, verifies_user, existing })
}

/// Registers the person whose authenticator has made a passkey, and signs them in.
pub(crate) async fn register_with_passkey(
    doorward: &Doorward,
    registration: Registration,
    setup: &str,
    made: MadePasskey,
    requester: &Requester,
    persistence: Persistence,
) -> Result<RegisteredWithPasskey, Error> {
    let relying_party = doorward.passkey_relying_party().ok_or(Error::FactorNotOffered)?;
    let opened = doorward.cookies().open_passkey_setup(setup, doorward.now());
    let opened = opened.filter(|opened| opened.user == nobody()).ok_or(Error::SetupExpired)?;
    let setup_use = (opened.id, opened.expires_at);
    let challenge = signed_challenge(setup);
    let passkey = PasskeySetup { user: UserId::random(), ..opened };
    let passkey = new_record(relying_party, &challenge, passkey, made, requester, doorward.now())?;
    // Without a password, it is all that the person has.
    if !passkey.verifies_user {
        return Err(Error::InvalidPasskey(Invalid::UserVerification));
    }
    let recovery_codes = new_recovery_codes();
    let digests = Vec::from_iter(recovery_codes.iter().map(|code| code.digest()));
    let first = FirstPasskey::new(passkey, &digests, setup_use);
    match register_as(doorward, registration, Some(&first), requester, persistence).await? {
        Some(Registered::SignedIn(opened)) => Ok(RegisteredWithPasskey { opened, recovery_codes }),
        Some(Registered::Mailed) => Err(Error::MayNotRegister),
        None => Err(Error::FactorTaken),
    }
}
