//! The messages that are a page of their own.

use std::time::Duration;

/// A message that fills a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The request is malformed (400).
    BadRequest,
    /// The action needs a sign-in that is not long ago (401).
    SignInAgain,
    /// An app needs a sign-in that is not long ago, from somebody who signs in by mail (200).
    SignInAgainForApp,
    /// A form was sent from another site (403).
    CrossSite,
    /// The administrator lacks the scope of the page (403).
    NotPermitted,
    /// The app's host has no try cookie: the browser keeps none (403).
    NoCookie,
    /// The sign-in code was used, has expired or is not valid (403).
    LinkUsed,
    /// There is no such page (404).
    NotFound,
    /// The refusal is unknown or no longer kept (404).
    UnknownDecision,
    /// The page does not support the method (405).
    MethodNotAllowed,
    /// The person was admitted while the form was on its way, and the app did not get it (409).
    FormNotSent,
    /// The request took too long to arrive (408).
    TooSlow,
    /// The form has more bytes than allowed (413).
    TooLarge,
    /// The body is not a form (415).
    NotAForm,
    /// Cookies need HTTPS, and this address has none (421).
    HttpsNeeded,
    /// Too many requests (429).
    Throttled(Duration),
    /// A bug, or a damaged database (500).
    Internal,
    /// A temporary internal failure (503).
    Unavailable,
    /// What stays of it in the audit trail, and for so many days; `None` is for ever.
    AccountDeleted {
        kept_days: Option<u32>,
    },
    /// The service sends no mail (501).
    NeedsMail,
    /// The link that confirms an address was used, has expired or is not valid (410).
    VerifyLinkDead,
    /// The link that undoes a change of the address was used, has expired or is not valid (410).
    RestoreLinkDead,
    FactorResetLinkDead,
    /// The link that sets a new password was used, has expired or is not valid (410).
    ResetLinkDead,
    /// The link that signs in was used, has expired or is not valid (410).
    SignInLinkDead,
    /// The invitation was used or revoked, has expired or is not valid (410).
    InvitationDead,
    /// Nobody can register.
    SignUpClosed,
    /// Only people with an invitation can register.
    SignUpInvited,
    /// The owner of the address gets a mail.
    SignUpMailed,
    /// A person who is not signed in here has confirmed their address.
    EmailVerified,
}

/// The words of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct MessageText {
    /// What happened.
    pub heading: &'static str,
    /// What the person can do.
    pub explanation: String,
}

impl MessageText {
    /// A message without parameters.
    pub fn new(heading: &'static str, explanation: &str) -> Self {
        Self { heading, explanation: explanation.to_owned() }
    }
}
