//! The kinds of events with their meaning, and for how long each is kept.

/// Kinds of events that are kept equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventGroup {
    /// Who has signed in and out, and who has tried to.
    SignIns,
    /// What was refused, and what anybody may ask for.
    Refusals,
    /// Everything else: changes of accounts, and every order.
    Orders,
    /// What explains other events: the end of an account, why something was erased, and the loss of the secret of the trail.
    Deletions,
}

impl EventGroup {
    pub const ALL: [Self; 4] = [Self::SignIns, Self::Refusals, Self::Orders, Self::Deletions];

    pub fn name(self) -> &'static str {
        match self {
            Self::SignIns => "sign-ins",
            Self::Refusals => "refusals",
            Self::Orders => "orders",
            Self::Deletions => "deletions",
        }
    }

    /// The names of its kinds.
    pub fn kinds(self) -> impl Iterator<Item = &'static str> {
        KINDS.iter().filter(move |kind| kind.group == self).map(|kind| kind.name)
    }
}

/// What is known of a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    pub name: &'static str,
    pub group: EventGroup,
    /// What it means, as half a sentence.
    pub meaning: &'static str,
}

const fn kind(name: &'static str, group: EventGroup, meaning: &'static str) -> KindInfo {
    KindInfo { name, group, meaning }
}

use EventGroup::{Deletions, Orders, Refusals, SignIns};

/// All kinds.
pub const KINDS: &[KindInfo] = &[
    kind("registered", Orders, "somebody has registered"),
    kind("registration_refused", Refusals, "somebody was not registered"),
    kind("user_added", Orders, "the operator or an administrator has added a user"),
    kind("users_imported", Orders, "users were imported: how many"),
    kind("user_imported", Orders, "an import has added a user: with which roles"),
    kind("imported_hash_dropped", Orders, "the imported password hash of a user was deleted"),
    kind("user_changed", Orders, "the name or the address of a user has changed"),
    kind(
        "user_disabled",
        Orders,
        "a user was disabled: sessions, API keys and trusted browsers have ended",
    ),
    kind("user_enabled", Orders, "a user was enabled"),
    kind("user_secured", Orders, "everything by which somebody could be in an account was ended"),
    kind("user_deleted", Deletions, "a user was deleted"),
    kind(
        "unverified_user_deleted",
        Deletions,
        "a user was deleted because the owner of the address has taken it back",
    ),
    kind("role_granted", Orders, "a user has got a role"),
    kind("role_revoked", Orders, "a user has lost a role"),
    kind("account_exported", Orders, "everything about a user was read out"),
    kind("users_exported", Orders, "all users were read out"),
    kind("verification_requested", Orders, "a mail that verifies the address was asked for"),
    kind("email_change_requested", Orders, "a mail that changes the address was asked for"),
    kind("email_change_cancelled", Orders, "a new address was discarded before it was verified"),
    kind("email_verified", Orders, "an address was verified"),
    kind("email_verification_set", Orders, "an address was marked as verified, or as not verified"),
    kind("email_restored", Orders, "a change of the address was taken back"),
    kind("mail_requested", Refusals, "a mail with a link or a code was asked for"),
    kind("mail_withheld", Refusals, "a mail was asked for, to an address that has got too many"),
    kind("password_changed", Orders, "a user has another password"),
    kind("password_reset", Orders, "a user has set a password with a link or code"),
    kind("reset_failed", Refusals, "a link or code to set a password with was wrong"),
    kind("password_removed", Orders, "the password of a user was removed"),
    kind("reset_code_created", Orders, "a code to set a password with was made"),
    kind("unknown_secret", Refusals, "the secret in a link was wrong, had expired or was used"),
    kind("signed_in", SignIns, "a user has signed in"),
    kind(
        "factor_asked",
        SignIns,
        "the password or code was right, and the second factor was missing",
    ),
    kind("sign_in_failed", SignIns, "a sign-in has failed: why"),
    kind("signed_in_to_app", SignIns, "a browser has carried its session to an app"),
    kind("signed_out", SignIns, "a user has signed out"),
    kind("session_ended", Orders, "a session was ended"),
    kind("session_ended_by_client", Orders, "a program has revoked the token of a session"),
    kind("sessions_ended", Orders, "all sessions of a user were ended"),
    kind("token_reused", Orders, "a replaced token was used again, and its session has ended"),
    kind("stepped_up", SignIns, "a user has shown again who they are, or shown more"),
    kind("factor_added", Orders, "a second factor was added"),
    kind("factor_removed", Orders, "a second factor was removed"),
    kind("passkey_renamed", Orders, "a passkey was renamed"),
    kind("recovery_codes_replaced", Orders, "a user has new recovery codes"),
    kind("trusted_device_removed", Orders, "a browser is not trusted any more"),
    kind(
        "factor_reset_created",
        Orders,
        "a link that removes all second factors of a user was made",
    ),
    kind("factors_reset", Orders, "all second factors of a user were removed with that link"),
    kind("account_unlocked", Orders, "failed sign-ins of a user do not count any more"),
    kind("invited", Orders, "somebody was invited"),
    kind("invitation_revoked", Orders, "an invitation was revoked"),
    kind(
        "everything_revoked",
        Orders,
        "all keys, secrets, sessions, links and codes were replaced or revoked",
    ),
    kind(
        "service_started",
        Orders,
        "the service has started: its version, changed settings, guards, and whether with a new signing key",
    ),
    kind("service_stopped", Orders, "the service has stopped"),
    kind("signing_key_rotated", Orders, "a new signing key was published"),
    kind("signing_key_revoked", Orders, "the tokens of a signing key are refused"),
    kind("guards_reloaded", Orders, "the guards were read again"),
    kind("mail_retried", Orders, "mail that waited was made due"),
    kind("key_created", Orders, "an API key was made"),
    kind("key_revoked", Orders, "an API key was revoked"),
    kind("backup_made", Orders, "everything was read out, with all secrets"),
    kind(
        "backup_restored",
        Orders,
        "the contents of the database were replaced by those of a backup",
    ),
    kind("data_moved", Orders, "everything was copied to another database"),
    kind("guard_refused", Refusals, "a guard has refused somebody who is signed in"),
    kind("mail_given_up", Orders, "no mail server has taken a mail"),
    kind("audit_exported", Orders, "events of the trail were read out"),
    kind(
        "audit_secret_replaced",
        Deletions,
        "the secret of the trail was lost, and the trail goes on under a new name",
    ),
    kind(
        "trail_pruned",
        Orders,
        "events have reached the end of their retention: of which groups, and before which time",
    ),
    kind("events_left_out", Refusals, "more was refused than is recorded: how much"),
];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::event::EventKind;

    #[test]
    fn every_kind_is_in_the_list() {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names, EventKind::NAMES);
    }

    #[test]
    fn the_document_has_every_kind_with_its_meaning_and_no_other() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/audit.md");
        let text = fs::read_to_string(path).unwrap();
        let (_, of_kinds) = text.split_once("\n## Kinds\n").unwrap();
        let rows = of_kinds.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
        let rows: Vec<_> = rows.map(str::to_owned).collect();
        let expected: Vec<_> = KINDS
            .iter()
            .map(|KindInfo { name, group, meaning }| {
                format!("{name}` | {} | {meaning}", group.name())
            })
            .collect();
        assert_eq!(rows, expected);
    }
}
