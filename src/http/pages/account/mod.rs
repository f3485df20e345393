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

use axum::response::Response;

use self::apps::apps;
pub(in crate::http) use self::{
    activity::show_activity,
    change::{cancel_email, change_email, change_name, change_password, send_email_again},
    invitations::{InviterVisit, invite, revoke_invitation, show_invitations},
    keys::{create_key, revoke_key, show_keys},
    leave::{delete, show_deleted},
    security::{
        add_key, add_passkey, confirm_totp, remove_device, remove_login, remove_passkey,
        remove_totp, rename_passkey, replace_codes, show_add_key, show_add_passkey, show_passkey,
        show_security, show_totp,
    },
    sessions::{end_session, sign_out_everywhere},
    verify::send_verification,
};
use super::{
    form_refusal::{FormFailure, FormRefusal},
    return_target::{AppTarget, with_target},
    signed_in::SignedInVisit,
    step_up_request::{DELETE, EMAIL, PASSWORD, way_to},
    text::Notice,
    view::{self, Confirm, FailedForm, OpenForm, html},
};
use crate::{
    account::{self, proof::is_fresh},
    http::{Error, admin::scopes_at},
    user::Email,
};

pub(in crate::http) async fn show(visit: SignedInVisit) -> Result<Response, Error> {
    let notice = match visit.parameter("done").as_deref() {
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
    let open = match visit.parameter("open").as_deref() {
        Some("email") => Some(OpenForm::Email),
        Some("delete") => Some(OpenForm::Delete),
        _ => None,
    };
    page(&visit, Outcome::Done(notice, open)).await
}

/// Where those return to who have proved once more who they are. They repeat what they wanted.
pub(in crate::http) const ACCOUNT: &str = "/account";

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
    pub(in crate::http) fn way_to_step_up(&self, next: &str, app: Option<&AppTarget>) -> Response {
        self.redirect(&with_target(&way_to(next), app))
    }
}

/// What just happened with the account.
enum Outcome<'a> {
    /// With the form for which the person has proved once more who they are.
    Done(Option<Notice>, Option<OpenForm>),
    Refused(&'a FormRefusal, FailedForm<'a>),
}

async fn page(visit: &SignedInVisit, outcome: Outcome<'_>) -> Result<Response, Error> {
    let (doorward, caller) = (visit.doorward(), &visit.caller);
    let user = &caller.user;
    let mut sessions = account::sessions::list(doorward, user.id).await?;
    // Those used last come first.
    sessions.sort_by_key(|session| {
        (session.id != caller.session.id, std::cmp::Reverse(session.last_seen_at.millis()))
    });
    let pending_email = account::change::pending_email(doorward, user).await?;
    let guards = doorward.guards();
    let (notice, open, refusal, failed) = match outcome {
        Outcome::Done(notice, open) => (notice, open, None, None),
        Outcome::Refused(refusal, failed) => (None, None, Some(refusal), Some(failed)),
    };
    let page = view::Account {
        page: visit.context(),
        now: doorward.now(),
        name: user.name.as_str(),
        email: user.email.as_str(),
        is_verified: user.email_verified,
        pending_email: pending_email.as_ref().map(Email::as_str),
        is_verification_mailed: account::verify::is_mailed(doorward, user).await?,
        sends_mail: doorward.sends_mail(),
        has_password: user.has_password(),
        confirm: confirm(visit),
        open,
        min_password_length: doorward.settings().password_rules().min_length,
        notice,
        problem: refusal.into(),
        failed,
        sessions: &sessions,
        current: caller.session.id,
        apps: apps(doorward, &guards, caller, visit.requester.client.address),
        kept_days: doorward.settings().audit.longest_retention_days(),
        may_invite: account::invite::may_invite(doorward, caller),
        is_admin: is_admin(visit),
    };
    Ok(visit.form(html(&page), refusal, None))
}

/// How the person confirms a change of the account that is at stake.
fn confirm(visit: &SignedInVisit) -> Confirm {
    let (doorward, user) = (visit.doorward(), &visit.caller.user);
    if user.factors.is_empty() && user.has_password() {
        return Confirm::WithPassword;
    }
    let can_step_up = !user.factors.is_empty() || doorward.signs_in_by_mail();
    match is_fresh(doorward, user, &visit.caller.session) {
        true if user.has_password() => Confirm::WithPassword,
        true => Confirm::Confirmed,
        false if can_step_up => Confirm::StepUp {
            email: way_to(EMAIL),
            password: way_to(PASSWORD),
            delete: way_to(DELETE),
        },
        false => Confirm::Impossible,
    }
}

/// Whether the person may do anything in the administration.
fn is_admin(visit: &SignedInVisit) -> bool {
    let (doorward, caller) = (visit.doorward(), &visit.caller);
    let address = visit.requester.client.address;
    !scopes_at(doorward, caller, "/admin", address).is_empty()
}
