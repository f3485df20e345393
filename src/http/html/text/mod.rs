//! The words of the pages: one value of [`Texts`] per language, so that a missing translation does not compile.

mod activity;
mod admin;
mod de;
mod en;
mod examples;
mod factors;
mod keys;
mod message;
mod notice;
mod problem;
mod time;

pub use self::{
    activity::ActivityTexts,
    admin::{AdminTexts, Done},
    factors::{Before, FactorTexts, Follows},
    keys::KeyTexts,
    message::{Message, MessageText},
    notice::{LinkTo, Notice},
    problem::{FieldFault, FormError},
    time::Span,
};
pub use crate::language::{counted, grouped};
use crate::{access::guard::Missing, language::Language};

/// Every text of the pages in one language. A text with parameters is a function.
pub struct Texts {
    // Words that several pages share.
    pub language: Language,
    pub error_prefix: &'static str,
    pub problem: &'static str,
    pub development: &'static str,
    pub terms: &'static str,
    pub privacy: &'static str,
    pub name: &'static str,
    pub email: &'static str,
    pub password: &'static str,
    pub new_password: &'static str,
    pub new_password_hint: fn(usize) -> String,
    pub stay: &'static str,
    pub stay_hint: &'static str,
    pub sign_in: &'static str,
    pub sign_up: &'static str,
    pub sign_out: &'static str,
    pub back_to_account: &'static str,
    pub back_to_sign_in: &'static str,
    pub mail_code: &'static str,
    pub mail_code_hint: &'static str,
    /// For the code in the mail to this address.
    pub code_mailed: fn(&str) -> String,
    pub code_typed: &'static str,
    pub nothing_arrived: &'static str,
    pub send_again: &'static str,

    // Sign-in.
    pub sign_in_to: fn(&str) -> String,
    pub sign_in_heading: &'static str,
    pub forgot_password: &'static str,
    pub sign_in_by_mail: &'static str,
    /// For an address that already has an account.
    pub sign_in_with_it: &'static str,
    pub new_here: &'static str,

    // Sign-up.
    pub sign_up_heading: &'static str,
    pub sign_up_for: fn(&str) -> String,
    pub have_account: &'static str,
    pub invitation_code: &'static str,
    /// Where an invitation is not needed by everybody.
    pub invitation_code_hint: &'static str,
    pub invited_address: &'static str,

    // Sign-out.
    pub sign_out_heading: &'static str,
    pub sign_out_explanation: &'static str,

    // Mail that a person asks for, and what its link and its code do. The parameter is the address.
    pub forgot_explanation: &'static str,
    pub send_mail: &'static str,
    pub have_reset_code: &'static str,
    pub code_sign_in_heading: &'static str,
    pub code_sign_in_explanation: &'static str,
    pub only_without_password: &'static str,
    pub sign_in_link: fn(&str) -> String,
    /// With the address of whoever is signed in.
    pub sign_in_instead: fn(&str) -> String,
    pub verify_heading: &'static str,
    pub verify_link: fn(&str) -> String,
    pub confirm_address: &'static str,
    /// On the way to this app.
    pub verify_for: fn(&str) -> String,
    pub verify_mailed: fn(&str) -> String,
    pub link_opened: &'static str,
    pub go_on_to: fn(&str) -> String,
    pub not_your_address: &'static str,
    pub change_address: &'static str,
    pub restore_heading: &'static str,
    pub restore_link: fn(&str) -> String,
    pub restore_explanation: &'static str,
    pub restore: &'static str,

    // Reset.
    pub reset_heading: &'static str,
    pub reset_explanation: fn(&str) -> String,
    pub reset_link: fn(&str) -> String,
    pub reset_ends_sessions: &'static str,
    pub code: &'static str,
    pub code_hint: &'static str,
    pub set_password: &'static str,

    // Account.
    pub account_heading: &'static str,
    pub apps: &'static str,
    pub apps_explanation: &'static str,
    pub no_apps: &'static str,
    pub profile: &'static str,
    pub profile_explanation: &'static str,
    pub verified: &'static str,
    pub not_verified: &'static str,
    pub verification_mailed: fn(&str) -> String,
    /// No mail was sent.
    pub verification_offered: fn(&str) -> String,
    pub pending_email: fn(&str) -> String,
    pub cancel_change: &'static str,
    pub change: &'static str,
    pub save_name: &'static str,
    pub save_email: &'static str,
    pub password_explanation: &'static str,
    pub no_password: &'static str,
    pub no_password_but_mail: &'static str,
    pub current_password: &'static str,
    pub confirm_password: &'static str,
    pub change_password: &'static str,
    pub sessions: &'static str,
    pub sessions_explanation: &'static str,
    pub only_this_session: &'static str,
    pub more_sessions: fn(usize) -> String,
    pub device_column: &'static str,
    pub address_column: &'static str,
    pub last_used_column: &'static str,
    pub action_column: &'static str,
    pub this_session: &'static str,
    pub end_session: &'static str,
    pub end_session_of: fn(&str) -> String,
    pub sign_out_everywhere: &'static str,
    pub sign_out_everywhere_explanation: &'static str,
    pub invitations: &'static str,
    pub invitations_explanation: &'static str,
    pub invite: &'static str,
    /// For the invitation of this address.
    pub hand_over: fn(&str) -> String,
    /// The day or the time.
    pub valid_until: fn(&str) -> String,
    /// Less than a day.
    pub still_valid: fn(Span) -> String,
    pub more_invitations: &'static str,
    pub open_invitations: &'static str,
    pub show_invitations: &'static str,
    pub revoke: &'static str,
    pub revoke_invitation_of: fn(&str) -> String,
    pub data: &'static str,
    pub data_explanation: &'static str,
    pub export: &'static str,
    pub delete: &'static str,
    /// For how many days the audit trail keeps what happened; `None` is for ever.
    pub delete_explanation: fn(Option<u32>) -> String,
    pub delete_without_password: &'static str,
    pub delete_confirm: &'static str,

    // Refused.
    pub refused_heading: fn(&str) -> String,
    /// For somebody else than the person who was refused.
    pub refused_other_heading: fn(&str) -> String,
    pub refused_explanation: &'static str,
    /// For what the person lacks and can reach.
    pub missing: fn(Missing) -> &'static str,
    pub signed_in_as: &'static str,
    pub somebody_else: &'static str,
    pub decision: &'static str,
    /// What the links to the contact or [`Self::ask_operators`] follow.
    pub need_access: &'static str,
    pub ask_operators: &'static str,
    /// The subject of a mail to the contact: the app and the id of the decision.
    pub access_subject: fn(&str, &str) -> String,
    pub decision_link: &'static str,
    pub why: &'static str,
    pub why_explanation: &'static str,
    pub guard: &'static str,
    pub condition: &'static str,
    pub part: &'static str,
    pub value: &'static str,
    pub cause: &'static str,

    /// Second factors.
    pub factors: FactorTexts,
    /// What happened to the account.
    pub activity: ActivityTexts,
    /// Events of the audit trail.
    /// The administration.
    pub admin: AdminTexts,
    /// API keys.
    pub keys: KeyTexts,

    // Sentences that depend on what happened.
    pub notice: fn(Notice) -> &'static str,
    pub form_error: fn(FormError) -> String,
    pub field_fault: fn(FieldFault) -> String,
    pub message: fn(Message) -> MessageText,
    pub link: fn(LinkTo<'_>) -> String,
    pub ago: fn(Span) -> String,
}

impl Texts {
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &en::TEXTS,
            Language::German => &de::TEXTS,
        }
    }
}
