//! English.

use super::{Details, EventTexts, details::join};
use crate::{
    credential::factor::FactorKind,
    event::{EventGroup, EventName, LoginRefusal, RegistrationRefusal},
    language::Language,
    session::Method,
    token::one_time::Purpose,
};

pub(in super::super) const TEXTS: EventTexts = EventTexts { words, unknown: "Unknown event" };

/// A line for each kind: what it is called, and a sentence with what else is known.
fn words(name: EventName, of: &Details<'_>) -> (&'static str, Option<String>) {
    match name {
        EventName::Registered => ("Account created", roles(of)),
        EventName::RegistrationRefused => {
            ("Sign-up refused", of.registration_refusal().map(registration))
        }
        EventName::UserAdded => ("Account created by an administrator", None),
        EventName::UsersImported => ("Users imported", of.counted("count", "user", "users")),
        EventName::UserImported => ("Account imported", roles(of)),
        EventName::ImportedHashDropped => ("Imported password removed", None),
        EventName::UserChanged => ("Name or e-mail address changed", changed(of)),
        EventName::UserDisabled => ("Account disabled", None),
        EventName::UserEnabled => ("Account enabled", None),
        EventName::UserSecured => ("Account secured: every way in has ended", secured(of)),
        EventName::UserDeleted => ("Account deleted", None),
        EventName::UnverifiedUserDeleted => (
            "Unverified account deleted",
            Some("The owner of the address has taken it back.".into()),
        ),
        EventName::RoleGranted => ("Role granted", role(of)),
        EventName::RoleRevoked => ("Role revoked", role(of)),
        EventName::AccountExported => ("Data of the account exported", None),
        EventName::UsersExported => {
            ("All users exported", of.is("hashes").then(|| "With their password hashes.".into()))
        }
        EventName::VerificationRequested => ("Verification mail requested", None),
        EventName::EmailChangeRequested => ("Change of the e-mail address requested", None),
        EventName::EmailChangeCancelled => ("Change of the e-mail address cancelled", None),
        EventName::EmailVerified => ("E-mail address verified", of.purpose().map(purpose)),
        EventName::EmailVerificationSet => (
            "Verification of the e-mail address changed",
            Some(
                if of.is("verified") {
                    "It counts as verified."
                } else {
                    "It counts as not verified."
                }
                .into(),
            ),
        ),
        EventName::EmailRestored => ("E-mail address restored", None),
        EventName::MailRequested => ("Mail requested", of.purpose().map(purpose)),
        EventName::MailWithheld => {
            ("Mail withheld", Some("The address has got too many mails.".into()))
        }
        EventName::PasswordChanged => ("Password changed", None),
        EventName::PasswordReset => ("Password reset", None),
        EventName::ResetFailed => ("Wrong link or code for a new password", None),
        EventName::PasswordRemoved => ("Password removed by the administration", None),
        EventName::ResetCodeCreated => ("Code for a new password created", None),
        EventName::UnknownSecret => ("Unknown link or code", None),
        EventName::SignedIn => ("Signed in", with(of)),
        EventName::FactorAsked => {
            ("Asked for the second factor, after the first one was given", with(of))
        }
        EventName::SignInFailed => ("Sign-in failed", of.login_refusal().map(login)),
        EventName::SignedInToApp => ("Signed in to an app", None),
        EventName::SignedOut => ("Signed out", None),
        EventName::SessionEnded => ("Session ended", None),
        EventName::SessionEndedByClient => {
            ("Session ended by an app", of.text("client").map(|client| format!("App {client}.")))
        }
        EventName::SessionsEnded => {
            ("All sessions ended", of.counted("count", "session", "sessions"))
        }
        EventName::TokenReused => ("An old token was used again, so the session has ended", None),
        EventName::SteppedUp => ("Confirmed again", with(of)),
        EventName::FactorAdded => ("Second factor added", of.factor().map(factor)),
        EventName::FactorRemoved => ("Second factor removed", of.factor().map(factor)),
        EventName::PasskeyRenamed => ("Passkey renamed", None),
        EventName::RecoveryCodesReplaced => ("Recovery codes replaced", None),
        EventName::TrustedDeviceRemoved => ("Trusted browser removed", None),
        EventName::FactorResetCreated => ("Link to remove second factors created", None),
        EventName::FactorsReset => ("All second factors removed", None),
        EventName::AccountUnlocked => ("Account unlocked after failed sign-ins", None),
        EventName::Invited => ("Somebody invited", roles(of)),
        EventName::InvitationRevoked => ("Invitation revoked", None),
        EventName::EverythingRevoked => ("Emergency: everything revoked", revoked(of)),
        EventName::ServiceStarted => ("Service started", started(of)),
        EventName::ServiceStopped => ("Service stopped", None),
        EventName::SigningKeyRotated => ("New signing key published", key(of)),
        EventName::SigningKeyRevoked => ("Signing key revoked", key(of)),
        EventName::GuardsReloaded => ("Guards read again", guards(of)),
        EventName::MailRetried => ("Mail tried again", of.counted("count", "mail", "mails")),
        EventName::KeyCreated => {
            ("API key created", of.text("name").map(|name| format!("“{name}”.")))
        }
        EventName::KeyRevoked => {
            ("API key revoked", of.text("name").map(|name| format!("“{name}”.")))
        }
        EventName::GuardRefused if of.is("onlyReported") => {
            ("Access to an app would have been refused", guard(of))
        }
        EventName::GuardRefused => ("Access to an app refused", guard(of)),
        EventName::MailGivenUp => (
            "A mail could not be delivered",
            of.text("failure").map(|failure| format!("The failure: “{failure}”.")),
        ),
        EventName::AuditExported => {
            ("Audit trail exported", of.text("format").map(|format| format!("As {format}.")))
        }
        EventName::BackupMade => ("Backup made", None),
        EventName::BackupRestored => (
            "Backup restored",
            of.moment("madeAt", Language::English).map(|made| format!("Made on {made}.")),
        ),
        EventName::DataMoved => {
            ("Data copied to another database", of.text("to").map(|to| format!("To {to}.")))
        }
        EventName::AuditSecretReplaced => ("Secret of the audit trail replaced", None),
        EventName::TrailPruned => ("Old events deleted", pruned(of)),
        EventName::EventsLeftOut => ("Events that were not recorded", of.counts(&TEXTS)),
    }
}

