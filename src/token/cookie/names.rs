//! The names of cookies. On HTTPS they have the prefix `__Host-`, so a host has its own. Plain HTTP is for loopback hosts only:
//! cookies know no ports there, and one machine may run several installations, so the names carry something of theirs.

use std::{borrow::Cow, fmt::Write as _, ops::Deref, sync::Arc};

use super::sealer::derive;
use crate::token::shared_secret::SharedSecret;

/// The names of cookies on an origin.
#[derive(Debug, PartialEq, Eq)]
pub struct CookieNames {
    /// The cookie of Doorward's own pages, which names the session.
    pub session: Cow<'static, str>,
    /// The cookie on the host of an app, which names the session.
    pub app: Cow<'static, str>,
    /// The cookie of Doorward's own pages in a browser that its user trusts.
    pub device: Cow<'static, str>,
    /// The start of the names of try cookies, which tell attempts to sign in to an app apart. One for each attempt that
    /// began while the browser had none: several tabs may begin at once.
    pub attempt: Cow<'static, str>,
    /// Whether the cookies are sent over HTTPS only.
    pub is_secure: bool,
}

static HTTPS: CookieNames = CookieNames {
    session: Cow::Borrowed("__Host-doorward"),
    app: Cow::Borrowed("__Host-doorward-app"),
    device: Cow::Borrowed("__Host-doorward-device"),
    attempt: Cow::Borrowed("__Host-doorward-try-"),
    is_secure: true,
};

/// The bytes of an installation in its names.
const INSTALLATION_BYTES: usize = 4;

impl CookieNames {
    /// The names on plain HTTP. All instances of a database have this secret, so they share their cookies.
    pub(super) fn on_http(secret: &SharedSecret) -> Arc<Self> {
        let installation = derive::<INSTALLATION_BYTES>(secret, "cookie names");
        let hex = installation.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Self::of_installation(&hex)
    }

    /// The names on plain HTTP of a service in memory, which has another secret after each start.
    pub(super) fn on_port(port: u16) -> Arc<Self> {
        Self::of_installation(&port.to_string())
    }

    fn of_installation(installation: &str) -> Arc<Self> {
        Arc::new(Self {
            session: format!("doorward-session-{installation}").into(),
            app: format!("doorward-app-{installation}").into(),
            device: format!("doorward-device-{installation}").into(),
            attempt: format!("doorward-try-{installation}-").into(),
            is_secure: false,
        })
    }
}

/// Whether a cookie with this name is one of Doorward, of this installation or another. Proxies remove these cookies before the
/// app: `deploy/` has the same names. Version 0.1.0 had names without an installation.
pub fn is_doorwards(name: &[u8]) -> bool {
    let kind = |rest: &[u8]| {
        let kind = rest.split(|b| *b == b'-').next().unwrap_or_default();
        [&b"session"[..], b"app", b"device", b"try"].contains(&kind)
    };
    name == b"doorward"
        || name.strip_prefix(b"doorward-").is_some_and(kind)
        || name.starts_with(HTTPS.session.as_bytes())
}

/// The names that are in force on an origin.
#[derive(Debug)]
pub enum NamesInForce {
    Https,
    Http(Arc<CookieNames>),
}

impl Deref for NamesInForce {
    type Target = CookieNames;

    fn deref(&self) -> &CookieNames {
        match self {
            Self::Https => &HTTPS,
            Self::Http(names) => names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::cookie::CookieMint;

    #[test]
    fn names_on_http_are_those_of_the_secret_and_differ_from_others() {
        let (secret, other) = (SharedSecret::random(), SharedSecret::random());
        let (names, others) = (CookieNames::on_http(&secret), CookieNames::on_http(&other));
        assert_eq!(names, CookieNames::on_http(&secret), "after a restart, on another instance");
        let all = |names: &CookieNames| {
            [&names.session, &names.app, &names.device, &names.attempt].map(ToString::to_string)
        };
        for (name, other) in all(&names).into_iter().zip(all(&others)) {
            assert_ne!(name, other);
            assert!(is_doorwards(name.as_bytes()) && is_doorwards(other.as_bytes()), "{name}");
        }
        assert!(names.session.len() == "doorward-session-".len() + 8 && !names.is_secure);
    }

    #[test]
    fn names_of_a_port_are_the_same_after_every_start() {
        let mint = CookieMint::new(&SharedSecret::random());
        mint.name_after_port(3000);
        mint.replace_secret(&SharedSecret::random());
        let names = mint.names(false);
        assert_eq!(names.session, "doorward-session-3000");
        assert!(names.attempt.starts_with("doorward-try-3000"));
        assert!(is_doorwards(names.session.as_bytes()));
        assert_eq!(mint.names(true).session, HTTPS.session);
    }

    #[test]
    fn a_name_that_only_looks_similar_is_the_apps() {
        for name in [
            "doorward",
            "doorward-app",
            "doorward-try-1",
            "__Host-doorward",
            "__Host-doorward-try-a",
        ] {
            assert!(is_doorwards(name.as_bytes()), "{name}");
        }
        for name in [
            "Doorward",
            "doorward-",
            "doorward-apple",
            "doorward-devices",
            "doorward2",
            "xdoorward",
            "",
        ] {
            assert!(!is_doorwards(name.as_bytes()), "{name}");
        }
    }
}
