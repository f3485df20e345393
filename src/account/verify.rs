//! Verifying e-mail addresses: by a mailed link or code.

use super::{
    Error,
    effects::{charge_mail, email_changed, leading_to, with_secret},
    one_time::{FoundSecret, find, refund},
};
use crate::{
    Doorward,
    event::EventKind,
    network::Requester,
    store::{self, Effects, OneTimeUse},
    throttle::MailPurpose,
    token::{
        cookie::MailedTarget,
        one_time::{LinkOrCode, MAX_GUESSES, Purpose},
    },
    user::User,
};

/// Mails a user a new link that verifies their address, unless it is verified. The link may lead back to an app.
pub(crate) async fn send(
    doorward: &Doorward,
    user: &User,
    requester: &Requester,
    target: Option<&MailedTarget>,
) -> Result<(), Error> {
    if !doorward.sends_mail() {
        return Err(Error::NeedsMail);
    }
    if user.email_verified {
        return Ok(());
    }
    let earlier = charge_mail(doorward, &user.email, MailPurpose::SignUp, requester)?;
    let purpose = Purpose::VerifyEmail;
    let effects = with_secret(doorward, user, purpose, &user.email, requester.language);
    let effects = leading_to(effects, target);
    let kind = EventKind::VerificationRequested;
    let effects =
        Effects { earlier, ..effects }.with(doorward.event_by_user(user.id, requester, kind));
    doorward.store().queue_mail(&effects).await?;
    Ok(())
}

/// Whether a mail that verifies the address was sent, with a code that can still be typed.
pub(crate) async fn is_mailed(doorward: &Doorward, user: &User) -> Result<bool, store::Error> {
    if user.email_verified || !doorward.sends_mail() {
        return Ok(false);
    }
    has_open_code(doorward, user).await
}

async fn has_open_code(doorward: &Doorward, user: &User) -> Result<bool, store::Error> {
    let (purpose, now) = (Purpose::VerifyEmail, doorward.now());
    let pending = doorward.store().pending_one_time(user, purpose, now).await?;
    Ok(pending.is_some_and(|one_time| one_time.guesses < MAX_GUESSES))
}

/// Sends a mail as [`send`] does, unless one with a code that can still be typed has been sent.
pub(crate) async fn send_once(
    doorward: &Doorward,
    user: &User,
    requester: &Requester,
    target: Option<&MailedTarget>,
) -> Result<(), Error> {
    match has_open_code(doorward, user).await? {
        true => Ok(()),
        false => send(doorward, user, requester, target).await,
    }
}

/// Verifies the address of a user, or replaces it with the new address that the link or code was sent to. The old address is
/// told.
pub(crate) async fn verify(
    doorward: &Doorward,
    presented: LinkOrCode,
    requester: &Requester,
) -> Result<User, Error> {
    let purposes = [Purpose::VerifyEmail, Purpose::ChangeEmail];
    let found = find(doorward, &purposes, &presented, requester).await?;
    let FoundSecret { one_time, user, guess } = found.ok_or(Error::WrongCode)?;
    let (usage, effects) = match one_time.purpose {
        Purpose::ChangeEmail => {
            (OneTimeUse::ChangeEmail, email_changed(doorward, &user, requester.language))
        }
        _ => (OneTimeUse::VerifyEmail, Effects::NONE),
    };
    let event = EventKind::EmailVerified { purpose: one_time.purpose };
    let effects = effects.with(doorward.event_by_unknown(user.id, requester, event));
    let now = doorward.now();
    let used = match doorward.store().use_one_time(&one_time, usage, &effects, now).await {
        // A guessed code must not tell by its answer that it is right.
        Err(store::Error::EmailTaken) if guess.is_some() => return Err(Error::WrongCode),
        used => used?,
    };
    let user = used.ok_or(Error::WrongCode)?;
    refund(guess);
    doorward.throttle().clear_mails(&user.email.key());
    Ok(user)
}
