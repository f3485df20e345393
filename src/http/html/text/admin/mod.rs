//! The words of the administration.

pub(super) mod de;
mod emergency;
pub(super) mod en;

pub use self::emergency::EmergencyTexts;
use crate::{doorward::TrailPart, token::signing_keys::KeyStatus};

/// What was just done, as the URL of the page names it.
macro_rules! done {
    ($($done:ident => $name:literal),+ $(,)?) => {
        /// What was just done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Done {
            $($done),+
        }

        impl Done {
            /// What the parameter `done` of a page says.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$done),)+
                    _ => None,
                }
            }

            /// Its name in a URL.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$done => $name),+
                }
            }
        }
    };
}

done! {
    UserAdded => "user-added",
    Changed => "changed",
    Verified => "verified",
    Unverified => "unverified",
    Granted => "granted",
    Revoked => "revoked",
    Unlocked => "unlocked",
    SessionEnded => "session",
    SessionsEnded => "sessions",
    OnlySessionsEnded => "only-sessions",
    PasswordSet => "password",
    NewPasswordRequired => "new-password",
    Disabled => "disabled",
    Enabled => "enabled",
    Deleted => "deleted",
    Invited => "invited",
    KeyPublished => "key-published",
    MailRetried => "mail-retried",
    Confirmed => "confirmed",
}

/// The texts of the administration in one language.
pub struct AdminTexts {
    pub administration: &'static str,
    pub menu: &'static str,
    pub overview: &'static str,
    pub users: &'static str,
    pub invitations: &'static str,
    pub guards: &'static str,
    pub refusals: &'static str,
    pub audit: &'static str,
    pub keys: &'static str,
    pub signing_keys: &'static str,
    pub mail: &'static str,
    pub search: &'static str,
    pub filter: &'static str,
    pub next: &'static str,
    pub never: &'static str,
    pub id: &'static str,
    pub time: &'static str,
    pub state: &'static str,
    pub outcome: &'static str,
    pub user: &'static str,
    pub nobody: &'static str,
    pub unknown: &'static str,
    pub created: &'static str,
    pub validity: &'static str,

    // Users.
    pub all_users: &'static str,
    pub add_user: &'static str,
    pub name_or_address: &'static str,
    pub role: &'static str,
    pub roles: &'static str,
    pub only_disabled: &'static str,
    pub no_users: &'static str,
    pub nobody_found: &'static str,
    pub last_sign_in: &'static str,
    pub disabled: &'static str,
    pub without_password: &'static str,
    pub second_factor: &'static str,
    pub new_user: &'static str,
    pub new_user_explanation: &'static str,
    pub new_user_password_hint: &'static str,

    // One user.
    pub roles_explanation: &'static str,
    pub no_roles: &'static str,
    pub grant: &'static str,
    pub grant_question: &'static str,
    pub role_hint: &'static str,
    pub revoke_role_question: &'static str,
    pub verify: &'static str,
    pub verify_question: &'static str,
    pub unverify: &'static str,
    pub unverify_question: &'static str,
    pub refused_lately: &'static str,
    pub refused_lately_explanation: &'static str,
    pub refused_what: &'static str,
    pub nothing_refused: &'static str,
    pub sign_in: &'static str,
    pub unlock: &'static str,
    pub unlock_question: &'static str,
    pub sessions_explanation: &'static str,
    pub no_sessions: &'static str,
    pub end_session_question: &'static str,
    pub end_sessions: &'static str,
    pub end_sessions_question: &'static str,
    pub factors_explanation: &'static str,
    pub factor: &'static str,
    pub no_factors: &'static str,
    pub reset_code: &'static str,
    pub reset_code_question: &'static str,
    pub reset_code_made: &'static str,
    pub reset_link: &'static str,
    pub set_password: &'static str,
    pub set_password_question: &'static str,
    pub require_new_password: &'static str,
    pub require_new_password_question: &'static str,
    pub secure: &'static str,
    pub secure_question: &'static str,
    pub secure_all_factors: &'static str,
    pub secure_by_hand: &'static str,
    pub secured_by_mail: &'static str,
    pub secured_by_code: &'static str,
    pub second_factors_removed: &'static str,
    pub earlier_addresses: &'static str,
    pub mailed_to: &'static str,
    pub user_keys: &'static str,
    pub user_keys_explanation: &'static str,
    pub no_user_keys: &'static str,
    pub factor_reset: &'static str,
    pub factor_reset_question: &'static str,
    pub factor_reset_made: &'static str,
    pub data: &'static str,
    pub data_explanation: &'static str,
    pub export_user: &'static str,
    pub disable: &'static str,
    pub disable_question: &'static str,
    pub enable: &'static str,
    pub enable_question: &'static str,
    pub delete: &'static str,
    pub delete_question: &'static str,

