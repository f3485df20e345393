//! The log line of each event.

use tracing::{field::display, info, warn};

use super::{Actor, Event, EventKind, RegistrationRefusal};
use crate::{
    log::FloodLine,
    network::Network,
    session::{Method, Methods},
};

/// Writes the line of an event. Lines that anybody can cause are limited: above the limit they are only counted.
pub(super) fn write(event: &Event) {
    // The id of the request is in the span that the line is written in.
    let Event { at: _, actor, subject, kind, client, request_id: _ } = event;
    let user = subject.map(display);
    let network = client.as_ref().map(|client| display(Network::at(client.address)));
    let is_by_operator = *actor == Actor::Operator;
    match kind {
        EventKind::Registered { session: Some(session) } => {
            info!(user, %session, network, "registered")
        }
        EventKind::Registered { session: None } => {
            info!(user, network, "registered, to be verified")
        }
        EventKind::RegistrationRefused(reason) => {
            if let Some(reason) = policy_reason(*reason)
                && FloodLine::RegistrationRefused.is_written("")
            {
                info!(network, reason, "registration refused");
            }
        }
        EventKind::UserAdded => info!(user, "added by the operator"),
        EventKind::UsersImported { count } => {
            info!(users = count, "users imported by the operator")
        }
        // The command has one line for all users.
        EventKind::ImportedHashDropped => {}
        EventKind::UserChanged { name, email } => info!(user, network, name, email, "user changed"),
        EventKind::UserDisabled => info!(user, "disabled by the operator"),
        EventKind::UserEnabled => info!(user, "enabled by the operator"),
        EventKind::UserDeleted if is_by_operator => info!(user, "deleted by the operator"),
        EventKind::UserDeleted => info!(user, network, "deleted by the user"),
        EventKind::UnverifiedUserDeleted => {
            warn!(user, "unverified user deleted: the owner of the address takes it back");
        }
        EventKind::RoleGranted(role) => {
            info!(user, role = role.as_str(), granted = true, "role set by the operator");
        }
        EventKind::RoleRevoked(role) => {
            info!(user, role = role.as_str(), granted = false, "role set by the operator");
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
            info!(user, verified, "e-mail address verification set by the operator");
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

        EventKind::PasswordChanged if is_by_operator => info!(user, "password set by the operator"),
        EventKind::PasswordChanged => info!(user, network, "password changed"),
        EventKind::PasswordReset => info!(user, network, "password reset"),
        EventKind::ResetFailed => {
            if FloodLine::FailedReset.is_written("") {
                info!(network, "failed reset");
            }
        }
        EventKind::ResetCodeCreated => info!(user, "reset code created by the operator"),
        EventKind::UnknownSecret => info!(network, "unknown one-time secret"),

        EventKind::SignedIn { session, methods } => {
            info!(user, %session, network, "{}", signed_in(methods));
        }
        EventKind::SignInFailed { reason, email: _ } => {
            if FloodLine::FailedLogin.is_written(reason.text()) {
                info!(network, %reason, user, "failed login");
            }
        }
        EventKind::SignedInToApp { session } => {
            info!(user, %session, network, "signed in to an app")
        }
        EventKind::SignedOut { session } => info!(user, %session, network, "logged out"),
        EventKind::SessionEnded { session } if is_by_operator => {
            info!(user, %session, "session ended by the operator");
        }
        EventKind::SessionEnded { session } => {
            info!(user, %session, network, "session ended by its user")
        }
        EventKind::SessionEndedByClient { session, client } => {
            info!(user, %session, client, "session ended by a client");
        }
        EventKind::SessionsEnded { count } if is_by_operator => {
            info!(user, ended = count, "sessions ended by the operator");
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
        EventKind::FactorResetCreated => info!(user, "factor reset link created by the operator"),
        EventKind::FactorsReset => {
            warn!(user, network, "second factors removed by a reset link and all sessions ended");
        }

        EventKind::AccountUnlocked => info!(user, "unlocked by the operator"),

        EventKind::Invited { invitation } if is_by_operator => {
            info!(%invitation, "invited by the operator");
        }
        EventKind::Invited { invitation } => info!(%invitation, user, "invited by a user"),
        EventKind::InvitationRevoked { invitation } if is_by_operator => {
            info!(%invitation, "invitation revoked by the operator");
        }
        EventKind::InvitationRevoked { invitation } => {
            info!(%invitation, user, "invitation revoked by its user");
        }

        EventKind::EverythingRevoked { sessions, passwords } => warn!(
            sessions,
            passwords, "all keys and secrets replaced, and all sessions ended, by the operator"
        ),
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
