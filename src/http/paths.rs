//! Paths that more than the table of routes knows.

use crate::access::guard::Missing;

/// The prefix of the path of every guard.
pub const GUARD_PREFIX: &str = "/api/auth/";
/// The path of the guard that admits every caller with a valid token.
pub const AUTHENTICATED_GUARD: &str = "/api/auth/guard";
/// The path of a declared guard.
pub const DECLARED_GUARD: &str = "/api/auth/{guard}";
/// The path of the guard for the designated name.
pub const DESIGNATED_GUARD: &str = "/api/auth/{segment}";
/// The parameter in [`DESIGNATED_GUARD`], which stands for the setting `designated.segment`.
pub const SEGMENT: &str = "{segment}";
/// The path of the export of all users, which takes as long as there are users.
pub const ADMIN_EXPORT: &str = "/api/admin/export";
pub const ADMIN_IMPORT: &str = "/api/admin/import";
/// The path of the key set with which tokens are verified.
pub const KEY_SET: &str = "/.well-known/jwks.json";
/// The metadata (RFC 8414).
pub const METADATA: &str = "/.well-known/oauth-authorization-server";
/// The path of the feed of ended tokens.
pub const REVOCATIONS: &str = "/.well-known/revocations";
/// The path of token introspection (RFC 7662).
pub const INTROSPECT: &str = "/oauth/introspect";
/// The path of token revocation (RFC 7009).
pub const REVOKE: &str = "/oauth/revoke";
/// The path at which a guard ends a sign-in. It exists on the host of every app and never reaches the app.
pub const APP_SIGN_IN: &str = "/.doorward/in";
/// The path at which a guard sends a browser to sign out. It exists on the host of every app and never reaches the app.
pub const APP_SIGN_OUT: &str = "/.doorward/out";

/// The page on which a person gets what they lack, with the sealed return target.
pub(super) fn page_of(missing: Missing, target: &str) -> String {
    match missing {
        Missing::VerifiedEmail => format!("/verify?for={target}"),
        Missing::SecondFactor => format!("/account/security?for={target}"),
        Missing::Passkey => format!("/account/security?for={target}&ask=phr"),
        Missing::StepUp(ask) => format!("/step-up?for={target}&ask={}", ask.name()),
    }
}
