//! The page on which a person who signs up makes a passkey.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::text::{FactorTexts, FormError, Texts},
    InvitationEntry, KEPT, PageContext, SCRIPT,
    field::Summary,
    html,
    passkey_button::{NoScript, PasskeyButton, Signal, SignalElement},
};

/// The page on which a person who signs up makes a passkey. It passes on what they have typed before.
#[derive(Clone, Copy, Default)]
pub struct SignUpPasskey<'a> {
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
    pub error: Option<FormError>,
}

#[derive(Template)]
#[template(path = "sign_up_passkey.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    words: String,
    path: &'static str,
    summary: Summary,
    /// Names and values.
    hidden: Vec<(&'static str, &'a str)>,
    button: PasskeyButton<'a>,
    no_script: NoScript,
    signal: Option<SignalElement<'a>>,
    /// The query of the form that this page follows.
    query: String,
}

impl SignUpPasskey<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let (f, path) = (&t.factors, "/sign-up/passkey");
        let button = PasskeyButton::new(page, path, self.options, f.create_passkey);
        html(&Html {
            page,
            t,
            f,
            words: (f.passkey_of)(self.email),
            path,
            summary: Summary::of(t, self.error, &mut [], None),
            hidden: self.hidden(),
            button,
            no_script: NoScript::new(t),
            signal: self.signal.map(SignalElement::from),
            query: self.query(),
        })
    }

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
