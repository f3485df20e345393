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
    /// Somebody else has invited the address.
    AlreadyInvited,
    /// It is not a code, or one that was used or has expired.
    WrongCode,
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
}
