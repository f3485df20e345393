//! The page with the second factors of a person.

use askama::Template;

use super::{
    super::text::{FormProblem, LinkTo, Notice, Span, Texts},
    PageContext, SCRIPT,
    field::Summary,
    logins::LoginButton,
    passkey_button::{Signal, SignalElement},
};
use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    session::device::Device,
    user::{Identity, Passkey, StoredTotp, TrustedDevice},
};

/// The most trusted browsers on the page, which has to stay small.
const MAX_DEVICE_ROWS: usize = 4;

/// The page with the second factors of a person.
#[derive(Clone, Template)]
#[template(path = "security.html", whitespace = "minimize")]
pub struct Security<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    /// The title of the app that asks for a second factor.
    pub app: Option<&'a str>,
    /// Whether nothing but a passkey or a security key is enough for it.
    pub needs_passkey: bool,
    /// The title of the app that the person can go on to.
    pub go_on: Option<&'a str>,
    /// The return target, passed on to the pages that set a factor up.
    pub target: Option<&'a str>,
    /// Whether the person has just proved who they are, and may change something.
    pub is_fresh: bool,
    pub offers_passkeys: bool,
    /// Whether passkeys are not offered only because of the address of the site.
    pub lacks_passkeys: bool,
    pub offers_totp: bool,
    /// Whether there are keys, or apps that take them.
    pub has_keys: bool,
    pub passkeys: &'a [Passkey],
    /// The authenticator app.
    pub totp: Option<&'a StoredTotp>,
    /// The number that is left.
    pub recovery_codes: usize,
    /// The browsers that the person trusts, the oldest first.
    pub devices: &'a [TrustedDevice],
    /// The accounts at other providers that sign the person in, and what their logins are called.
    pub identities: &'a [Identity],
    pub labels: &'a [String],
    /// The logins that can be linked.
    pub logins: &'a [LoginButton],
    pub signal: Option<Signal<'a>>,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
}

/// A trusted browser in words.
struct Row<'a> {
    device: &'a TrustedDevice,
    name: String,
    until: String,
}

impl Security<'_> {
    fn summary(&self) -> Summary {
        Summary::of(self.page.texts(), &self.problem, &mut [], None)
    }

    /// What the app asks for.
    fn app_asks(&self) -> Option<String> {
        let f = &self.page.texts().factors;
        self.app.map(|app| match self.needs_passkey {
            true => f.app_asks_for_passkey(app),
            false => f.app_asks(app),
        })
    }

    /// The query of the page on which the person proves who they are.
    fn step_up(&self) -> String {
        let query = PageContext::query(self.target).replacen('?', "&", 1);
        let ask = if self.needs_passkey { "%3Fask%3Dphr" } else { "" };
        format!("{ask}{query}")
    }

    /// When the authenticator app was set up and used.
    fn totp_in_words(&self) -> Option<String> {
        let StoredTotp { created_at, last_used_at, .. } = self.totp?;
        Some(in_words(self.page.texts(), *created_at, *last_used_at, self.now))
    }

    /// The browsers that the page shows, the latest first.
    fn device_rows(&self) -> impl Iterator<Item = Row<'_>> {
        let t = self.page.texts();
        self.devices.iter().rev().take(MAX_DEVICE_ROWS).map(move |device| Row {
            device,
            name: Device::of(&device.client.user_agent).in_words(t.language),
            until: t.factors.trusted_until(&t.language.moment(device.expires_at.millis())),
        })
    }

    /// The accounts at other providers: each with the name of its login, and when it was linked and used.
    fn identity_rows(&self) -> impl Iterator<Item = (&Identity, &str, String)> {
        let t = self.page.texts();
        self.identities.iter().zip(self.labels).map(|(identity, label)| {
            let times = in_words(t, identity.created_at, identity.last_used_at, self.now);
            (identity, label.as_str(), times)
        })
    }

    fn has_more_devices(&self) -> bool {
        self.devices.len() > MAX_DEVICE_ROWS
    }

    fn has_factor(&self) -> bool {
        !self.passkeys.is_empty() || self.totp.is_some()
    }
}

/// What kind of passkey it is, and when it was added and used.
pub(super) fn passkey_in_words(passkey: &Passkey, t: &Texts, now: Timestamp) -> String {
    let f = &t.factors;
    let times = in_words(t, passkey.created_at, passkey.last_used_at, now);
    match (passkey.kind(), passkey.backed_up) {
        (FactorKind::SecurityKey, _) => format!("{}, {times}", f.key),
        (_, true) => format!("{}, {}, {times}", f.passkey, f.is_synced),
        (_, false) => format!("{}, {}, {times}", f.passkey, f.is_on_device),
    }
}

fn in_words(t: &Texts, created: Timestamp, used: Option<Timestamp>, now: Timestamp) -> String {
    let ago = |then| t.ago(Span::between(then, now));
    let used = match used {
        Some(used) => t.factors.used(&ago(used)),
        None => t.factors.never_used.into(),
    };
    format!("{}, {used}", t.factors.added(&ago(created)))
}
