//! Where a person returns to: the app whose guard sent them here, or a page of the app that embeds the service. Pages, forms and mails
//! carry it along.

use axum::response::Response;

use super::{view::PageContext, visit::Visit};
use crate::{
    Doorward,
    account::app_sign_in,
    http::{Error, browser::site::Site, paths::APP_SIGN_IN},
    session::Session,
    token::cookie::{MailedTarget, ReturnTarget},
};

/// The longest path that is kept across a sign-in.
pub(super) const MAX_PATH_BYTES: usize = 2048;

/// Whether a text is a path on this origin. Browsers take `//` and `/\` for the start of another host.
pub(super) fn is_own_path(path: &str) -> bool {
    path.starts_with('/')
        && !path[1..].starts_with(['/', '\\'])
        && path.bytes().all(|b| b.is_ascii_graphic())
}

/// Seals a path of the app that embeds the service. It belongs to no guard.
pub(super) fn seal_path(doorward: &Doorward, path: &str) -> String {
    let (guard, url) = (String::new(), path.to_owned());
    let target = ReturnTarget { guard, url, attempt: None };
    doorward.cookies().seal_target(&target)
}

/// A return target to an app whose guard still has its origin, to one that calls the API from a declared origin, or to the app that
/// embeds the service.
pub(in crate::http) struct AppTarget {
    /// As in the URL.
    pub(super) sealed: String,
    /// The title of the app.
    pub(super) title: String,
    pub(super) origin: String,
    target: ReturnTarget,
}

/// A mail shows its link, so it carries a longer URL to the start page of the app instead.
const MAX_MAILED_URL_BYTES: usize = 700;

/// Sealed twice, it is not quite twice as long.
const MAX_URL_BYTES_IN_COOKIE: usize = 1500;

impl AppTarget {
    /// Opens a sealed return target. One that is forged, or whose guard no longer has the origin, is ignored.
    pub(super) fn open(doorward: &Doorward, sealed: String) -> Option<Self> {
        let target = doorward.cookies().open_target(&sealed)?;
        if target.guard.is_empty() && is_own_path(&target.url) {
            let title = doorward.settings().service_name().to_owned();
            let origin = Site::new(doorward.public_base()).origin().to_owned();
            return Some(Self { sealed, title, origin, target });
        }
        if target.guard.is_empty() {
            let origins = &doorward.settings().cors_origins;
            let origin = origins.iter().find(|origin| origin.contains(&target.url))?;
            let (title, origin) = (origin.host().to_owned(), origin.as_str().to_owned());
            return Some(Self { sealed, title, origin, target });
        }
        let guards = doorward.guards();
        let guard = guards.by_name(&target.guard)?;
        let origin = guard.origins.iter().find(|origin| origin.contains(&target.url))?;
        let (title, origin) = (guard.title.clone(), origin.as_str().to_owned());
        Some(Self { sealed, title, origin, target })
    }

    /// The return target in the URL of a page.
    pub(super) fn of(visit: &Visit) -> Option<Self> {
        Self::open(visit.doorward(), visit.parameter("for")?)
    }

    /// The URL that the person asked for. That of a page of the app that embeds the service is a path.
    pub(super) fn url(&self, visit: &Visit) -> String {
        match self.is_embedding() {
            true => format!("{}{}", visit.context().base, self.target.url),
            false => self.target.url.clone(),
        }
    }

    /// Whether it leads to the app that embeds the service.
    fn is_embedding(&self) -> bool {
        self.target.guard.is_empty() && is_own_path(&self.target.url)
    }

    /// Where the app takes a code: at the path of its guard, or where it has asked for it itself.
    fn takes_code_at(&self) -> String {
        match self.target.guard.is_empty() {
            true if self.target.url.contains('?') => format!("{}&code=", self.target.url),
            true => format!("{}?code=", self.target.url),
            false => format!("{}{APP_SIGN_IN}?code=", self.origin),
        }
    }

    /// The return target in a cookie, which holds 4 KB: a longer URL becomes the start page of the app.
    pub(super) fn for_cookie(&self, doorward: &Doorward) -> String {
        if self.target.url.len() <= MAX_URL_BYTES_IN_COOKIE {
            return self.sealed.clone();
        }
        let origin = if self.is_embedding() { "" } else { &*self.origin };
        let target = ReturnTarget { url: format!("{origin}/"), ..self.target.clone() };
        doorward.cookies().seal_target(&target)
    }

    /// The return target for the link of a mail.
    pub(super) fn for_mail(&self, doorward: &Doorward) -> MailedTarget {
        let mut target = self.target.clone();
        if target.url.len() > MAX_MAILED_URL_BYTES {
            let origin = if self.is_embedding() { "" } else { &*self.origin };
            target.url = format!("{origin}/");
        }
        doorward.cookies().seal_mailed_target(target)
    }

    /// Sends the person back to the app, with a code that signs them in there. Only a window that the person sees gets one: a
    /// script of an app could ask for it from a frame, for the attempt of somebody else. From a mail they return without a
    /// code, and the guard sends them here once more if they are not signed in there. In the app that embeds the service, the
    /// session cookie counts.
    ///
    /// # Errors
    /// If a frame or a script asks, or the person has been given too many codes.
    pub(super) fn redirect(self, visit: &Visit, session: &Session) -> Result<Response, Error> {
        let Some(attempt) = self.target.attempt else {
            return Ok(visit.pages.redirect(&self.url(visit)));
        };
        if !visit.is_in_window {
            return Err(Error::CrossSite(None));
        }
        let taken_at = self.takes_code_at();
        let Self { origin, target, .. } = self;
        let (doorward, url) = (visit.doorward(), target.url);
        let code = app_sign_in::create_code(doorward, session, attempt, url, &origin)?;
        Ok(visit.pages.redirect(&format!("{taken_at}{code}")))
    }
}

/// A path that carries the return target along. It may have a query.
pub(super) fn with_target(path: &str, app: Option<&AppTarget>) -> String {
    let query = PageContext::query(app.map(|app| &*app.sealed));
    match path.contains('?') {
        true => format!("{path}{}", query.replacen('?', "&", 1)),
        false => format!("{path}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_of_this_origin_is_an_own_path() {
        for path in ["/", "/a?b=c&d=%2F", "/a//b", "/.//a", "/?//evil.example", "/a\\b"] {
            assert!(is_own_path(path), "{path}");
        }
        for path in [
            "",
            "a",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\evil.example",
            "https://evil.example/",
            "/a b",
            "/a\tb",
            "/\t/evil.example",
            "/\u{e4}",
            "javascript:alert(1)",
        ] {
            assert!(!is_own_path(path), "{path}");
        }
    }
}
