//! Short confirmations at the top of a page, and the words of links on message pages.

/// What just happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The person signed out.
    SignedOut,
    /// The person signed out on every device.
    SignedOutEverywhere,
    /// The session has ended elsewhere or has expired.
    SessionExpired,
    /// A new password was set with a reset code.
    PasswordReset,
    /// The name was changed.
    NameChanged,
    /// The e-mail address was changed.
    EmailChanged,
    /// The password was changed.
    PasswordChanged,
    /// Another session was ended.
    SessionEnded,
}

/// Where the link of a message page leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTo<'a> {
    /// The start page of Doorward.
    Start,
    /// The same page once more.
    TryAgain,
    /// The start page of this app.
    App(&'a str),
}
