//! The log line of each event.

use tracing::{field::display, info, warn};

use super::{AccessEnded, Actor, Event, EventKind, RegistrationRefusal};
use crate::{
    log::FloodLine,
    network::Network,
    session::{Method, Methods},
};

/// Writes the line of an event. Lines that anybody can cause are limited: above the limit they are only counted.
pub(super) fn write(event: &Event) {
    // The id of the request is in the span that the line is written in.
    let Event { id: _, at: _, actor, subject, kind, client, request_id: _, authority: _ } = event;
    let user = subject.map(display);
    let network = client.as_ref().map(|client| display(Network::at(client.address)));
    let administrator = event.administrator();
    let (whom, actor) = (title(actor), administrator.and_then(id_of));
    match kind {
        EventKind::Registered { session: Some(session), .. } => {
            info!(user, %session, network, "registered")
        }
        EventKind::Registered { session: None, .. } => {
            info!(user, network, "registered, to be verified")
        }
        EventKind::RegistrationRefused(reason) => {
            if let Some(reason) = policy_reason(*reason)
                && FloodLine::RegistrationRefused.is_written("")
            {
                info!(network, reason, "registration refused");
            }
        }
        EventKind::UserAdded => info!(user, actor, "added by {whom}"),
        EventKind::UsersImported { count } => {
            info!(users = count, actor, "users imported by {whom}")
        }
        // One line tells of all users.
        EventKind::ImportedHashDropped | EventKind::UserImported { .. } => {}
        EventKind::UserChanged { name, email } => info!(user, network, name, email, "user changed"),
        EventKind::UserDisabled => info!(user, actor, "disabled by {whom}"),
        EventKind::UserEnabled => info!(user, actor, "enabled by {whom}"),
        EventKind::UserSecured { ended } => {
            let AccessEnded { sessions, api_keys, factors, .. } = ended.unwrap_or_default();
            info!(user, sessions, api_keys, factors, actor, "account secured by {whom}");
        }
        EventKind::UserDeleted if administrator.is_some() => {
            info!(user, actor, "deleted by {whom}")
        }
        EventKind::UserDeleted => info!(user, network, "deleted by the user"),
        EventKind::UnverifiedUserDeleted => {
            warn!(user, "unverified user deleted: the owner of the address takes it back");
        }
        EventKind::RoleGranted(role) => {
            info!(user, role = role.as_str(), granted = true, actor, "role set by {whom}");
        }
        EventKind::RoleRevoked(role) => {
            info!(user, role = role.as_str(), granted = false, actor, "role set by {whom}");
        }

        EventKind::AccountExported if administrator.is_some() => {
            info!(user, actor, "account exported by {whom}")
        }
        EventKind::AccountExported => info!(user, network, "account exported by its user"),
        EventKind::UsersExported { hashes } => {
            info!(hashes, actor, "all users exported by {whom}")
        }
        EventKind::AuditSecretReplaced { before, .. } => {
            warn!(before, "the audit trail goes on under a new name: its secret was lost");
        }
        EventKind::AuditExported { format } => {
            info!(format, actor, "audit trail exported by {whom}")
        }

        EventKind::VerificationRequested => info!(user, network, "verification mail requested"),
        EventKind::EmailChangeRequested => {
            info!(user, network, "change of the e-mail address requested")
        }
        EventKind::EmailChangeCancelled => {
            info!(user, network, "change of the e-mail address cancelled")
        }
        EventKind::EmailVerified { purpose } => {
            info!(user, network, purpose = purpose.as_str(), "e-mail address verified");
        }
        EventKind::EmailVerificationSet { verified } => {
            info!(user, verified, actor, "e-mail address verification set by {whom}");
        }
        EventKind::EmailRestored => {
            info!(user, network, "e-mail address restored, password set and all sessions ended");
        }
        EventKind::MailRequested { purpose } => {
            if FloodLine::MailRequested.is_written(purpose.as_str()) {
                info!(network, purpose = purpose.as_str(), "mail requested");
            }
        }
        EventKind::MailWithheld => {
            if FloodLine::MailRequested.is_written("the address has got too much") {
                info!(network, "no mail: the address has got too much");
            }
        }

        EventKind::PasswordChanged if administrator.is_some() => {
            info!(user, actor, "password set by {whom}")
        }
        EventKind::PasswordChanged => info!(user, network, "password changed"),
        EventKind::PasswordRemoved => info!(user, actor, "password removed by {whom}"),
        EventKind::PasswordReset => info!(user, network, "password reset"),
        EventKind::ResetFailed => {
            if FloodLine::FailedReset.is_written("") {
                info!(network, "failed reset");
            }
        }
        EventKind::ResetCodeCreated => info!(user, actor, "reset code created by {whom}"),
        EventKind::UnknownSecret => info!(network, "unknown one-time secret"),

        EventKind::SignedIn { session, methods } => {
            info!(user, %session, network, "{}", signed_in(methods));
        }
        EventKind::SignInFailed { reason, email: _ } => {
            if FloodLine::FailedLogin.is_written(reason.text()) {
                info!(network, %reason, user, "failed login");
            }
        }
        EventKind::FactorAsked { methods } => {
            if FloodLine::FailedLogin.is_written("the second factor is missing") {
                info!(user, network, methods = methods.to_text(), "asked for the second factor");
            }
        }
        EventKind::SignedInToApp { session } => {
            info!(user, %session, network, "signed in to an app")
        }
        EventKind::SignedOut { session } => info!(user, %session, network, "logged out"),
        EventKind::SessionEnded { session } if administrator.is_some() => {
            info!(user, %session, actor, "session ended by {whom}");
        }
        EventKind::SessionEnded { session } => {
            info!(user, %session, network, "session ended by its user")
        }
        EventKind::SessionEndedByClient { session, client } => {
            info!(user, %session, client, "session ended by a client");
        }
        EventKind::SessionsEnded { count } if administrator.is_some() => {
            info!(user, ended = count, actor, "sessions ended by {whom}");
        }
        EventKind::SessionsEnded { count } => {
            info!(user, network, ended = count, "logged out everywhere")
        }
        EventKind::TokenReused { session } => warn!(
            user, %session, network,
            "refresh token reuse: a replaced token was used again, so the session has been ended"
        ),
        EventKind::SteppedUp { session, methods } => {
            info!(user, %session, network, methods = methods.to_text(), "stepped up");
        }

        EventKind::FactorAdded { kind } => {
            info!(user, network, factor = kind.name(), "second factor added");
        }
        EventKind::FactorRemoved { kind } => {
            info!(user, network, factor = kind.name(), "second factor removed");
        }
        EventKind::PasskeyRenamed => info!(user, network, "passkey renamed"),
        EventKind::RecoveryCodesReplaced => info!(user, network, "recovery codes replaced"),
        EventKind::TrustedDeviceRemoved => info!(user, network, "trusted device removed"),
        EventKind::FactorResetCreated => info!(user, actor, "factor reset link created by {whom}"),
        EventKind::FactorsReset => {
            warn!(user, network, "second factors removed by a reset link and all sessions ended");
        }

        EventKind::AccountUnlocked => info!(user, actor, "unlocked by {whom}"),

        EventKind::Invited { invitation, .. } if administrator.is_some() => {
            info!(%invitation, actor, "invited by {whom}");
        }
        EventKind::Invited { invitation, .. } => info!(%invitation, user, "invited by a user"),
        EventKind::InvitationRevoked { invitation } if administrator.is_some() => {
            info!(%invitation, actor, "invitation revoked by {whom}");
        }
        EventKind::InvitationRevoked { invitation } => {
            info!(%invitation, user, "invitation revoked by its user");
        }

        EventKind::SigningKeyRotated { kid } => {
            info!(kid, actor, "signing key rotated by {whom}");
        }
        EventKind::SigningKeyRevoked { kid } => {
            warn!(kid, actor, "signing key revoked by {whom}");
        }
        EventKind::GuardsReloaded { added, changed, removed } => info!(
            added = added.join(" "),
            changed = changed.join(" "),
            removed = removed.join(" "),
            actor,
            "guards reloaded by {whom}; other settings need a restart"
        ),
        EventKind::MailRetried { count } => {
            info!(mails = count, actor, "mail tried again by {whom}");
        }

        EventKind::KeyCreated { key, name } => {
            info!(%key, name, user, actor, network, "API key created by {whom}");
        }
        EventKind::KeyRevoked { key, name } => {
            info!(%key, name, user, actor, network, "API key revoked by {whom}");
        }

        EventKind::EverythingRevoked { sessions, passwords } => warn!(
            sessions,
            passwords, actor, "all keys and secrets replaced, and all sessions ended, by {whom}"
        ),

        EventKind::BackupMade => info!(actor, "backup made by {whom}"),
        EventKind::BackupRestored { made_at } => {
            info!(%made_at, actor, "backup restored by {whom}");
        }
        EventKind::DataMoved { to } => {
            info!(to, actor, "data copied to another database by {whom}")
        }

        // Whoever causes them writes the line.
        EventKind::ServiceStarted { .. }
        | EventKind::ServiceStopped
        | EventKind::GuardRefused { .. }
        | EventKind::MailGivenUp { .. }
        | EventKind::TrailPruned { .. }
        | EventKind::EventsLeftOut(_) => {}
    }
}

