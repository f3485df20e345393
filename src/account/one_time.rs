//! Finding the one-time secret that a person presents: by the secret of a link, or by a typed code and the address that it
//! was sent to. A code is counted for the secrets of its address before it is compared with them.

use super::{
    Error,
    effects::decoy,
    enumeration::on_tick,
    sign_in::{begin_attempt, publish_failed},
};
use crate::{
    Doorward,
    event::{EventKind, LoginRefusal},
    network::Requester,
    store,
    store::Effects,
    throttle::{Guess, LoginAttempt},
    token::one_time::{
        LinkOrCode, MAX_GUESSES, OneTime, OneTimeCode, OneTimeSecret, Purpose, SecretDigest,
    },
    user::{Email, EmailKey, User},
};

/// The valid one-time secret in a link and its user. For a page that shows what the link is for; nothing is used.
pub(crate) async fn peek(
    doorward: &Doorward,
    purpose: Purpose,
    secret: &str,
) -> Result<Option<(OneTime, User)>, store::Error> {
    let digest = OneTimeSecret::unchecked(secret.to_owned()).digest();
    by_secret(doorward, &[purpose], &digest).await
}

/// A valid one-time secret that a person has presented.
pub(super) struct FoundSecret<'a> {
    pub(super) one_time: OneTime,
    pub(super) user: User,
    /// The budget that a typed code is charged to.
    pub(super) guess: Option<LoginAttempt<'a>>,
}

/// Refunds a right code when it has had its effect. Earlier wrong ones stay: whoever registered the address may have typed them.
pub(super) fn refund(guess: Option<LoginAttempt<'_>>) {
    if let Some(guess) = guess {
        guess.cancel();
    }
}

/// The valid one-time secret for one of these purposes that a person presents, and its user.
pub(super) async fn find<'a>(
    doorward: &'a Doorward,
    purposes: &[Purpose],
    presented: &LinkOrCode,
    requester: &Requester,
) -> Result<Option<FoundSecret<'a>>, Error> {
    match presented {
        LinkOrCode::Secret(digest) => {
            doorward.throttle().charge_reset(requester, doorward.instant())?;
            let found = by_secret(doorward, purposes, digest).await?;
            if found.is_none() {
                let event = doorward.event_by_unknown(None, requester, EventKind::UnknownSecret);
                doorward.events().publish(&event);
            }
            Ok(found.map(|(one_time, user)| FoundSecret { one_time, user, guess: None }))
        }
        LinkOrCode::Code { email, code } => {
            // Charged before the wait, so that a refusal stays cheap.
            let guess = begin_attempt(doorward, Guess::Code, email, requester).await?;
            match on_tick(by_code(doorward, purposes, email, code)).await {
                Ok(Some((one_time, user))) => {
                    Ok(Some(FoundSecret { one_time, user, guess: Some(guess) }))
                }
                Ok(None) => {
                    drop(guess);
                    publish_wrong_code(doorward, email, requester);
                    Ok(None)
                }
                Err(error) => {
                    // A lost database is not the caller's fault.
                    guess.cancel();
                    Err(error.into())
                }
            }
        }
    }
}

/// Publishes that a code was wrong.
pub(super) fn publish_wrong_code(doorward: &Doorward, email: &EmailKey, requester: &Requester) {
    publish_failed(doorward, LoginRefusal::WrongCode, None, email, requester);
}

async fn by_secret(
    doorward: &Doorward,
    purposes: &[Purpose],
    digest: &SecretDigest,
) -> Result<Option<(OneTime, User)>, store::Error> {
    let now = doorward.now();
    for purpose in purposes {
        let found = doorward.store().one_time_by_digest(*purpose, digest).await?;
        if let Some((one_time, user)) = found
            && one_time.is_valid_for(&user, now)
        {
            return Ok(Some((one_time, user)));
        }
    }
    Ok(None)
}

/// The work does not depend on whether the address has a user.
async fn by_code(
    doorward: &Doorward,
    purposes: &[Purpose],
    email: &EmailKey,
    code: &OneTimeCode,
) -> Result<Option<(OneTime, User)>, store::Error> {
    let (store, mut matching) = (doorward.store(), None);
    let owner = store.user_by_email(email).await?;
    for purpose in purposes.iter().filter(|purpose| purpose.has_code()) {
        charge_guess(doorward, *purpose, email).await?;
        for (one_time, user) in
            store.one_time_secrets_by_email(*purpose, email, doorward.now()).await?
        {
            // Else a right code would tell by its answer that it is right, and could be kept until the address is free.
            let is_taken = owner.as_ref().is_some_and(|owner| owner.id != user.id);
            let is_void = one_time.guesses > MAX_GUESSES || is_taken;
            let is_right = doorward.one_time_secrets().code(one_time.id, *purpose).matches(code);
            if is_right && !is_void && one_time.is_valid_for(&user, doorward.now()) {
                matching = Some((one_time, user));
            }
        }
    }
    Ok(matching)
}

/// Counts a typed code for the secrets that were sent to this address. What is read afterwards includes this code and may include
/// others that are typed at the same time, so at most [`MAX_GUESSES`] readers find a number that is not above it.
pub(super) async fn charge_guess(
    doorward: &Doorward,
    purpose: Purpose,
    email: &EmailKey,
) -> Result<(), store::Error> {
    let store = doorward.store();
    let charged = store.charge_guess(purpose, email, doorward.now()).await?;
    if charged == 0
        && let Ok(email) = Email::parse(email.as_str().to_owned())
    {
        let secrets = vec![decoy(doorward, purpose, &email)];
        store.queue_mail(&Effects { secrets, ..Effects::NONE }).await?;
    }
    Ok(())
}
