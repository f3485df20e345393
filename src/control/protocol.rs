//! Commands and replies. Each is sent as one line of JSON.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    Diagnosis, FactorInfo, ImportOutcome, ImportedHashInfo, PersonExport, Secret,
    TrustedDeviceInfo, UserRecord,
    invitations::{InvitationInfo, Invite, TicketInfo},
};
use crate::{
    access::{
        guard::{ExplainedHeader, Explanation, Guard, Missing, Mode},
        refusals::Refusal,
    },
    account::factor_list,
    network::Arrival,
    session::Session,
    user::{HeldFactors, User},
};

/// A command of the operator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Lists users in the order of their e-mail addresses.
    ListUsers {
        /// The address to start after; none for the beginning.
        after: Option<String>,
        /// The most users to list.
        limit: usize,
        /// A part of the address or the name.
        text: Option<String>,
        /// A role that the users have.
        role: Option<String>,
        /// Only disabled users.
        disabled: bool,
    },
    /// Shows one user with their sessions.
    ShowUser(UserRef),
    AddUser {
        name: String,
        email: String,
        /// None for a user who cannot log in before a password is set.
        password: Option<Secret>,
    },
    DeleteUser(UserRef),
    /// Ends all sessions of a user.
    EndSessions(UserRef),
    /// Ends the session of a user with this id.
    EndSession(UserRef, String),
    /// Exports everything that is stored about a user.
    ExportPerson(UserRef),
    /// Sets the password of a user and ends all their sessions.
    SetPassword(UserRef, Secret),
    /// Creates a code with which the user can set a password.
    CreateResetCode(UserRef),
    /// Creates a link with which the user can remove all their second factors.
    CreateFactorReset(UserRef),
    /// Ends the sessions of a user and refuses their logins.
    DisableUser(UserRef),
    EnableUser(UserRef),
    /// Forgets the failed logins on the account of a user.
    UnlockUser(UserRef),
    /// Marks the e-mail address of a user as verified or not.
    SetEmailVerified(UserRef, bool),
    GrantRole(UserRef, String),
    RevokeRole(UserRef, String),
    Invite(Invite),
    /// Lists invitations in the order of their addresses.
    ListInvitations {
        /// The address to start after; none for the beginning.
        after: Option<String>,
        /// The most invitations to list.
        limit: usize,
    },
    /// Revokes the invitation with this id or to this address.
    RevokeInvitation(String),
    /// Reads the guards from the settings file again.
    ReloadGuards,
    ListGuards,
    /// Shows how a guard decides about a user.
    CheckGuard {
        guard: String,
        user: UserRef,
        #[serde(default)]
        session: SampleSession,
        request: SampleRequest,
    },
    /// Shows what a guard lacks to sign people in with a browser.
    CheckBrowsers {
        guard: String,
    },
    /// Shows the refusal with this id and its reason.
    ShowRefusal(String),
    /// Lists failed logins and refusals of a user.
    ListRefusals(UserRef),
    /// Replaces all keys and secrets, ends all sessions and voids all links, codes and invitations.
    Emergency {
        /// Whose passwords are removed: `all`, `none`, or `role:` and a role.
        new_passwords: String,
    },
    /// Lists mail that waits or was given up, the oldest first.
    ListMail {
        /// The id of the mail to start after; none for the beginning.
        after: Option<String>,
    },
    /// Makes all mail due that waits or was given up.
    RetryMail,
    /// Reports what the server knows about itself.
    Diagnose,
    /// Announces a request with this value of the header `X-Doorward-Probe`.
    ExpectProbe(String),
    /// Shows how the announced request arrived.
    ShowProbe(String),
    /// Adds users of another system.
    ImportUsers {
        users: Vec<UserRecord>,
        /// Only finds out what would come of them.
        only_check: bool,
    },
    /// Lists imported password hashes that have not been replaced, in the order of the users' ids.
    ListImportedHashes {
        /// The id of the user to start after; none for the beginning.
        after: Option<String>,
    },
    /// Deletes the imported password hashes of the users with these ids.
    DropImportedHashes(Vec<String>),
}

/// A user by id or e-mail address, as typed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserRef(pub String);

/// A session to try a guard with.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SampleSession {
    /// How the user has proved who they are: names of [`crate::session::Method`]. By default as if they had just signed in.
    pub factors: Option<Vec<String>>,
    /// How long ago.
    pub verified_ago: Duration,
}

