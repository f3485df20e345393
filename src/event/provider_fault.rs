//! Why nobody was signed in by another provider, as far as it is the provider's doing.

use crate::count::labels;

/// Why a provider has said nothing that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFault {
    /// It does not answer, or with what no answer looks like.
    Unreachable,
    /// Its description of itself cannot be used.
    BadDiscovery,
    /// Another issuer speaks than the one in the settings.
    Issuer,
    /// The person has cancelled there.
    Cancelled,
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
}

labels!(ProviderFault {
    Unreachable => "unreachable",
    BadDiscovery => "bad_discovery",
    Issuer => "issuer",
    Cancelled => "cancelled",
    Refused => "refused",
    BadAnswer => "bad_answer",
    Credential => "credential",
    ClientRefused => "client_refused",
    CodeRefused => "code_refused",
    BadToken => "bad_token",
    Nonce => "nonce",
    Clock => "clock",
    BadUserinfo => "bad_userinfo",
});
