//! What a mail says. Everything in it is stored in the outbox, so no message contains a secret: links and codes are
//! derived from the id of the one-time secret when the mail is sent.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{
    credential::factor::FactorKind,
    token::{cookie::MailedTarget, one_time::OneTimeId},
};

/// What a mail says. None contains a text that a stranger has chosen, such as a name: the address may be anybody's. A `target`
/// is where the link leads back to: a URL of an app, within the origins of its guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A link that verifies the address of a new user.
    VerifyEmail {
        one_time: OneTimeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<MailedTarget>,
    },
    /// A link that makes this the address of a user.
    ChangeEmail { one_time: OneTimeId },
    /// To the old address: the user has another one now. A link takes it back.
    EmailChanged { one_time: OneTimeId },
    /// A link with which the user sets a new password.
    ResetPassword {
        one_time: OneTimeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<MailedTarget>,
    },
    /// A link and a code that sign in.
    SignIn {
        one_time: OneTimeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<MailedTarget>,
    },
    /// Somebody asked for a code to sign in, but this user has a password.
    HasPassword,
    /// Somebody tried to register the address of this user, or to change theirs to it.
    AlreadyRegistered,
    /// An invitation, by the operator or by the user with this address.
    Invitation {
        one_time: OneTimeId,
        /// The address of the user who invites.
        invited_by: Option<String>,
        /// Until when it is valid, in milliseconds since 1970. Mails of version 0.1.0 do not say it.
        #[serde(default)]
        expires_at: Option<i64>,
    },
    /// A sign-in from a new device or network.
    NewSignIn {
        /// The `User-Agent` header.
        user_agent: String,
        /// Where it came from.
        address: IpAddr,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    PasswordChanged {
        /// When, in milliseconds since 1970.
        at: i64,
    },
    SessionsEnded {
        by: EndedBy,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    AccountDeleted {
        by: DeletedBy,
        /// For how many days the audit trail keeps what happened to the account; `None` is for ever. Mail of an older version lacks it.
        #[serde(default)]
        kept_days: Option<u32>,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    FactorAdded {
        kind: FactorKind,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    FactorRemoved {
        kind: FactorKind,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The user has made new recovery codes.
    RecoveryCodesReplaced {
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// Somebody has signed in with a recovery code.
    RecoveryCodeUsed {
        /// How many codes the user has now.
        left: usize,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The password was right and the second factor wrong, so nobody was signed in.
    FactorRefused {
        /// The `User-Agent` header.
        user_agent: String,
        /// Where it came from.
        address: IpAddr,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The operator's link has removed all second factors.
    FactorsReset {
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The operator has made a link that removes all second factors. The link is not in the mail.
    FactorResetLink {
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The user has made an API key. Its name is not in the mail.
    KeyCreated {
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// A code that proves the address to whoever has signed in at another provider.
    ProveAddress {
        one_time: OneTimeId,
        /// What the login is called.
        login: String,
    },
    /// An account at another provider signs the user in.
    IdentityLinked {
        /// What the login is called.
        login: String,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// An account at another provider does not sign the user in any more.
    IdentityUnlinked {
        /// What the login is called.
        login: String,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The operator has ended everything by which somebody could be in the account. A link with which the user sets a new password.
    AccountSecured {
        one_time: OneTimeId,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The operator has ended everything that a copy of the data could be used for, also the password. A link with which the user
    /// sets a new one.
    PasswordRemoved {
        one_time: OneTimeId,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// Nothing: the mail is discarded. It is queued for an address without a user, so that the answer takes as long as for
    /// one with a user.
    Nothing,
}

impl Message {
    /// Lets the link of the message lead back to an app.
    pub fn leading_to(mut self, to: Option<&MailedTarget>) -> Self {
        if let Self::VerifyEmail { target, .. }
        | Self::ResetPassword { target, .. }
        | Self::SignIn { target, .. } = &mut self
        {
            *target = to.cloned();
        }
        self
    }

    /// Who waits for it.
    pub fn urgency(&self) -> Urgency {
        match self {
            // One that says nothing takes the place of one that a person has asked for.
            Self::ResetPassword { .. }
            | Self::AccountSecured { .. }
            | Self::PasswordRemoved { .. }
            | Self::SignIn { .. }
            | Self::ProveAddress { .. }
            | Self::HasPassword
            | Self::Nothing => Urgency::SignIn,
            Self::VerifyEmail { .. } | Self::ChangeEmail { .. } | Self::AlreadyRegistered => {
                Urgency::Verification
            }
            Self::Invitation { .. } => Urgency::Invitation,
            Self::EmailChanged { .. }
            | Self::NewSignIn { .. }
            | Self::PasswordChanged { .. }
            | Self::SessionsEnded { .. }
            | Self::AccountDeleted { .. }
            | Self::FactorAdded { .. }
            | Self::FactorRemoved { .. }
            | Self::RecoveryCodesReplaced { .. }
            | Self::RecoveryCodeUsed { .. }
            | Self::FactorRefused { .. }
            | Self::FactorsReset { .. }
            | Self::FactorResetLink { .. }
            | Self::IdentityLinked { .. }
            | Self::IdentityUnlinked { .. }
            | Self::KeyCreated { .. } => Urgency::Notice,
        }
    }

    /// A name for operators, as it is stored.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::VerifyEmail { .. } => "verify_email",
            Self::ChangeEmail { .. } => "change_email",
            Self::EmailChanged { .. } => "email_changed",
            Self::ResetPassword { .. } => "reset_password",
            Self::SignIn { .. } => "sign_in",
            Self::HasPassword => "has_password",
            Self::AlreadyRegistered => "already_registered",
            Self::Invitation { .. } => "invitation",
            Self::NewSignIn { .. } => "new_sign_in",
            Self::PasswordChanged { .. } => "password_changed",
            Self::SessionsEnded { .. } => "sessions_ended",
            Self::AccountDeleted { .. } => "account_deleted",
            Self::FactorAdded { .. } => "factor_added",
            Self::FactorRemoved { .. } => "factor_removed",
            Self::RecoveryCodesReplaced { .. } => "recovery_codes_replaced",
            Self::RecoveryCodeUsed { .. } => "recovery_code_used",
            Self::FactorRefused { .. } => "factor_refused",
            Self::FactorsReset { .. } => "factors_reset",
            Self::FactorResetLink { .. } => "factor_reset_link",
            Self::KeyCreated { .. } => "key_created",
            Self::ProveAddress { .. } => "prove_address",
            Self::IdentityLinked { .. } => "identity_linked",
            Self::IdentityUnlinked { .. } => "identity_unlinked",
            Self::AccountSecured { .. } => "account_secured",
            Self::PasswordRemoved { .. } => "password_removed",
            Self::Nothing => "nothing",
        }
    }
}

/// Who waits for a mail. Mail of an earlier kind is sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A person waits for it to sign in.
    SignIn,
    /// A person waits for it to prove an address.
    Verification,
    Invitation,
    Notice,
}

/// Who has deleted an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletedBy {
    User,
    Operator,
}

/// Why sessions have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// A replaced token was used again, so somebody else may have had it.
    Reuse,
    Operator,
}
