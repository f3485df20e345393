//! What a signed-in person is asked to prove, and which page they return to.

use form_urlencoded::byte_serialize;

use super::{
    return_target::{AppTarget, with_target},
    text::Before,
};
use crate::{Caller, Doorward, access::guard::Ask, account::proof::is_fresh};

/// The page.
pub(super) const STEP_UP: &str = "/step-up";

/// The account with the form that changes the address.
pub(super) const EMAIL: &str = "/account?open=email";
/// The account at the form that changes the password.
pub(super) const PASSWORD: &str = "/account?open=password";
/// The account with the form that deletes it.
pub(super) const DELETE: &str = "/account?open=delete";
/// The second factors of somebody whom an app asks for a passkey.
pub(super) const SECURITY_FOR_PASSKEY: &str = "/account/security?ask=phr";

/// The pages that people can return to besides an app and the administration, and what they do there. Anything else in a URL
/// is ignored.
const PAGES: [(&str, Before); 11] = [
    ("/account", Before::Account),
    (EMAIL, Before::Email),
    (PASSWORD, Before::Password),
    (DELETE, Before::Delete),
    ("/account/keys", Before::Keys),
    ("/account/security", Before::Factors),
    (SECURITY_FOR_PASSKEY, Before::Factors),
    ("/account/security/passkey", Before::Passkey),
    ("/account/security/key", Before::SecurityKey),
    ("/account/security/totp", Before::App),
    ("/account/security/link", Before::Factors),
];

/// What people do on the page that they return to. `None` if they cannot return there.
fn before(next: &str) -> Option<Before> {
    let listed = PAGES.iter().find(|(page, _)| *page == next).map(|(_, before)| *before);
    listed.or(is_of_administration(next).then_some(Before::Administration))
}

/// The path of the page on which a person proves once more who they are, and returns from to the page `next`.
pub(super) fn way_to(next: &str) -> String {
    format!("{STEP_UP}?next={}", byte_serialize(next.as_bytes()).collect::<String>())
}

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
        let next = next.filter(|next| before(next).is_some());
        Self { ask, next }
    }

    /// Whether nothing but a passkey or a security key is enough.
    pub(super) fn needs_passkey(&self) -> bool {
        self.ask == Ask::PhishingResistant
    }

    /// What they are about to do on a page of ours.
    pub(super) fn before(&self) -> Option<Before> {
        self.next.as_deref().and_then(before)
    }

    /// This page once more.
    pub(super) fn path(&self, app: Option<&AppTarget>) -> String {
        let path = match &self.next {
            Some(next) => format!("{}&ask={}", way_to(next), self.ask.name()),
            None => format!("{STEP_UP}?ask={}", self.ask.name()),
        };
        with_target(&path, app)
    }

    /// The page of ours that they return to, which says that they have proved it. One with a form is shown at that form.
    pub(super) fn way_back(&self, app: Option<&AppTarget>) -> Option<String> {
        let next = self.next.as_deref()?;
        let (join, form) = match next.split_once('?') {
            Some((_, query)) => ('&', query.strip_prefix("open=")),
            None => ('?', None),
        };
        let path = with_target(&format!("{next}{join}done=confirmed"), app);
        Some(form.map_or(path.clone(), |form| format!("{path}#{form}")))
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
        for next in ["/account", EMAIL, "/admin", "/admin/users/0-f", "/admin/guards/staff"] {
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
            "/account?open=name",
            "/account?open=email&done=deleted",
            "https://evil.example/admin",
        ] {
            assert!(!kept(next), "{next}");
        }
    }
    #[test]
    fn people_return_to_the_form_that_they_came_from() {
        let way_back = |next: &str| StepUp::new(None, Some(next.into())).way_back(None).unwrap();
        assert_eq!(way_back("/account/keys"), "/account/keys?done=confirmed");
        assert_eq!(way_back(EMAIL), "/account?open=email&done=confirmed#email");
        let security = "/account/security?ask=phr&done=confirmed";
        assert_eq!(way_back(SECURITY_FOR_PASSKEY), security);
        assert_eq!(way_to(EMAIL), "/step-up?next=%2Faccount%3Fopen%3Demail");
    }
}
