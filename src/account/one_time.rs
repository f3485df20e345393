//! Finding the one-time secret that a person presents: by the secret of a link, or by a typed code and the address that it
//! was sent to. A wrong code is a failed login of the account.

use super::{Failure, InvalidInput, has_failure, sign_in::begin_attempt, silence::on_tick};
use crate::{
    Doorward,
    access::failed_logins::LoginRefusal,
    network::Requester,
    store,
    throttle::LoginAttempt,
    token::one_time::{OneTime, OneTimeCode, OneTimeSecret, Presented, Purpose, SecretDigest},
    user::{EmailKey, User},
};

/// Why a one-time secret had no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OneTimeError {
    /// The link or code is wrong, expired or used. The error does not say which.
    #[error("the link or code is wrong, has expired or was used")]
    WrongCode,
    /// Another user has the address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    #[error(transparent)]
    Invalid(InvalidInput),
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(OneTimeError);

/// Why no mail was queued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    /// The service sends no mail, or this kind of mail is turned off.
    #[error("the service sends no mail")]
    NeedsMail,
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(MailError);

/// The valid one-time secret in a link and its user. For a page that shows what the link is for; nothing is used.
pub(crate) async fn peek(
    doorward: &Doorward,
    purpose: Purpose,
    secret: &str,
) -> Result<Option<(OneTime, User)>, store::Error> {
    let digest = OneTimeSecret::unchecked(secret.to_owned()).digest();
    by_secret(doorward, &[purpose], &digest).await
}

/// The valid one-time secret for one of these purposes that a person presents, and its user.
pub(super) async fn find(
    doorward: &Doorward,
    purposes: &[Purpose],
    presented: &Presented,
    requester: Requester,
) -> Result<Option<(OneTime, User)>, Failure> {
    match presented {
        Presented::Secret(digest) => {
            doorward.throttle().charge_reset(requester, doorward.instant())?;
            let found = by_secret(doorward, purposes, digest).await?;
            if found.is_none() {
                tracing::info!(network = %requester.network, "unknown one-time secret");
            }
            Ok(found)
        }
        Presented::Code { email, code } => {
            // Charged before the wait, so that a refusal stays cheap.
            let attempt = begin_attempt(doorward, email, requester).await?;
            on_tick(by_code(doorward, purposes, email, code, requester, attempt)).await
        }
    }
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
    requester: Requester,
    attempt: LoginAttempt<'_>,
) -> Result<Option<(OneTime, User)>, Failure> {
    let mut matching = None;
    for purpose in purposes {
        let sent = doorward.store().one_times_by_email(*purpose, email, doorward.now()).await;
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => {
                // A lost database is not the caller's fault.
                attempt.cancel();
                return Err(error.into());
            }
        };
        for (one_time, user) in sent {
            let is_right = doorward.one_times().code(one_time.id, *purpose).matches(code);
            if is_right && one_time.is_valid_for(&user, doorward.now()) {
                matching = Some((one_time, user));
            }
        }
    }
    match &matching {
        Some(_) => attempt.succeeded(),
        None => {
            drop(attempt);
            let reason = LoginRefusal::WrongCode;
            doorward.record_failed_login(reason, None, email, requester.network);
        }
    }
    Ok(matching)
}
