//! The kinds of events, each with what is known about it. What a kind is called, and what is made of it elsewhere, is its row in
//! `kind_table.rs`.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::{EventGroup, ExternalFailure, LoginRefusal};
use crate::{
    clock::Timestamp,
    count::{Label, labels},
    credential::factor::FactorKind,
    network::Network,
    session::{Method, Methods, SessionId},
    token::one_time::Purpose,
    user::{ApiKeyId, EmailKey, InvitationId, Role, Roles, UserId},
};

/// What happened. Who did it, and to whom, stands in the event. A figure that only the write knows is `None` until its statements
/// have run.
///
/// Its fields are the details of its record in the audit trail, unless they are skipped. A field has neither a secret nor an address that
/// somebody typed, unless it is skipped.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A person has registered.
    Registered {
        /// The session that they are signed in with; `None` if they have to verify their address first.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// Those that their invitation has given them.
        #[serde(skip_serializing_if = "Roles::is_empty")]
        roles: Roles,
        /// The login by which they have, if it was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        login: Option<String>,
    },
    /// Nobody was registered.
    #[serde(serialize_with = "as_reason")]
    RegistrationRefused(RegistrationRefusal),
    /// The operator has added a user.
    UserAdded,
    /// Somebody has imported users. Each of them has an event as well.
    UsersImported {
        /// How many were added.
        count: Option<usize>,
    },
    /// A user was added by an import.
    UserImported {
        #[serde(skip_serializing_if = "Roles::is_empty")]
        roles: Roles,
    },
    /// The operator has removed the imported password hash of a user.
    ImportedHashDropped,
    /// The name or the address of a user has changed.
    UserChanged {
        /// Whether the name has.
        name: bool,
        /// Whether the address has.
        email: bool,
    },
    /// A user cannot sign in any more, and their sessions have ended.
    UserDisabled,
    UserEnabled,
    /// Everything by which somebody could be in the account of a user has ended, and the user has to set a new password.
    UserSecured {
        #[serde(flatten)]
        ended: Option<AccessEnded>,
    },
    /// A user is gone, and what is stored about them but for ids, kinds and times of events.
    UserDeleted,
    /// A user who had not verified their address is gone, because the owner of the address has taken it back.
    UnverifiedUserDeleted,
    #[serde(serialize_with = "as_role")]
    RoleGranted(Role),
    #[serde(serialize_with = "as_role")]
    RoleRevoked(Role),
    /// Somebody has taken along everything that is stored about a user.
    AccountExported,
    /// Somebody has taken along all users.
    UsersExported {
        /// Whether with their password hashes.
        hashes: bool,
    },

    /// A mail was asked for that verifies the address.
    VerificationRequested,
    /// A mail was asked for that changes the address.
    EmailChangeRequested,
    /// A user has discarded the new address before it was verified.
    EmailChangeCancelled,
    /// A mailed link or code has verified an address.
    EmailVerified {
        /// What the link or code was for.
        #[serde(serialize_with = "as_purpose")]
        purpose: Purpose,
    },
    /// The operator has marked an address.
    EmailVerificationSet {
        /// As verified, or as not verified.
        verified: bool,
    },
    /// A change of the address was taken back. A new password was set and all sessions have ended.
    EmailRestored,
    /// Somebody asked for a mail to an address.
    MailRequested {
        /// What its link or code is for.
        #[serde(serialize_with = "as_purpose")]
        purpose: Purpose,
    },
    /// Somebody asked for a mail to an address that has got too much.
    MailWithheld,

    PasswordChanged,
    /// An administrator has removed the password of a user, who has to set a new one. All their sessions have ended.
    PasswordRemoved,
    /// A user has a new password, which they have set with a link or code.
    PasswordReset,
    /// A link or code to set a password with was wrong.
    ResetFailed,
    /// The operator has made a code to set a password with.
    ResetCodeCreated,
    /// The secret in a link was wrong, has expired or was used.
    UnknownSecret,

    SignedIn {
        session: SessionId,
        /// How they have shown who they are.
        #[serde(serialize_with = "as_names")]
        methods: Methods,
        /// The login by which they have, if it was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        login: Option<String>,
    },
    /// A login has signed nobody in.
    ExternalSignInFailed {
        login: String,
        #[serde(serialize_with = "as_label")]
        reason: ExternalFailure,
    },
    /// Somebody has given the password or a mailed code of a user, and was asked for the second factor.
    FactorAsked {
        /// What they have given.
        #[serde(serialize_with = "as_names")]
        methods: Methods,
    },
    SignInFailed {
        #[serde(serialize_with = "as_label")]
        reason: LoginRefusal,
        /// The address that was typed. It may be a password, or of somebody who has no account.
        #[serde(skip)]
        email: EmailKey,
    },
    /// A browser has carried its session to an app.
    SignedInToApp {
        session: SessionId,
    },
    SignedOut {
        session: SessionId,
    },
    /// A person, or the operator, has ended one of their sessions.
    SessionEnded {
        session: SessionId,
    },
    /// An OAuth client has revoked the token of a session.
    SessionEndedByClient {
        session: SessionId,
        /// The name of the client.
        client: String,
    },
    /// All sessions of a user have ended.
    SessionsEnded {
        /// How many there were.
        count: Option<usize>,
    },
    /// A replaced token was used again, so its session has ended.
    TokenReused {
        session: SessionId,
    },
    /// A person has shown again who they are, or shown more, within a session.
    SteppedUp {
        session: SessionId,
        /// How they have shown it.
        #[serde(serialize_with = "as_names")]
        methods: Methods,
    },

    FactorAdded {
        #[serde(rename = "factor")]
        kind: FactorKind,
    },
    FactorRemoved {
        #[serde(rename = "factor")]
        kind: FactorKind,
    },
    PasskeyRenamed,
    /// A user has new recovery codes.
    RecoveryCodesReplaced,
    /// A user does not trust a browser any more.
    TrustedDeviceRemoved,
    /// The operator has made a link that removes all second factors of a user.
    FactorResetCreated,
    /// The link was used: all second factors are removed and all sessions have ended.
    FactorsReset,

    /// A user can sign in with an account at another provider.
    IdentityLinked {
        /// The login of that provider.
        login: String,
    },
    /// A user cannot sign in with an account at another provider any more.
    IdentityUnlinked {
        login: String,
    },

    /// Failed logins on an account do not count any more.
    AccountUnlocked,

    Invited {
        invitation: InvitationId,
        /// What the new user gets.
        #[serde(skip_serializing_if = "Roles::is_empty")]
        roles: Roles,
    },
    InvitationRevoked {
        invitation: InvitationId,
    },

    /// A new signing key was published, which signs later.
    SigningKeyRotated {
        /// Its id.
        kid: String,
    },
    /// The tokens of a signing key are refused.
    SigningKeyRevoked {
        kid: String,
    },
    /// The guards were read again.
    GuardsReloaded(Reloaded),
    /// Other providers that people sign in with were declared, changed or removed.
    LoginsReloaded(Reloaded),
    /// All mail that waited or was given up is due now.
    MailRetried {
        count: usize,
    },

    /// An API key was made: by a person for themselves, or for a machine.
    KeyCreated {
        key: ApiKeyId,
        /// What it is called.
        name: String,
    },
    /// An API key does not count any more.
    KeyRevoked {
        key: ApiKeyId,
        /// What it is called.
        name: String,
    },

    /// All keys, secrets, sessions, links and codes were replaced or revoked.
    EverythingRevoked {
        /// How many sessions have ended.
        sessions: Option<usize>,
        /// How many passwords were removed.
        passwords: Option<usize>,
    },

    /// The service has started.
    ServiceStarted {
        version: &'static str,
        /// The settings that differ from the default, without secrets.
        #[serde(serialize_with = "as_map")]
        settings: Vec<(&'static str, String)>,
        /// The declared guards, each with the version of its declaration.
        #[serde(serialize_with = "as_map")]
        guards: Vec<(String, String)>,
        /// The declared logins, likewise.
        #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
        logins: Vec<(String, String)>,
        /// Whether the operator has asked for new keys in place of lost ones. They end all sessions.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        new_signing_key: bool,
    },
    ServiceStopped,
    /// Somebody takes along everything that is stored, with all secrets.
    BackupMade,
    /// The contents of the database were replaced by those of a backup.
    BackupRestored {
        /// When it was made.
        #[serde(serialize_with = "as_text")]
        made_at: Timestamp,
    },
    /// Everything that is stored is copied to another database.
    DataMoved {
        /// The kind of that database.
        to: &'static str,
    },
    /// A guard has refused somebody who is signed in. Only some of these are recorded.
    GuardRefused {
        /// The name of the guard or policy.
        guard: String,
        /// The id by which `doorward why` explains it.
        decision: String,
        /// Whether the guard only reports, so that the person was admitted.
        only_reported: bool,
    },
    /// A mail was not taken by any server.
    MailGivenUp {
        /// Its id.
        mail: String,
        failure: String,
    },
    /// Somebody has taken along events of the audit trail.
    AuditExported {
        /// Of the file.
        format: &'static str,
    },
    /// The secret of the audit trail was lost, and the operator has ordered to go on with another one. Later events are marked with it.
    AuditSecretReplaced {
        /// The number of the first of these.
        before: u64,
        /// The last checkpoint that is signed with the lost secret.
        checkpoint: Option<String>,
    },
    /// Events of the audit trail have reached the end of their retention.
    TrailPruned {
        /// Events of these groups that are older were deleted.
        #[serde(serialize_with = "as_times")]
        before: Vec<(EventGroup, Timestamp)>,
    },
    /// More was refused than is recorded.
    EventsLeftOut(LeftOut),
}

