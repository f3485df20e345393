//! `/account`: a person's own account, their sessions and their apps.

mod activity;
mod apps;
mod change;
mod invitations;
mod keys;
mod leave;
mod security;
mod sessions;
mod verify;

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use self::apps::apps;
pub(in crate::http) use self::{
    activity::show_activity,
    change::{cancel_email, change_email, change_name, change_password, send_email_again},
    invitations::{invite, revoke_invitation, show_invitations},
    keys::{create_key, revoke_key, show_keys},
    leave::delete,
    security::{
        add_key, add_passkey, confirm_totp, remove_device, remove_passkey, remove_totp,
        rename_passkey, replace_codes, show_add_key, show_add_passkey, show_passkey, show_security,
        show_totp,
    },
    sessions::{end_session, sign_out_everywhere},
    verify::send_verification,
};
use super::{
    form_refusal::{FormFailure, FormRefusal},
    return_target::{AppTarget, with_target},
    step_up_request::STEP_UP,
    text::{LinkTo, Message, Notice},
    view::{self, FailedForm, SessionRow},
    visit::{SIGN_IN, SignedInVisit, Visit},
};
use crate::{
    access::guard::RequestFacts,
    account::{self, proof::is_fresh},
    http::{Error, admin::scopes_of, answer::NoStore, api::me},
    user::Email,
};

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    let (done, pages) = (visit.parameter("done"), Arc::clone(&visit.pages));
    if visit.caller().is_none() && done.as_deref() == Some(DELETED) {
        let message = Message::AccountDeleted;
        return Ok(visit.message(StatusCode::OK, message, LinkTo::Start, "/"));
    }
    let Some(visit) = SignedInVisit::of(visit) else {
        return Ok(pages.redirect_to_page(SIGN_IN));
    };
    let notice = match done.as_deref() {
        Some("name") => Some(Notice::NameChanged),
        Some("email") => Some(Notice::EmailChanged),
        Some("password") => Some(Notice::PasswordChanged),
        Some("session") => Some(Notice::SessionEnded),
        Some("email-sent") => Some(Notice::EmailPending),
        Some("email-cancelled") => Some(Notice::EmailChangeCancelled),
        Some("verify-sent") => Some(Notice::VerificationSent),
        Some("verified") => Some(Notice::EmailVerified),
        Some("confirmed") => Some(Notice::Confirmed),
        _ => None,
    };
    page(&visit, Outcome::Done(notice)).await
}

/// Where those return to who have proved once more who they are. They repeat what they wanted.
const ACCOUNT: &str = "/account";

impl SignedInVisit {
    /// The refusal that a form shows. Those who have to prove once more who they are are led to where they do, and return to
    /// the page `next`.
    ///
    /// # Errors
    /// If the failure is not about the form.
    fn refusal(
        &self,
        failure: FormFailure,
        next: &str,
        app: Option<&AppTarget>,
    ) -> Result<FormRefusal, Error> {
        failure.refusal().map_err(|error| match error {
            Error::SignInAgain => Error::Person(Box::new(self.way_to_step_up(next, app))),
            error => error,
        })
    }

    /// The redirect of a person who has to prove once more who they are, and returns to the page `next`.
    pub(super) fn way_to_step_up(&self, next: &str, app: Option<&AppTarget>) -> Response {
        let path = format!("{STEP_UP}?next={}", next.replace('/', "%2F"));
        self.redirect(&with_target(&path, app))
    }
}

/// What an account that was just deleted leaves behind in the URL.
const DELETED: &str = "deleted";

/// What just happened with the account.
enum Outcome<'a> {
    Done(Option<Notice>),
    Refused(&'a FormRefusal, FailedForm<'a>),
}

async fn page(visit: &SignedInVisit, outcome: Outcome<'_>) -> Result<Response, Error> {
    let (doorward, caller) = (visit.doorward(), &visit.caller);
    let user = &caller.user;
    let mut sessions = account::sessions::list(doorward, user.id).await?;
    sessions.sort_by_key(|session| {
        (session.id != caller.session.id, std::cmp::Reverse(session.last_seen_at.millis()))
    });
    let pending_email = account::change::pending_email(doorward, user).await?;
    let guards = doorward.guards();
    let (notice, refusal, failed) = match outcome {
        Outcome::Done(notice) => (notice, None, None),
        Outcome::Refused(refusal, failed) => (None, Some(refusal), Some(failed)),
    };
    let page = view::Account {
        now: doorward.now(),
        name: user.name.as_str(),
        email: user.email.as_str(),
        is_verified: user.email_verified,
        pending_email: pending_email.as_ref().map(Email::as_str),
        sends_mail: doorward.sends_mail(),
        has_password: user.password_hash.is_some(),
        min_password_length: doorward.settings().password_rules().min_length,
        notice,
        error: refusal.and_then(|refusal| refusal.error),
        failed,
        sessions: sessions
            .iter()
            .take(MAX_SESSIONS)
            .map(|session| SessionRow {
                id: session.id.to_string(),
                user_agent: &session.client.user_agent,
                address: session.client.address.to_string(),
                last_seen: session.last_seen_at,
                is_current: session.id == caller.session.id,
            })
            .collect(),
        more_sessions: sessions.len().saturating_sub(MAX_SESSIONS),
        apps: apps(doorward, &guards, caller, visit.requester.client.address),
        may_invite: account::invite::may_invite(doorward, caller),
        is_admin: is_admin(visit),
    };
    Ok(visit.form(page.render(&visit.context()), refusal, None))
}

/// Whether the person may do anything in the administration.
fn is_admin(visit: &SignedInVisit) -> bool {
    let (doorward, caller) = (visit.doorward(), &visit.caller);
    let request = RequestFacts {
        method: Some("GET".into()),
        path: Some("/admin".into()),
        address: Some(visit.requester.client.address),
        ..RequestFacts::at(doorward.now())
    };
    !scopes_of(doorward, caller, &request).is_empty()
}

/// The most sessions on the page, which has to stay small. Those used last come first.
const MAX_SESSIONS: usize = 6;

/// `GET /account/export`: what `GET /api/me/export` answers, as a file.
pub(in crate::http) async fn export(visit: SignedInVisit) -> Result<Response, Error> {
    if !is_fresh(visit.doorward(), &visit.caller.user, &visit.caller.session) {
        return Ok(visit.way_to_step_up(ACCOUNT, None));
    }
    let exported = me::exported(visit.doorward(), &visit.caller).await?;
    let mut response = NoStore(StatusCode::OK, exported).into_response();
    let disposition = HeaderValue::from_static("attachment; filename=\"account.json\"");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    Ok(response)
}