/// Who has ordered something, in words.
fn title(actor: &Actor) -> &'static str {
    match actor {
        Actor::User(_) => "an administrator",
        Actor::Key { .. } => "the holder of an API key",
        Actor::Operator(_) | Actor::Unknown | Actor::Service => "the operator",
    }
}

/// The id of the user or the key that has ordered something. The span of a command names the operator.
fn id_of(actor: &Actor) -> Option<String> {
    match actor {
        Actor::User(id) => Some(id.to_string()),
        Actor::Key { key, .. } => Some(key.to_string()),
        Actor::Operator(_) | Actor::Unknown | Actor::Service => None,
    }
}

/// Why the policy refuses somebody. The other refusals have no line: the answer tells them, or a failed login has one.
fn policy_reason(refusal: RegistrationRefusal) -> Option<&'static str> {
    match refusal {
        RegistrationRefusal::NotInvited => Some("not invited"),
        RegistrationRefusal::Closed => Some("closed"),
        RegistrationRefusal::Condition => Some("condition"),
        RegistrationRefusal::WrongInvitation | RegistrationRefusal::AddressTaken => None,
    }
}

fn signed_in(methods: &Methods) -> &'static str {
    if methods.contains(Method::MailedCode) { "logged in with a mailed code" } else { "logged in" }
}