/// The names of the guards or logins that a reload has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reloaded {
    /// Those that are new.
    pub added: Vec<String>,
    /// Those whose declaration has changed.
    pub changed: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
}

/// What ended when the account of a user was secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessEnded {
    pub sessions: usize,
    /// Of the user, not of machines.
    pub api_keys: usize,
    pub trusted_devices: usize,
    /// Second factors that were added lately.
    pub factors: usize,
    /// Links and codes in mails or from the operator, such as those of a pending change of the address.
    pub codes: usize,
    /// That the user has made.
    pub invitations: usize,
    /// Whether the user had a password.
    pub password: bool,
}

/// How many events were not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Of each kind.
    #[serde(rename = "counts", serialize_with = "as_map")]
    pub kinds: Vec<(&'static str, u64)>,
    /// About the users with the most of them, the most first.
    #[serde(serialize_with = "as_subjects")]
    pub subjects: Vec<(UserId, u64)>,
    /// From the networks with the most of them, the most first.
    #[serde(serialize_with = "as_networks")]
    pub networks: Vec<(Network, u64)>,
}

/// Why somebody was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationRefusal {
    /// An invitation is needed.
    NotInvited,
    Closed,
    /// The condition is not true.
    Condition,
    /// The invitation is wrong, has expired or was used.
    WrongInvitation,
    AddressTaken,
    /// The people with such an address sign in with another provider.
    OnlyElsewhere,
}

