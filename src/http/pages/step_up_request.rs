//! What a signed-in person is asked to prove, and which page they return to.

use super::return_target::{AppTarget, with_target};
use crate::{Caller, Doorward, access::guard::Ask, account::proof::is_fresh};

/// The page.
pub(super) const STEP_UP: &str = "/step-up";

/// The pages that people can return to besides an app. Anything else in a URL is ignored.
const PAGES: [&str; 5] = [
    "/account",
    "/account/security",
    "/account/security/passkey",
    "/account/security/key",
    "/account/security/totp",
];

/// What a signed-in person is asked for.
pub(super) struct StepUp {
    pub(super) ask: Ask,
    /// The page of ours that they return to. Otherwise it is the app.
    pub(super) next: Option<&'static str>,
}

impl StepUp {
    pub(super) fn new(ask: Option<String>, next: Option<String>) -> Self {
        let asked = [Ask::TwoFactors, Ask::PhishingResistant]
            .into_iter()
            .find(|asked| ask.as_deref() == Some(asked.name()));
        let ask = asked.unwrap_or(Ask::Again);
        let next = PAGES.into_iter().find(|page| next.as_deref() == Some(page));
        Self { ask, next }
    }

    /// Whether nothing but a passkey or a security key is enough.
    pub(super) fn needs_passkey(&self) -> bool {
        self.ask == Ask::PhishingResistant
    }

    /// This page once more.
    pub(super) fn path(&self, app: Option<&AppTarget>) -> String {
        let next = self.next.map(|next| format!("&next={}", next.replace('/', "%2F")));
        let next = next.unwrap_or_default();
        with_target(&format!("{STEP_UP}?ask={}{next}", self.ask.name()), app)
    }

    /// Whether the session has proved it.
    pub(super) fn is_met(&self, doorward: &Doorward, caller: &Caller, has_app: bool) -> bool {
        let session = &caller.session;
        if self.next.is_some() || !has_app {
            return is_fresh(doorward, &caller.user, session);
        }
        self.ask.is_met_by(session, doorward.now())
    }

    /// Whether the user holds what is asked for.
    pub(super) fn can_be_met(&self, caller: &Caller) -> bool {
        match self.ask {
            Ask::Again => true,
            Ask::TwoFactors => !caller.user.factors.is_empty(),
            Ask::PhishingResistant => caller.user.factors.resist_phishing(),
        }
    }
}
