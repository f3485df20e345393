//! Where a person returns to after signing in: the app whose guard sent them here.

use axum::response::Response;

use super::visit::Visit;
use crate::{
    Doorward,
    account::app_sign_in,
    http::{Error, paths::APP_SIGN_IN},
    session::Session,
    token::cookie::ReturnTarget,
};

/// A return target to an app whose guard still has its origin.
pub(super) struct AppTarget {
    /// As in the URL.
    pub(super) sealed: String,
    /// The title of the app.
    pub(super) title: String,
    pub(super) origin: String,
    target: ReturnTarget,
}

impl AppTarget {
    /// Opens a sealed return target. One that is forged, or whose guard no longer has the origin, is ignored.
    pub(super) fn open(doorward: &Doorward, sealed: String) -> Option<Self> {
        let target = doorward.cookies().open_target(&sealed)?;
        let guards = doorward.guards();
        let guard = guards.by_name(&target.guard)?;
        let origin = guard.origins.iter().find(|origin| origin.contains(&target.url))?;
        let (title, origin) = (guard.title.clone(), origin.as_str().to_owned());
        Some(Self { sealed, title, origin, target })
    }

    /// Sends the person back to the app, with a code that signs them in there. Only a window that the person sees gets one: a
    /// script of an app could ask for it from a frame, for the attempt of somebody else.
    ///
    /// # Errors
    /// If a frame or a script asks, or the person has been given too many codes.
    pub(super) fn redirect(self, visit: &Visit, session: &Session) -> Result<Response, Error> {
        if !visit.is_in_window {
            return Err(Error::CrossSite(None));
        }
        let Self { origin, target, .. } = self;
        let code = app_sign_in::create_code(visit.doorward(), session, target, &origin)?;
        Ok(visit.pages.redirect(&format!("{origin}{APP_SIGN_IN}?code={code}")))
    }
}
