//! The words of the pages about second factors.

pub(super) mod de;
pub(super) mod en;

use crate::access::guard::Ask;

/// What a signed-in person is about to do who has to prove once more who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Change or export the account.
    Account,
    Email,
    Password,
    Delete,
    /// Make or revoke an API key.
    Keys,
    /// Change anything about second factors.
    Factors,
    Passkey,
    SecurityKey,
    /// Set an authenticator app up.
    App,
    Administration,
}

/// What follows the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// A code of an authenticator app.
    Code,
    SecurityKey,
    /// One of several kinds.
    Factor,
}

/// The texts about second factors in one language.
pub struct FactorTexts {
    // Signing in, and proving once more who one is.
    pub sign_in_with_passkey: &'static str,
    /// The browser could not ask for the passkey.
    pub passkey_failed: &'static str,
    pub needs_script: &'static str,
    pub factor_heading: &'static str,
    pub factor_explanation: &'static str,
    pub totp_code: &'static str,
    pub totp_code_hint: &'static str,
    pub trust: &'static str,
    pub trust_hint: &'static str,
    pub confirm: &'static str,
    pub use_passkey: &'static str,
    pub use_key: &'static str,
    pub use_recovery_code: &'static str,
    pub recovery_code: &'static str,
    pub recovery_code_hint: &'static str,
    /// What an app asks for.
    pub step_up_for: fn(&str, Ask) -> String,
    /// Why it asks.
    pub step_up_reason: fn(Ask) -> &'static str,
    pub step_up_heading: &'static str,
    /// What the person is about to do.
    pub before: fn(Before) -> &'static str,
    /// What is asked for after the password.
    pub follows: fn(Follows) -> &'static str,
    /// With the address of the person.
    pub step_up_explanation: fn(&str) -> String,
    pub new_code_heading: &'static str,
    pub new_code_explanation: &'static str,
    pub go_on: &'static str,
    /// After a sign-in with a recovery code.
    pub replace_lost: &'static str,

    // The page with everything that the person holds.
    pub security: &'static str,
    pub security_explanation: &'static str,
    pub show_security: &'static str,
    pub app_asks: fn(&str) -> String,
    pub app_asks_for_passkey: fn(&str) -> String,
    pub confirm_first: &'static str,
    pub passkeys: &'static str,
    pub passkeys_explanation: &'static str,
    pub no_passkeys: &'static str,
    /// Because of the address of the site.
    pub lacks_passkeys: &'static str,
    pub passkey: &'static str,
    pub key: &'static str,
    pub is_synced: &'static str,
    pub is_on_device: &'static str,
    /// When it was added, and when it was used last.
    pub added: fn(&str) -> String,
    pub used: fn(&str) -> String,
    pub never_used: &'static str,
    pub app: &'static str,
    pub app_explanation: &'static str,
    pub no_app: &'static str,
    pub set_up: &'static str,
    pub remove: &'static str,
    pub recovery_codes: &'static str,
    pub recovery_codes_explanation: &'static str,
    pub no_recovery_codes: &'static str,
    pub codes_left: fn(usize) -> String,
    pub new_codes: &'static str,
    pub new_codes_hint: &'static str,
    pub devices: &'static str,
    pub devices_explanation: &'static str,
    pub no_devices: &'static str,
    pub remove_device: fn(&str) -> String,
    pub more_devices: &'static str,
    /// The time.
    pub trusted_until: fn(&str) -> String,

    // Setting a factor up, and changing it.
    pub add_passkey: &'static str,
    pub add_passkey_explanation: &'static str,
    pub add_key: &'static str,
    pub add_key_explanation: &'static str,
    pub name_hint: &'static str,
    pub create_passkey: &'static str,
    pub register_key: &'static str,
    pub create_failed: &'static str,
    /// For an account without a password.
    pub only_passkeys: &'static str,
    pub remove_passkey: &'static str,
    pub remove_passkey_explanation: &'static str,
    /// With the name of what is removed.
    pub remove_question: fn(&str) -> String,
    pub remove_totp_explanation: &'static str,
    pub remove_last_explanation: &'static str,
    pub keep: &'static str,
    pub back_to_security: &'static str,
    pub totp_heading: &'static str,
    pub totp_scan: &'static str,
    pub totp_open: &'static str,
    pub totp_secret: &'static str,
    pub totp_qr: &'static str,
    pub totp_confirm: &'static str,
    pub codes_heading: &'static str,
    pub codes_explanation: &'static str,
    pub save_codes: &'static str,
    /// The name of the file without its ending.
    pub codes_file: &'static str,
    /// The first line of the file: for this service and this address.
    pub codes_of: fn(&str, &str) -> String,
    pub codes_saved: &'static str,

    // Registering with a passkey.
    pub sign_up_with_passkey: &'static str,
    pub passkey_heading: &'static str,
    /// With the address.
    pub passkey_of: fn(&str) -> String,
    pub use_password: &'static str,

    // Removing all of them with the operator's link.
    pub reset_heading: &'static str,
    pub reset_link: fn(&str) -> String,
    pub reset_explanation: &'static str,
    pub reset: &'static str,
}
