//! The page on which a person who signs up makes a passkey.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::text::FormProblem,
    InvitationEntry, KEPT, PageContext, SCRIPT,
    field::Summary,
    passkey_button::{NoScript, PasskeyButton, Signal, SignalElement},
};

/// The page on which a person who signs up makes a passkey. It passes on what they have typed before.
#[derive(Clone, Template)]
#[template(path = "sign_up_passkey.html", whitespace = "minimize")]
pub struct SignUpPasskey<'a> {
    pub page: PageContext<'a>,
    /// What the browser is asked to make, as JSON.
    pub options: &'a str,
    /// What the answer is sent with.
    pub setup: &'a str,
    pub name: &'a str,
    pub email: &'a str,
    pub invitation: Option<InvitationEntry<'a>>,
    /// Whether "stay signed in" is chosen.
    pub stay: bool,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    pub signal: Option<Signal<'a>>,
    pub problem: FormProblem,
}

impl SignUpPasskey<'_> {
    const PATH: &'static str = "/sign-up/passkey";

    fn summary(&self) -> Summary {
        Summary::of(self.page.texts(), &self.problem, &mut [], None)
    }

    fn button(&self) -> PasskeyButton<'_> {
        let label = self.page.texts().factors.create_passkey;
        PasskeyButton::new(&self.page, Self::PATH, self.options, label)
    }

    /// Names and values.
    fn hidden(&self) -> Vec<(&'static str, &str)> {
        let (secret, link, typed) = match self.invitation {
            Some(InvitationEntry::Link(secret)) => (Some(secret), Some("1"), None),
            Some(InvitationEntry::Typed(code)) => (Some(code), None, Some("1")),
            Some(InvitationEntry::Optional(code)) => (Some(code), None, None),
            None => (None, None, None),
        };
        let fields = [
            ("for", self.target),
            ("setup", Some(self.setup)),
            ("name", Some(self.name)),
            ("email", Some(self.email)),
            ("invitation", secret.filter(|secret| !secret.is_empty())),
            ("link", link),
            ("typed", typed),
            ("stay", self.stay.then_some("1")),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The way back, with the invitation of a link.
    fn query(&self) -> String {
        let query = PageContext::query(self.target);
        match self.invitation {
            Some(InvitationEntry::Link(secret)) => {
                let rest = query.replacen('?', "&", 1);
                format!("?invitation={}{rest}", utf8_percent_encode(secret, KEPT))
            }
            Some(InvitationEntry::Typed(_)) => {
                format!("?invitation={}", query.replacen('?', "&", 1))
            }
            Some(InvitationEntry::Optional(_)) | None => query,
        }
    }
}
