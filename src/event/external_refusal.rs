//! Why a login has signed nobody in, although its provider has said who it is.

use std::fmt;

use super::ProviderFault;
use crate::count::{Label, labels};

/// Why a login has signed nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalRefusal {
    /// The attempt was not begun in this browser, has expired or was used.
    Attempt,
    Disabled,
    /// The condition `join` is not true.
    NotAdmitted,
    /// Registration is not open for the person.
    MayNotRegister,
    /// The address has an account that the identity is not linked to.
    AddressTaken,
    /// The provider has not verified the address, and the person cannot prove it here.
    AddressNotVerified,
    /// The mailed code for the address was wrong.
    WrongCode,
    /// The identity is that of another user.
    IdentityTaken,
    /// The provider has not asked the person again who they are.
    NotAgain,
    /// The user was deleted, disabled or given another password during the sign-in.
    Gone,
}

labels!(ExternalRefusal {
    Attempt => "attempt",
    Disabled => "disabled",
    NotAdmitted => "not_admitted",
    MayNotRegister => "may_not_register",
    AddressTaken => "address_taken",
    AddressNotVerified => "address_not_verified",
    WrongCode => "wrong_code",
    IdentityTaken => "identity_taken",
    NotAgain => "not_again",
    Gone => "gone",
});

/// Why a login has signed nobody in: its provider, or what was decided here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalFailure {
    Provider(ProviderFault),
    Refused(ExternalRefusal),
}

impl ExternalFailure {
    pub fn label(self) -> &'static str {
        match self {
            Self::Provider(fault) => fault.label(),
            Self::Refused(refusal) => refusal.label(),
        }
    }
}

impl fmt::Display for ExternalFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
