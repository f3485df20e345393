//! Why something was not done: one enum for all account operations. Each entry says each reason once, in JSON or in the language of a
//! person.

use std::time::Duration;

use super::missing_factor::MissingFactor;
use crate::{
    credential::{passkey, password::Busy},
    fault::Fault,
    store::{self, MAX_PERSONAL_KEYS},
    throttle::Throttled,
    token::signing_keys,
    user::MAX_ROLES,
};

/// Why an operation on accounts was not carried out. Failures that a caller must not distinguish are one variant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value breaks a rule.
    #[error(transparent)]
    Invalid(#[from] InvalidInput),

    // Users.
    /// A user has this e-mail address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// The user does not exist.
    #[error("there is no such user")]
    NoSuchUser,
    /// The user is not as the order expects, or others change them all the time.
    #[error("the user has changed in the meantime: read them again, and repeat the request")]
    UserChanged,
    /// The user has the maximum number of roles, or would get more.
    #[error("the user has {MAX_ROLES} roles already, which is the most that a user can have")]
    TooManyRoles,
    /// Nobody unlocks themselves: whoever could forget their own wrong codes could try all of them.
    #[error("somebody else has to unlock your account")]
    OwnAccount,
    /// The id of this order is that of an earlier one, which was another order.
    #[error("the key of this order was used for another one: send another Idempotency-Key")]
    OtherOrder,

    // Registration.
    /// Registration is not open for this person.
    #[error("registration is not open for this person")]
    MayNotRegister,
    /// Registration does not tell whether the address is free (`registration_conflict = "silent"`). Its owner gets a mail.
    #[error("the owner of the e-mail address gets a mail")]
    OwnerMailed,
    /// The setting `invitations.allow` refuses the user, or their address is not verified.
    #[error("this user may not invite others")]
    MayNotInvite,
    /// Registration is closed, even for those who are invited.
    #[error("nobody can register: registration is \"closed\"")]
    RegistrationClosed,
    /// Somebody else has invited this address.
    #[error("the e-mail address is invited already")]
    AlreadyInvited,

    // Signing in, and proving who one is.
    /// The address is unknown, the password is wrong or not set, the code is wrong, or the user is disabled. The error does not
    /// say which.
    #[error("the e-mail address or the password is wrong")]
    WrongCredentials,
    /// The password is right, and the user holds a second factor, which is still missing.
    #[error("a second factor is missing")]
    FactorMissing(Box<MissingFactor>),
    /// The second factor is wrong.
    #[error("the second factor is wrong")]
    WrongFactor,
    /// The code was used: codes count once.
    #[error("the code was used before")]
    CodeUsed,
    /// The passkey is not known.
    #[error("the passkey is not known")]
    UnknownPasskey,
    /// The challenge is not ours, has expired or was answered, or the user has changed since.
    #[error("the challenge has expired")]
    ChallengeExpired,
    /// It is not the password of the signed-in user, or of the user of a link. The error does not say whether it is missing.
    #[error("the password is wrong")]
    WrongPassword,
    /// The sign-in is too long ago, or lacks a second factor that the user holds.
    #[error("the user has to sign in again")]
    SignInAgain,
    /// The session has ended, its user was deleted, or another request has replaced its token.
    #[error("the session has ended or the token has been replaced")]
    SessionEnded,
    /// The link or code is wrong, expired or used. The error does not say which.
    #[error("the link or code is wrong, has expired or was used")]
    WrongCode,

    // Second factors.
    /// The service does not offer factors of this kind.
    #[error("factors of this kind are not offered")]
    FactorNotOffered,
    /// What was sent to set a factor up is not ours, has expired or belongs to another user.
    #[error("the setup has expired")]
    SetupExpired,
    /// It is not the code that the authenticator app shows.
    #[error("the code is wrong")]
    WrongTotp,
    /// What an authenticator has made is not a passkey.
    #[error("the authenticator's answer is not valid: {0}")]
    InvalidPasskey(passkey::Invalid),
    /// The passkey is registered, or the user has an authenticator app already.
    #[error("the factor exists already")]
    FactorTaken,
    /// The user has the maximum number of passkeys.
    #[error("the user has the most passkeys that one can have")]
    TooManyPasskeys,
    /// The user has no such factor.
    #[error("there is no such factor")]
    NoSuchFactor,
    /// The user could not sign in any more.
    #[error("it is the last way to sign in")]
    LastWayIn,

    // Accounts at other providers.
    /// The account at the provider is linked to another user, or to this one.
    #[error("the account at the provider is linked already")]
    IdentityTaken,
    /// The user has the maximum number of linked accounts.
    #[error("the user has the most linked accounts that one can have")]
    TooManyIdentities,
    /// The user has no such linked account.
    #[error("there is no such linked account")]
    NoSuchIdentity,

    // API keys.
    /// A key makes no keys.
    #[error("a key cannot be made with a key: sign in, or use the command line on the server")]
    MadeByKey,
    /// The user has the maximum number of API keys.
    #[error(
        "there are {MAX_PERSONAL_KEYS} valid keys already, which is the most that a user can have: revoke one first"
    )]
    TooManyKeys,

    // The service.
    /// The service sends no mail, or this kind of mail is turned off.
    #[error("the service sends no mail")]
    NeedsMail,
    /// Where the operator looks after mail, there is none.
    #[error(
        "mail is not configured: set mail.url, such as smtps://mail.example.com, and mail.from"
    )]
    MailNotConfigured,
    /// Somebody else has the audit trail verified.
    #[error("another verification is under way: try again later")]
    VerificationUnderWay,
    /// The signing keys could not be changed.
    #[error(transparent)]
    SigningKeys(#[from] signing_keys::Error),
    /// Something could not be replaced or revoked after a theft. It can be repeated.
    #[error("{0}: run it again, because not everything is revoked")]
    NotAllRevoked(Box<Self>),
    /// There were too many attempts.
    #[error("too many attempts: try again in {:.0} s", .retry_after.as_secs_f64().ceil())]
    Throttled {
        /// The time until the next attempt is allowed.
        retry_after: Duration,
    },
    /// The password could not be hashed in time. A later attempt may succeed.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The database could not be used, or refuses what goes beyond the rights of whoever gives an order.
    #[error(transparent)]
    Store(store::Error),
}

impl Error {
    /// The field of the request that is wrong, such as `email`.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(invalid) => Some(invalid.field),
            Self::EmailTaken | Self::AlreadyInvited => Some("email"),
            Self::TooManyRoles => Some("role"),
            Self::WrongFactor | Self::CodeUsed | Self::WrongCode | Self::WrongTotp => Some("code"),
            Self::SetupExpired => Some("setup"),
            Self::InvalidPasskey(_) => Some("credential"),
            _ => None,
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::EmailTaken => Self::EmailTaken,
            error => Self::Store(error),
        }
    }
}

impl From<Throttled> for Error {
    fn from(throttled: Throttled) -> Self {
        Self::Throttled { retry_after: throttled.retry_after }
    }
}

/// A value that a rule refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {}", .fault.message())]
#[non_exhaustive]
pub struct InvalidInput {
    /// The name of the field, such as `password`.
    pub field: &'static str,
    pub(crate) fault: Fault,
}

impl InvalidInput {
    /// What is wrong with the value, such as `String must contain at least 8 character(s)`.
    pub fn message(&self) -> &str {
        self.fault.message()
    }

    pub(super) fn new(field: &'static str) -> impl FnOnce(Fault) -> Self {
        move |fault| Self { field, fault }
    }
}
