//! The store of one-time secrets.

use async_trait::async_trait;

use super::Error;
use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    mail::Mailing,
    session::Session,
    token::one_time::{OneTime, OneTimeId, Purpose, SecretDigest},
    user::{EmailKey, User},
};

/// Stores one-time secrets: their digests, and whom they are for.
#[async_trait]
pub trait OneTimeStore: Send + Sync {
    /// The one-time secret with this digest and its user, whether it is valid or not.
    async fn one_time_by_digest(
        &self,
        purpose: Purpose,
        digest: &SecretDigest,
    ) -> Result<Option<(OneTime, User)>, Error>;

    /// The up to [`MAX_CODES`] one-time secrets that were sent to this address and expire last, each with its user.
    async fn one_times_by_email(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Vec<(OneTime, User)>, Error>;

    /// Counts a typed code for each unexpired secret of this purpose that was sent to this address, and for the invitation to it
    /// if that is the purpose. Returns their number. It counts before the code is compared, so that no more than
    /// [`MAX_GUESSES`](crate::token::one_time::MAX_GUESSES) are, however many instances compare at the same time.
    async fn charge_guess(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<usize, Error>;

    /// The change of the user's address that waits to be confirmed and expires last.
    async fn pending_email(&self, user: &User, now: Timestamp) -> Result<Option<OneTime>, Error>;

    /// Uses a one-time secret: deletes it, has its effect and queues the mail. Returns the user after that. Returns `None`
    /// and changes nothing if it is gone, is not valid for its user as they are now, or has another purpose than the effect.
    ///
    /// # Errors
    /// [`Error::EmailTaken`] if another user has the address.
    async fn use_one_time(
        &self,
        one_time: &OneTime,
        effect: OneTimeEffect,
        mailing: &Mailing,
        now: Timestamp,
    ) -> Result<Option<User>, Error>;

    /// Deletes a one-time secret. Returns false if it is gone.
    async fn delete_one_time(&self, id: OneTimeId) -> Result<bool, Error>;
}

/// The number of codes sent to one address that can be typed: the latest ones.
pub const MAX_CODES: usize = 3;

/// Reads a number of guesses.
pub(super) fn guesses_from_store(stored: i64) -> u32 {
    u32::try_from(stored).unwrap_or(u32::MAX)
}

/// What a one-time secret does. Each also verifies the address that it was sent to.
#[derive(Clone, Debug)]
pub enum OneTimeEffect {
    /// Verifies the address.
    VerifyEmail,
    /// Makes the address that it was sent to the user's address. Deletes the user's other changes of the address.
    ChangeEmail,
    /// Makes the address that it was sent to the user's address again, sets a new password, ends all sessions, and deletes the
    /// user's reset code and other one-time secrets. Those that take back an earlier change stay: the later change, and so
    /// this secret, may be an intruder's.
    RestoreEmail(PasswordHash),
    /// Sets a new password, ends all sessions, and deletes the user's reset code and what takes back a change of the address from
    /// another address: somebody else may have moved an account of theirs to this one.
    ResetPassword(PasswordHash),
    /// Adds a session as [`super::SessionStore::add_session`] does. If the address was not verified, ends all other sessions
    /// and deletes the user's other one-time secrets: somebody else may have registered it and asked for another address.
    SignIn(Box<Session>),
}

impl OneTimeEffect {
    /// The purpose of a secret with this effect.
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::VerifyEmail => Purpose::VerifyEmail,
            Self::ChangeEmail => Purpose::ChangeEmail,
            Self::RestoreEmail(_) => Purpose::RestoreEmail,
            Self::ResetPassword(_) => Purpose::ResetPassword,
            Self::SignIn(_) => Purpose::SignIn,
        }
    }
}
