//! Short confirmations at the top of a page, and the words of links on message pages.

/// What just happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    SignedOut,
    SignedOutEverywhere,
    /// The session has ended elsewhere or has expired.
    SessionExpired,
    /// A new password was set with a reset code.
    PasswordReset,
    FactorsReset,
    NameChanged,
    EmailChanged,
    PasswordChanged,
    /// Another session was ended.
    SessionEnded,
    /// A mail was asked for. Whether it is sent must not be told.
    MailSent,
    /// The mail that verifies the address was sent again.
    VerificationSent,
    EmailVerified,
    /// A mail was sent to the new address.
    EmailPending,
    /// The new address was discarded.
    EmailChangeCancelled,
    /// A change of the address was undone, and a new password was set.
    EmailRestored,
    Invited,
    InvitationRevoked,
    /// An API key was revoked.
    KeyRevoked,
    /// A second factor came too late.
    AnswerExpired,
    /// The person has proved once more who they are.
    Confirmed,
    /// The person has signed in with a recovery code.
    Recovered,
    PasskeyAdded,
    KeyAdded,
    /// An authenticator app was set up.
    AppAdded,
    PasskeyRenamed,
    /// A passkey, a security key or an authenticator app was removed.
    FactorRemoved,
    /// A browser is no longer trusted.
    DeviceRemoved,
}

/// Where the link of a message page leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTo<'a> {
    /// The start page of Doorward.
    Start,
    /// The same page once more.
    TryAgain,
    SignIn,
    Account,
    Administration,
    /// The page that sends another mail.
    NewMail,
    /// The page to create an account with the code of an invitation.
    InvitationCode,
    /// The start page of this app.
    App(&'a str),
    /// The URL that the person asked for in this app.
    ContinueTo(&'a str),
}
