//! What a signed-in person is asked to prove, and which page they return to.

use super::return_target::{AppTarget, with_target};
use crate::{Caller, Doorward, access::guard::Ask, account::proof::is_fresh};

/// The page.
pub(super) const STEP_UP: &str = "/step-up";

/// The pages that people can return to besides an app and the administration. Anything else in a URL is ignored.
const PAGES: [&str; 6] = [
    "/account",
    "/account/keys",
    "/account/security",
    "/account/security/passkey",
    "/account/security/key",
    "/account/security/totp",
];

/// What a signed-in person is asked for.
pub(super) struct StepUp {
    pub(super) ask: Ask,
    /// The page of ours that they return to. Otherwise it is the app.
    pub(super) next: Option<String>,
}

/// Whether a path is one below `/admin`, without a query.
fn is_of_administration(path: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let below = path.strip_prefix("/admin");
    below.is_some_and(|below| {
        below.is_empty()
            || below.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_plain))
    })
}

impl StepUp {
    pub(super) fn new(ask: Option<String>, next: Option<String>) -> Self {
        let asked = [Ask::TwoFactors, Ask::PhishingResistant]
            .into_iter()
            .find(|asked| ask.as_deref() == Some(asked.name()));
        let ask = asked.unwrap_or(Ask::Again);
        let next = next.filter(|next| PAGES.contains(&&**next) || is_of_administration(next));
        Self { ask, next }
    }

    /// Whether nothing but a passkey or a security key is enough.
    pub(super) fn needs_passkey(&self) -> bool {
        self.ask == Ask::PhishingResistant
    }

    /// This page once more.
    pub(super) fn path(&self, app: Option<&AppTarget>) -> String {
        let next = self.next.as_ref().map(|next| format!("&next={}", next.replace('/', "%2F")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_pages_are_returned_to() {
        let kept = |next: &str| StepUp::new(None, Some(next.into())).next.is_some();
        for next in ["/account", "/admin", "/admin/users/0-f", "/admin/guards/staff"] {
            assert!(kept(next), "{next}");
        }
        for next in [
            "",
            "/",
            "/administer",
            "/admin//evil.example",
            "/admin/\\evil.example",
            "/admin/..",
            "/admin/users?done=deleted",
            "//admin",
            "/account/keys/x",
            "https://evil.example/admin",
        ] {
            assert!(!kept(next), "{next}");
        }
    }
}