labels!(RegistrationRefusal {
    NotInvited => "not_invited",
    Closed => "closed",
    Condition => "condition",
    WrongInvitation => "wrong_invitation",
    AddressTaken => "address_taken",
    OnlyElsewhere => "only_elsewhere",
});

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_label<L: Label, S: Serializer>(label: &L, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(label.label())
}

fn as_reason<L: Label, S: Serializer>(reason: &L, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("reason", reason.label())])
}

fn as_role<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("role", role.as_str())])
}

fn as_purpose<S: Serializer>(purpose: &Purpose, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(purpose.as_str())
}

fn as_names<S: Serializer>(methods: &Methods, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(methods.iter().map(Method::name))
}

fn as_map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

fn as_times<S: Serializer>(
    times: &[(EventGroup, Timestamp)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(times.iter().map(|(group, time)| (group.name(), time.to_string())))
}

fn as_subjects<S: Serializer>(
    subjects: &[(UserId, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let subjects = subjects.iter().map(|(user, count)| json!({ "id": user, "count": count }));
    serializer.collect_seq(subjects)
}

fn as_networks<S: Serializer>(
    networks: &[(Network, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let networks = networks
        .iter()
        .map(|(network, count)| json!({ "address": network.to_string(), "count": count }));
    serializer.collect_seq(networks)
}
