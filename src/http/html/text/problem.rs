//! What a form can be told: faults of single fields, and failures of the whole form.

use std::time::Duration;

use crate::fault::{Fault, FaultKind};

/// What is wrong with one field of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// A rule of the field refuses it.
    Rule(FaultKind),
    /// It is not the password of the signed-in person.
    WrongPassword,
    InvalidRole,
    /// A key without a scope.
    NoScope,
    /// A condition in CEL.
    InvalidCondition,
    /// It is not a number of days for which a key can be valid.
    InvalidKeyDays,
    TooManyRoles,
    /// It is not a number of days for which an invitation can be valid.
    InvalidDays,
    /// Somebody else has invited the address.
    AlreadyInvited,
    /// It is not a code, or one that was used or has expired.
    WrongCode,
    /// It is not the code that the authenticator app shows.
    WrongTotp,
    /// The code of the authenticator app was used.
    UsedCode,
}

impl From<&Fault> for FieldFault {
    fn from(fault: &Fault) -> Self {
        Self::Rule(fault.kind())
    }
}

impl From<Fault> for FieldFault {
    fn from(fault: Fault) -> Self {
        Self::from(&fault)
    }
}

/// Why a form as a whole was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormError {
    /// Sign-in failed. The reason must not be told.
    WrongCredentials,
    /// Too many attempts. The person has to wait this long.
    Throttled(Duration),
    /// A temporary internal failure.
    Unavailable,
    /// Another account has the address that the link or code is for.
    EmailTaken,
    /// Registration is not open for this person.
    MayNotRegister,
    /// The passkey or the security key has not proved who the person is.
    PasskeyRefused,
    /// A password or a code was sent where nothing but a passkey or a security key is enough.
    PasskeyNeeded,
    /// No user has the passkey.
    UnknownPasskey,
    /// The passkey exists, or there is an authenticator app.
    FactorTaken,
    TooManyPasskeys,
    /// The user whom an order is about has changed in the meantime.
    UserChanged,
    /// Nobody can register, even with an invitation.
    RegistrationClosed,
    /// API keys.
    TooManyKeys,
    /// The person could not sign in without it.
    LastWayIn,
}
