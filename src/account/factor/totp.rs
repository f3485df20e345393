//! Authenticator apps: a secret that the app and the service share, and codes of six digits.

use zeroize::Zeroizing;

use super::{Enrolled, enrolled, first_recovery_codes, holder, removed, require_fresh};
use crate::{
    Caller, Doorward,
    account::{
        Error,
        effects::{factor_added, factor_removed},
    },
    credential::{factor::FactorKind, totp::TotpSecret},
    event::EventKind,
    network::Requester,
    session::Session,
    store::AddedIn,
    throttle::OwnChange,
    token::challenge::{SETUP_LIFETIME, TotpSetup},
    user::StoredTotp,
};

/// A secret that is stored when its user has typed a code for it.
pub(crate) struct NewTotp {
    /// What the code is sent with.
    pub(crate) setup: String,
    pub(crate) secret: TotpSecret,
    /// What an app reads from a QR code.
    pub(crate) uri: Zeroizing<String>,
}

/// Whether the service offers authenticator apps.
pub(crate) fn is_offered(doorward: &Doorward) -> bool {
    doorward.settings().factor_kinds.contains(FactorKind::Totp)
}

/// Makes a secret for the caller.
pub(crate) fn begin(doorward: &Doorward, caller: &Caller) -> Result<NewTotp, Error> {
    if !is_offered(doorward) {
        return Err(Error::FactorNotOffered);
    }
    require_fresh(doorward, caller)?;
    if caller.user.factors.contains(FactorKind::Totp) {
        return Err(Error::FactorTaken);
    }
    let secret = TotpSecret::random();
    let setup = TotpSetup {
        user: caller.user.id,
        secret: Zeroizing::new(secret.as_bytes().to_vec()),
        expires_at: doorward.now() + SETUP_LIFETIME,
    };
    Ok(shown(doorward, caller, doorward.cookies().seal_totp_setup(&setup), secret))
}

/// The secret of a setup that is under way, to show it once more after a wrong code.
pub(crate) fn resume(doorward: &Doorward, caller: &Caller, setup: &str) -> Option<NewTotp> {
    let opened = doorward.cookies().open_totp_setup(setup, doorward.now())?;
    let secret = TotpSecret::from_bytes(&opened.secret)?;
    (opened.user == caller.user.id).then(|| shown(doorward, caller, setup.to_owned(), secret))
}

fn shown(doorward: &Doorward, caller: &Caller, setup: String, secret: TotpSecret) -> NewTotp {
    let uri = secret.otpauth_uri(doorward.settings().service_name(), caller.user.email.as_str());
    NewTotp { setup, secret, uri }
}

/// Stores the secret of a setup, whose user has typed a code for it. The code counts as used.
pub(crate) async fn confirm(
    doorward: &Doorward,
    caller: &Caller,
    setup: &str,
    code: &str,
    requester: &Requester,
) -> Result<Enrolled, Error> {
    require_fresh(doorward, caller)?;
    let (user, now) = (&*caller.user, doorward.now());
    let NewTotp { secret, .. } = resume(doorward, caller, setup).ok_or(Error::SetupExpired)?;
    let step = secret.matching_step(code, now).ok_or(Error::WrongTotp)?;
    let stored = StoredTotp {
        user_id: user.id,
        secret: doorward.factor_key().encrypt(user.id, secret.as_bytes()),
        last_step: step.0,
        created_at: now,
        last_used_at: None,
    };
    doorward.charge_change(user.id, OwnChange::Account)?;
    let codes = first_recovery_codes(user);
    let digests: Vec<_> = codes.iter().flatten().map(|code| code.digest()).collect();
    let kind = FactorKind::Totp;
    let event = EventKind::FactorAdded { kind };
    let effects = factor_added(doorward, user, kind, requester.language)
        .with(doorward.event_by_user(user.id, requester, event));
    let own = caller.session.with_added(kind.into(), now);
    let added_in = Some(AddedIn { known: &caller.session, own: &own });
    let added = doorward.store().add_totp(user, &stored, &digests, added_in, &effects).await?;
    enrolled(caller, added, own, codes)
}

/// Removes the caller's authenticator app. Returns their session, which has not proved it any more.
pub(crate) async fn remove(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<Session, Error> {
    require_fresh(doorward, caller)?;
    let (user, kind) = (&*caller.user, FactorKind::Totp);
    let event = EventKind::FactorRemoved { kind };
    let effects = factor_removed(doorward, user, kind, requester.language)
        .with(doorward.event_by_user(user.id, requester, event));
    let now = doorward.now();
    let outcome = doorward.store().remove_totp(holder(caller), now, &effects).await?;
    removed(outcome, Error::NoSuchFactor)
}