/// A request to try a guard with.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SampleRequest {
    /// The method; `GET` by default.
    pub method: Option<String>,
    pub host: Option<String>,
    /// The path; `/` by default.
    pub path: Option<String>,
    /// The address of the client.
    pub address: Option<IpAddr>,
}

/// The outcome of a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A page of users.
    Users {
        users: Vec<UserInfo>,
        /// The address after which the next page starts, if there may be one.
        next: Option<String>,
    },
    User(UserInfo),
    Person(Box<PersonExport>),
    /// A new invitation, and what its holder registers with unless it is mailed.
    Invited(InvitationInfo, Option<TicketInfo>),
    /// A page of invitations.
    Invitations {
        invitations: Vec<InvitationInfo>,
        /// The address after which the next page starts, if there may be one.
        next: Option<String>,
    },
    NoSuchInvitation,
    /// The number of sessions that were ended.
    SessionsEnded(usize),
    NoSuchSession,
    /// A new reset code. It cannot be read again.
    ResetCode(Secret),
    /// A new link that removes all second factors. It cannot be read again.
    FactorReset(FactorResetInfo),
    /// The command was executed.
    Done,
    Unchanged,
    Guards(Vec<GuardInfo>),
    /// The decision of a guard and its reason.
    Decision {
        admitted: bool,
        condition: String,
        warning: Option<String>,
        /// With what the user would be admitted, if they can reach it by themselves.
        #[serde(default)]
        missing: Option<Missing>,
        /// The value of each part of the condition.
        explanation: Explanation,
        /// The headers that the app gets.
        headers: Vec<ExplainedHeader>,
    },
    /// What a guard lacks to sign people in with a browser.
    Browsers(BrowserCheck),
    Refusal(Box<Refusal>),
    /// Failed logins and refusals of a user.
    Refusals(RecentRefusals),
    Emergency(EmergencyReport),
    /// A page of mail that waits or was given up.
    Mails {
        mails: Vec<MailInfo>,
        /// The id after which the next page starts, if there may be one.
        next: Option<String>,
    },
    /// The number of mails that are due now.
    MailsRetried(usize),
    Diagnosis(Box<Diagnosis>),
    /// How an announced request arrived, if it did.
    Probe(Option<Arrival>),
    Imported(Vec<ImportOutcome>),
    /// A page of imported password hashes.
    ImportedHashes {
        hashes: Vec<ImportedHashInfo>,
        /// The id after which the next page starts, if there may be one.
        next: Option<String>,
    },
    /// The number of imported password hashes that were deleted.
    HashesDropped(usize),
    NoSuchGuard,
    /// There is no such refusal in memory.
    NoSuchRefusal,
    NoSuchUser,
    /// The command failed, with the reason.
    Failed(String),
}

/// A user as an operator sees them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInfo {
    pub id: String,
    pub name: String,
    pub email: String,
    pub email_verified: bool,
    pub roles: Vec<String>,
    pub has_password: bool,
    pub disabled: bool,
    /// When the user registered.
    pub created_at: String,
    pub updated_at: String,
    pub last_login_at: Option<String>,
    /// The user's sessions, where the command asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<SessionInfo>>,
    /// The user's second factors, where the command asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Vec<FactorInfo>>,
    /// How many recovery codes the user has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<usize>,
    /// The browsers that the user trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_devices: Option<Vec<TrustedDeviceInfo>>,
}

impl UserInfo {
    /// With what the user holds besides the password.
    pub(super) fn holding(self, held: &HeldFactors) -> Self {
        Self {
            factors: Some(factor_list::factors(held)),
            recovery_codes: Some(held.recovery_codes),
            trusted_devices: Some(factor_list::trusted_devices(held)),
            ..self
        }
    }
}

/// A link that removes all second factors of a user.
#[derive(Debug, Serialize, Deserialize)]
pub struct FactorResetInfo {
    /// The link; none without pages.
    pub link: Option<Secret>,
    /// The secret in the link.
    pub secret: Secret,
}

impl From<User> for UserInfo {
    fn from(user: User) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name.as_str().to_owned(),
            email: user.email.as_str().to_owned(),
            email_verified: user.email_verified,
            roles: user.roles.iter().map(str::to_owned).collect(),
            has_password: user.password_hash.is_some(),
            disabled: user.disabled,
            created_at: user.created_at.to_string(),
            updated_at: user.updated_at.to_string(),
            last_login_at: user.last_login_at.map(|at| at.to_string()),
            sessions: None,
            factors: None,
            recovery_codes: None,
            trusted_devices: None,
        }
    }
}