fn registration(reason: RegistrationRefusal) -> String {
    match reason {
        RegistrationRefusal::NotInvited => "Without an invitation.",
        RegistrationRefusal::Closed => "Nobody can create an account.",
        RegistrationRefusal::Condition => "The condition is not true.",
        RegistrationRefusal::WrongInvitation => "The invitation is wrong, has expired or was used.",
        RegistrationRefusal::AddressTaken => "The address has an account.",
    }
    .into()
}

fn login(reason: LoginRefusal) -> String {
    match reason {
        LoginRefusal::UnknownAddress => "Unknown address.",
        LoginRefusal::Disabled => "The account is disabled.",
        LoginRefusal::NoPassword => "The account has no password.",
        LoginRefusal::WrongPassword => "Wrong password.",
        LoginRefusal::WrongCode => "Wrong code of a mail.",
        LoginRefusal::WrongFactor => "Wrong second factor.",
        LoginRefusal::FactorUsed => "The code of the second factor was used before.",
        LoginRefusal::Unverified => "The address is not verified.",
        LoginRefusal::AccountThrottled => "Too many attempts on the account.",
        LoginRefusal::NetworkThrottled => "Too many attempts from the network.",
        LoginRefusal::Gone => "The account has changed in the meantime.",
    }
    .into()
}

fn purpose(purpose: Purpose) -> String {
    match purpose {
        Purpose::VerifyEmail => "To verify the address.",
        Purpose::ChangeEmail => "To change the address.",
        Purpose::RestoreEmail => "To take back a change of the address.",
        Purpose::ResetPassword | Purpose::OperatorReset => "To set a new password.",
        Purpose::SignIn => "To sign in.",
        Purpose::Invitation => "With an invitation.",
        Purpose::FactorReset => "To remove all second factors.",
    }
    .into()
}

fn factor(kind: FactorKind) -> String {
    match kind {
        FactorKind::Passkey => "A passkey.",
        FactorKind::SecurityKey => "A security key.",
        FactorKind::Totp => "An authenticator app.",
    }
    .into()
}

fn with(of: &Details<'_>) -> Option<String> {
    let methods = of.methods("and", |method| match method {
        Method::Password => "a password",
        Method::MailedCode => "a mailed code",
        Method::Totp => "a code of an app",
        Method::Passkey => "a passkey",
        Method::SecurityKey => "a security key",
        Method::RecoveryCode => "a recovery code",
        Method::TrustedDevice => "a trusted browser",
    });
    methods.map(|methods| format!("With {methods}."))
}

fn changed(of: &Details<'_>) -> Option<String> {
    match (of.is("name"), of.is("email")) {
        (true, true) => Some("Both."),
        (true, false) => Some("The name."),
        (false, true) => Some("The address."),
        (false, false) => None,
    }
    .map(Into::into)
}

fn role(of: &Details<'_>) -> Option<String> {
    of.text("role").map(|role| format!("Role {role}."))
}

fn roles(of: &Details<'_>) -> Option<String> {
    of.list("roles").map(|roles| format!("With the roles {roles}."))
}

fn secured(of: &Details<'_>) -> Option<String> {
    join([
        of.counted_if_any("sessions", "session", "sessions"),
        of.counted_if_any("apiKeys", "API key", "API keys"),
        of.counted_if_any("factors", "second factor removed", "second factors removed"),
    ])
}

fn pruned(of: &Details<'_>) -> Option<String> {
    of.pruned(Language::English, |group, time| {
        let events = match group {
            EventGroup::SignIns => "Sign-ins",
            EventGroup::Refusals => "Refusals",
            EventGroup::Orders => "Changes and orders",
            EventGroup::Deletions => "Deletions",
        };
        format!("{events} before {time}.")
    })
}

fn guard(of: &Details<'_>) -> Option<String> {
    let guard = of.text("guard")?;
    Some(match of.is("onlyReported") {
        true => format!("Guard {guard} only reports: the person was admitted."),
        false => format!("By the guard {guard}."),
    })
}

fn key(of: &Details<'_>) -> Option<String> {
    of.text("kid").map(|kid| format!("Key {kid}."))
}

fn started(of: &Details<'_>) -> Option<String> {
    let version = of.text("version").map(|version| format!("Version {version}."));
    let guards = of.names("guards").map(|guards| format!("Guards: {guards}."));
    let new_key = of.is("newSigningKey").then(|| "With a new signing key.".to_owned());
    join([version, guards, new_key])
}

fn guards(of: &Details<'_>) -> Option<String> {
    let list = |name, words| of.list(name).map(|guards| format!("{words}: {guards}."));
    join([list("added", "New"), list("changed", "Changed"), list("removed", "Removed")])
}

fn revoked(of: &Details<'_>) -> Option<String> {
    join([
        of.counted_if_any("sessions", "session", "sessions"),
        of.counted_if_any("passwords", "password", "passwords"),
    ])
}
