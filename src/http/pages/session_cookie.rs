//! Beginning a session in a browser: a new one at each sign-in, named by the session cookie.

use axum::response::{IntoResponse, Response};

use super::{
    return_target::AppTarget,
    visit::{Visit, append_cookie},
};
use crate::{
    account::{OpenedSession, sessions},
    http::Error,
    session::Persistence,
};

/// How long the session of a person lasts who chose to stay signed in, or did not.
pub(super) fn persistence(stay: bool) -> Persistence {
    if stay { Persistence::Lifetime } else { Persistence::UntilIdle }
}

impl Visit {
    /// Signs the browser in with a new session, and leads to the app or to the account. The session that the browser had
    /// ends, whoever it belonged to.
    pub(super) async fn begin_session(
        &self,
        opened: &OpenedSession,
        app: Option<AppTarget>,
    ) -> Response {
        // The new session exists, so a failure must not keep the browser from it.
        if let Some(old) = self.caller()
            && let Err(error) = sessions::log_out(self.doorward(), old, &self.requester).await
        {
            tracing::warn!(%error, session = %old.session.id, "cannot end the session that a browser had before");
        }
        let session = &opened.session;
        let names = self.pages.site().cookie_names();
        let value = self.doorward().cookies().session_cookie(session);
        let mut response = match app {
            // The person is signed in all the same.
            Some(app) => app.redirect(self, session).unwrap_or_else(Error::into_response),
            None => self.redirect("/account"),
        };
        let cookie = names.set_for(session, names.session, &value, self.doorward().now());
        append_cookie(&mut response, cookie);
        response
    }
}