/// A session as an operator sees it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub id: String,
    /// When the user signed in.
    pub created_at: String,
    /// When the session was last used, to within some minutes.
    pub last_seen_at: String,
    pub expires_at: String,
    /// The address from which the user signed in.
    pub address: String,
    /// The program with which the user signed in, as it names itself.
    pub user_agent: String,
}

impl From<Session> for SessionInfo {
    fn from(session: Session) -> Self {
        Self {
            id: session.id.to_string(),
            created_at: session.created_at.to_string(),
            last_seen_at: session.last_seen_at.to_string(),
            expires_at: session.expires_at.to_string(),
            address: session.client.address.to_string(),
            user_agent: session.client.user_agent,
        }
    }
}

/// A guard as an operator sees it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardInfo {
    pub name: String,
    pub version: String,
    /// The condition.
    pub allow: String,
    /// Whether it admits everybody and only reports refusals.
    pub only_reports: bool,
    /// The origins of its app, where people sign in with a browser.
    pub origins: Vec<String>,
    /// The headers of its app: names and expressions.
    pub headers: BTreeMap<String, String>,
    pub warning: Option<String>,
}

impl From<&Guard> for GuardInfo {
    fn from(guard: &Guard) -> Self {
        Self {
            name: guard.name.clone(),
            version: guard.version.clone(),
            allow: guard.condition.text().to_owned(),
            only_reports: guard.mode == Mode::Report,
            origins: guard.origins.iter().map(ToString::to_string).collect(),
            headers: guard
                .headers
                .expressions()
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
            warning: guard.warning(),
        }
    }
}

/// How people with a browser get to an app.
#[derive(Debug, Serialize, Deserialize)]
pub struct BrowserCheck {
    /// The URL that they are sent to.
    pub sign_in: String,
    /// The origins that they return to.
    pub origins: Vec<String>,
    /// What is missing, and what to do about it.
    pub findings: Vec<String>,
    /// What is valid but probably wrong.
    pub warnings: Vec<String>,
}

/// What `doorward emergency` has replaced and revoked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmergencyReport {
    /// The signing keys that were revoked.
    pub keys_revoked: Vec<String>,
    /// The signing keys that stay, because they are in the operator's own file.
    pub keys_in_file: Vec<String>,
    pub sessions_ended: usize,
    /// Links and codes in mails, and reset codes, that are void.
    pub codes_revoked: usize,
    /// Mails with such a link or code that waited and were deleted.
    pub mails_deleted: usize,
    pub invitations_revoked: usize,
    pub api_keys_revoked: usize,
    pub passwords_removed: usize,
}

/// A mail as an operator sees it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MailInfo {
    /// The id, which is part of its `Message-ID`.
    pub id: String,
    pub address: String,
    pub message: String,
    pub user: Option<String>,
    pub created_at: String,
    pub age_seconds: u64,
    /// When it is given up.
    pub expires_at: String,
    pub attempts: u32,
    /// When it is tried next, unless it was given up.
    pub next_attempt_at: Option<String>,
    pub given_up_at: Option<String>,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

/// What was refused to a user recently.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecentRefusals {
    /// The id of the user; none if no user has the address.
    pub user: Option<String>,
    pub disabled: bool,
    /// How many failed logins count against the account.
    pub throttle: ThrottleState,
    /// What was refused, newest first.
    pub refused: Vec<RecentRefusal>,
}

/// How many failed logins count against an account.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThrottleState {
    /// From all networks together.
    pub from_everywhere: BudgetState,
    /// From each network, and from the wider networks that contain it, on the server that answers.
    pub from_networks: Vec<NetworkBudgetState>,
}

/// The failed logins from one network that count.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkBudgetState {
    pub network: String,
    /// Whether the user has signed in from it, which gives it a budget of its own.
    pub is_known: bool,
    /// How many failed logins count.
    #[serde(flatten)]
    pub budget: BudgetState,
}

/// How much of a budget is used.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetState {
    /// The failed logins that count.
    pub used: u32,
    /// How many are allowed.
    pub size: u32,
    /// When none counts any more.
    pub recovers_at: Option<String>,
}

/// One failed login or refusal.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecentRefusal {
    /// The time, in milliseconds since 1970.
    pub time: i64,
    pub action: RefusedAction,
}

/// What a user tried to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedAction {
    /// Log in, or confirm an action with their password.
    Login { reason: String, network: String },
    /// Pass a guard.
    Guard {
        guard: String,
        /// The id that `doorward why` explains.
        decision: String,
        /// Whether the user was admitted because the guard only reports.
        only_reported: bool,
    },
}
