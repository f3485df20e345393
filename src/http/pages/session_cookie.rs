//! Beginning a session in a browser: a new one at each sign-in, named by the session cookie.

use axum::response::{IntoResponse, Response};

use super::{
    link_login::LINK,
    return_target::AppTarget,
    visit::{Visit, append_cookie},
};
use crate::{
    account::{
        OpenedSession,
        first_factor::{ComesFrom, SignInOptions},
        sessions,
    },
    http::Error,
    session::{Persistence, Session},
    token::external::PendingLink,
    user::User,
};

/// How long the session of a person lasts who chose to stay signed in, or did not.
pub(super) fn persistence(stay: bool) -> Persistence {
    if stay { Persistence::Lifetime } else { Persistence::UntilIdle }
}

impl Visit {
    /// How the person wants to be signed in, and what their browser shows.
    pub(super) fn sign_in_options(&self, stay: bool) -> SignInOptions {
        let from = |link: PendingLink| ComesFrom { login: link.account.login, user: link.user };
        let comes_from = self.pending_link().map(from);
        SignInOptions { persistence: persistence(stay), device: self.device.clone(), comes_from }
    }

    /// Whether a person signs in so that they can link an account at another provider.
    pub(super) fn signs_in_to_link(&self, user: &User) -> bool {
        self.pending_link().is_some_and(|link| link.user == user.id)
    }

    /// Signs the browser in with a new session, and leads to the app or to the account.
    pub(super) async fn begin_session(
        &self,
        opened: &OpenedSession,
        app: Option<AppTarget>,
    ) -> Response {
        let response = match app {
            // They go on to the app then.
            _ if self.signs_in_to_link(&opened.user) => self.redirect(LINK),
            // The person is signed in all the same.
            Some(app) => app.redirect(self, &opened.session).unwrap_or_else(Error::into_response),
            None => self.redirect("/account"),
        };
        self.begin_session_with(opened, response).await
    }

    /// Signs the browser in with a new session. The session that the browser had ends, whoever it belonged to.
    pub(super) async fn begin_session_with(
        &self,
        opened: &OpenedSession,
        mut response: Response,
    ) -> Response {
        // The new session exists, so a failure must not keep the browser from it.
        if let Some(old) = self.caller()
            && let Err(error) = sessions::log_out(self.doorward(), old, &self.requester).await
        {
            tracing::warn!(%error, session = %old.session.id, "cannot end the session that a browser had before");
        }
        self.set_session_cookie(&mut response, &opened.session);
        response
    }

    /// Sets the cookie of a session that has begun, or has proved more.
    pub(super) fn set_session_cookie(&self, response: &mut Response, session: &Session) {
        let names = self.pages.cookie_names();
        let value = self.doorward().cookies().session_cookie(session);
        let cookie = names.set_for(session, &names.session, &value, self.doorward().now());
        append_cookie(response, cookie);
    }
}
