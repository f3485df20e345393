//! Why a login has signed nobody in.

use crate::count::labels;

/// Why a login has signed nobody in. First what is the provider's doing, which has said nothing that counts, and then what was decided here
/// about who it says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalFailure {
    /// It does not answer, or with what no answer looks like.
    Unreachable,
    /// Its description of itself cannot be used.
    BadDiscovery,
    /// Another issuer speaks than the one in the settings.
    Issuer,
    /// The person has cancelled there.
    Cancelled,
    /// It must ask the person first, and was asked not to.
    MustAsk,
    /// It refuses to send the person back with a code.
    Refused,
    /// What the browser has brought back is incomplete.
    BadAnswer,
    /// The secret or key for it cannot be used here.
    Credential,
    /// It does not accept the client id or the secret.
    ClientRefused,
    /// It does not accept the code.
    CodeRefused,
    /// What it has signed does not count.
    BadToken,
    /// What it has signed is for another sign-in.
    Nonce,
    /// Its clock or the one here is wrong.
    Clock,
    /// What it says of the person cannot be used.
    BadUserinfo,
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

impl ExternalFailure {
    /// Whether it is the provider's doing, and another one may do better.
    pub fn is_of_provider(self) -> bool {
        match self {
            Self::Unreachable
            | Self::BadDiscovery
            | Self::Issuer
            | Self::Cancelled
            | Self::MustAsk
            | Self::Refused
            | Self::BadAnswer
            | Self::Credential
            | Self::ClientRefused
            | Self::CodeRefused
            | Self::BadToken
            | Self::Nonce
            | Self::Clock
            | Self::BadUserinfo => true,
            Self::Attempt
            | Self::Disabled
            | Self::NotAdmitted
            | Self::MayNotRegister
            | Self::AddressTaken
            | Self::AddressNotVerified
            | Self::WrongCode
            | Self::IdentityTaken
            | Self::NotAgain
            | Self::Gone => false,
        }
    }
}

labels!(ExternalFailure {
    Unreachable => "unreachable",
    BadDiscovery => "bad_discovery",
    Issuer => "issuer",
    Cancelled => "cancelled",
    MustAsk => "must_ask",
    Refused => "refused",
    BadAnswer => "bad_answer",
    Credential => "credential",
    ClientRefused => "client_refused",
    CodeRefused => "code_refused",
    BadToken => "bad_token",
    Nonce => "nonce",
    Clock => "clock",
    BadUserinfo => "bad_userinfo",
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
