//! The page with the second factors of a person.

use askama::Template;

use super::{
    super::text::{FactorTexts, FormError, LinkTo, Notice, Span, Texts},
    PageContext, SCRIPT,
    field::Summary,
    html,
    passkey_button::{Signal, SignalElement},
};
use crate::{clock::Timestamp, session::device::Device};

/// The most trusted browsers on the page, which has to stay small.
pub const MAX_DEVICE_ROWS: usize = 6;

/// The page with the second factors of a person.
#[derive(Clone)]
pub struct Security<'a> {
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
    pub passkeys: Vec<PasskeyRow<'a>>,
    /// When the authenticator app was set up, and when it was used last.
    pub totp: Option<(Timestamp, Option<Timestamp>)>,
    /// The number that is left.
    pub recovery_codes: usize,
    pub devices: Vec<DeviceRow<'a>>,
    pub has_more_devices: bool,
    pub signal: Option<Signal<'a>>,
    pub notice: Option<Notice>,
    pub error: Option<FormError>,
}

/// A passkey or a security key.
#[derive(Clone)]
pub struct PasskeyRow<'a> {
    pub id: String,
    pub name: &'a str,
    pub is_key: bool,
    pub is_synced: bool,
    pub created: Timestamp,
    pub last_used: Option<Timestamp>,
}

/// A browser that the person trusts.
#[derive(Clone)]
pub struct DeviceRow<'a> {
    pub id: String,
    pub user_agent: &'a str,
    pub address: String,
    pub expires: Timestamp,
}

/// A trusted browser in words.
struct Row<'a> {
    device: &'a DeviceRow<'a>,
    name: String,
    until: String,
}

#[derive(Template)]
#[template(path = "security.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    view: &'a Security<'a>,
    notice: Option<&'static str>,
    summary: Summary,
    query: String,
    app_asks: Option<String>,
    go_on: Option<String>,
    /// The query of the page on which the person proves who they are.
    step_up: String,
    totp: Option<String>,
    devices: Vec<Row<'a>>,
    signal: Option<SignalElement<'a>>,
}

impl Security<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let query = PageContext::query(self.target);
        html(&Html {
            page,
            t,
            f: &t.factors,
            view: self,
            notice: self.notice.map(t.notice),
            summary: Summary::of(t, self.error, &mut [], None),
            app_asks: self.app.map(match self.needs_passkey {
                true => t.factors.app_asks_for_passkey,
                false => t.factors.app_asks,
            }),
            go_on: self.go_on.map(|app| (t.link)(LinkTo::ContinueTo(app))),
            step_up: match self.needs_passkey {
                true => format!("%3Fask%3Dphr{}", query.replacen('?', "&", 1)),
                false => query.replacen('?', "&", 1),
            },
            query,
            totp: self.totp.map(|(created, used)| in_words(t, created, used, self.now)),
            devices: self.devices.iter().map(|device| Row::new(device, t)).collect(),
            signal: self.signal.map(SignalElement::from),
        })
    }

    fn has_factor(&self) -> bool {
        !self.passkeys.is_empty() || self.totp.is_some()
    }
}

impl PasskeyRow<'_> {
    /// What kind it is, and when it was added and used.
    pub(super) fn in_words(&self, t: &Texts, now: Timestamp) -> String {
        let f = &t.factors;
        let kind = if self.is_key { f.key } else { f.passkey };
        let place = if self.is_synced { f.is_synced } else { f.is_on_device };
        let place = if self.is_key { String::new() } else { format!("{place}, ") };
        format!("{kind}, {place}{}", in_words(t, self.created, self.last_used, now))
    }
}

fn in_words(t: &Texts, created: Timestamp, used: Option<Timestamp>, now: Timestamp) -> String {
    let ago = |then| (t.ago)(Span::between(then, now));
    let used = match used {
        Some(used) => (t.factors.used)(&ago(used)),
        None => t.factors.never_used.into(),
    };
    format!("{}, {used}", (t.factors.added)(&ago(created)))
}

impl<'a> Row<'a> {
    fn new(device: &'a DeviceRow<'a>, t: &Texts) -> Self {
        Self {
            device,
            name: Device::of(device.user_agent).in_words(t.language),
            until: (t.factors.trusted_until)(&t.language.moment(device.expires.millis())),
        }
    }
}
