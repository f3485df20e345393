//! What each page shows, as plain data, and its HTML. Nothing here reads a request or the store.

mod account;
mod activity;
mod admin;
mod branding;
#[cfg(feature = "cli")]
mod dev_login;
mod docs;
mod field;
mod invitations;
mod keys;
mod logins;
mod mail_request;
mod message;
mod one_time;
mod passkey_button;
mod prove;
mod recovery_codes;
mod refused;
mod script;
mod security;
mod set_up;
mod sign_in;
mod sign_out;
mod sign_up;
mod sign_up_passkey;
mod style;
#[cfg(test)]
mod tests;
mod verify;

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

#[cfg(feature = "cli")]
pub use self::dev_login::{DevLogin, TypedPerson};
pub use self::{
    account::{Account, AppLink, Confirm, FailedForm, OpenForm},
    activity::{Activity, MAX_ACTIVITY_ROWS},
    admin::{
        AdminInvitations, ApiKeys, AuditTrail, EmergencyDone, Frame, GuardPage, GuardRow, Guards,
        LoginRow, MAX_USER_SESSIONS, MailQueue, NewUserPage, Overview, Place, RefusalPage,
        Refusals, RefusedForm, Secret, SigningKeysPage, UserPage, Users,
    },
    branding::Branding,
    docs::Docs,
    invitations::{Invitations, Ticket},
    keys::Keys,
    logins::{LinkLogin, LoginButton, NotSignedIn, ProveAddress, UnverifiedAccount},
    mail_request::{MailRequest, MailRequestKind},
    message::MessagePage,
    one_time::{CodeEntry, OneTimeForm, OneTimeKind},
    passkey_button::Signal,
    prove::{Prove, ProveFor},
    recovery_codes::{NewRecoveryCode, RecoveryCodes},
    refused::Refused,
    script::SCRIPT,
    security::Security,
    set_up::{AddPasskey, EditPasskey, RemoveFactor, SetUpTotp},
    sign_in::SignIn,
    sign_out::SignOut,
    sign_up::{InvitationEntry, SignUp},
    sign_up_passkey::SignUpPasskey,
    style::Style,
    verify::VerifyForApp,
};
use super::text::Texts;
use crate::language::Language;

/// What every page needs.
#[derive(Clone, Copy)]
pub struct PageContext<'a> {
    pub language: Language,
    /// The looks that the operator chose.
    pub branding: &'a Branding,
    /// What every link to Doorward starts with: the path of `public_url` without a final slash, usually empty. On the host
    /// of an app it is all of `public_url`.
    pub base: &'a str,
}

impl PageContext<'_> {
    fn texts(&self) -> &'static Texts {
        Texts::of(self.language)
    }

    /// The query that carries a return target to another page.
    pub(in crate::http) fn query(target: Option<&str>) -> String {
        target
            .map(|target| format!("?for={}", utf8_percent_encode(target, KEPT)))
            .unwrap_or_default()
    }
}

/// The characters that stand for themselves in a query.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The HTML of a template. Writing into a string does not fail.
pub fn html(template: &impl Template) -> String {
    template.render().expect("a template writes into a string")
}