    // Invitations.
    pub invite_explanation: &'static str,
    pub invite_roles_hint: &'static str,
    pub valid_days: &'static str,
    pub by_hand: &'static str,
    pub by_hand_hint: &'static str,
    pub revoke_invitation: &'static str,
    pub invited_by: &'static str,
    pub by_operator: &'static str,
    pub no_invitations: &'static str,

    // Refusals.
    pub refusals_explanation: &'static str,
    pub live_explanation: &'static str,
    pub reload_by_itself: &'static str,
    pub stop_reloading: &'static str,
    pub only_reported: &'static str,
    pub only_reported_tag: &'static str,
    pub refused_tag: &'static str,
    pub no_refusals: &'static str,
    pub credential: &'static str,
    pub would_be_admitted: &'static str,

    // Overview.
    pub service: &'static str,
    pub decisions: &'static str,
    pub decisions_explanation: &'static str,
    pub open_sessions: &'static str,
    pub mail_waiting: &'static str,
    pub mail_given_up: &'static str,
    pub version: &'static str,
    pub public_address: &'static str,
    pub started: &'static str,
    pub database: &'static str,
    pub free_space: &'static str,
    pub last_backup: &'static str,
    pub doctor: &'static str,
    /// What is wrong with what protects the audit trail, and since when.
    pub trail_trouble: fn(TrailPart, &str) -> String,
    pub last_doctor: &'static str,
    pub certificate_until: &'static str,

    // Guards.
    pub mode: &'static str,
    pub enforced: &'static str,
    pub reports: &'static str,
    pub admitted: &'static str,
    pub would_be_refused: &'static str,
    pub no_guards: &'static str,
    pub origins: &'static str,
    pub to_check: &'static str,
    pub try_guard: &'static str,
    pub try_guard_explanation: &'static str,
    pub try_guard_button: &'static str,
    pub user_hint: &'static str,
    pub no_such_user: &'static str,
    pub invalid_address: &'static str,
    pub method: &'static str,
    pub host: &'static str,
    pub path: &'static str,
    pub address_hint: &'static str,
    pub refused_by_guard: &'static str,
    pub would_be_refused_by_guard: &'static str,

    // Signing keys.
    pub signing_keys_explanation: &'static str,
    pub algorithm: &'static str,
    pub until: &'static str,
    pub rotate: &'static str,
    pub rotate_question: &'static str,
    pub revoke_signing_key: &'static str,

    // Mail.
    pub mail_explanation: &'static str,
    pub recipient: &'static str,
    pub attempts_column: &'static str,
    pub failure: &'static str,
    pub given_up: &'static str,
    pub waits: &'static str,
    pub no_mail: &'static str,
    pub mail_not_configured: &'static str,
    pub retry_mail: &'static str,
    pub retry_mail_question: &'static str,

    // API keys.
    pub new_key: &'static str,
    pub new_key_explanation: &'static str,
    pub create_key: &'static str,
    pub key_made: &'static str,
    pub key: &'static str,
    pub owner: &'static str,
    pub machine: &'static str,
    pub scopes: &'static str,
    pub key_name_hint: &'static str,
    pub key_condition_hint: &'static str,
    pub revoke_key_question: &'static str,
    pub revoked: &'static str,
    pub expired: &'static str,
    pub deleted_user: &'static str,
    pub no_keys: &'static str,

    // Emergency.
    pub emergency: &'static str,
    pub emergency_explanation: &'static str,
    pub emergency_question: &'static str,
    pub emergency_passwords: &'static str,
    pub emergency_all: &'static str,
    pub emergency_of_role: &'static str,
    pub emergency_none: &'static str,
    pub emergency_role_hint: &'static str,
    pub emergency_done: &'static str,
    pub emergency_after: &'static str,
    pub emergency_summary: EmergencyTexts,

    // Audit trail.
    pub proof: &'static str,
    pub checkpoint: &'static str,
    pub sign_ins: &'static str,
    pub failed_sign_ins: &'static str,
    pub sign_ups: &'static str,
    pub last_days: &'static str,
    pub days_explanation: &'static str,
    pub none_on_any_day: &'static str,
    pub activity: &'static str,
    pub all_activity: &'static str,
    pub export: &'static str,
    pub kind: &'static str,
    pub all_kinds: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub event: &'static str,
    pub by: &'static str,
    pub concerns: &'static str,
    pub origin: &'static str,
    pub failed: &'static str,
    pub no_events: &'static str,
    pub counted_at: fn(&str) -> String,

    // Sentences with parameters.
    /// So many of so many failed sign-ins.
    pub failures_counted: fn(u32, u32) -> String,
    /// What, over how many days, the sum, and the most on one day.
    pub chart: fn(&str, usize, &str, &str) -> String,
    pub attempts: fn(u32) -> String,
    pub key_stage: fn(KeyStatus) -> &'static str,
    pub done: fn(Done) -> &'static str,
}
