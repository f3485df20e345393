//! What the pages share that use the secret of a mailed link or a typed code.

use axum::{http::StatusCode, response::Response};

use super::{
    form_refusal::{FormFailure, FormRefusal},
    return_target::{AppTarget, with_target},
    text::{FieldFault, FormError, LinkTo, Message},
    view::{CodeEntry, OneTimeForm, OneTimeKind, html},
    visit::Visit,
};
use crate::{
    account::one_time::peek,
    http::{Error, form::Form},
    store,
    token::one_time::Purpose,
};

/// What a form sent, to show it again.
pub(super) struct Sent {
    pub(super) code: String,
    pub(super) email: String,
    /// The address of the mail whose link led here. Without one, the code was typed.
    pub(super) link: String,
    pub(super) stay: bool,
}

impl Sent {
    pub(super) fn of(form: &Form) -> Self {
        Self {
            code: form.typed("code"),
            email: form.typed("email"),
            link: form.typed("link"),
            stay: !form.typed("stay").is_empty(),
        }
    }

    /// How the secret got here: by a link, or else by what the person typed.
    fn entry<'a>(&'a self, typed: CodeEntry<'a>) -> CodeEntry<'a> {
        match self.link.is_empty() {
            true => typed,
            false => CodeEntry::Link { secret: &self.code, address: &self.link },
        }
    }
}

/// The page for the link of a mail. It shows whom it is for and changes nothing. A link that is dead gets a page that says
/// what to do.
pub(super) async fn link_page(
    visit: &Visit,
    secret: &str,
    kind: OneTimeKind,
    app: Option<&AppTarget>,
) -> Result<Response, store::Error> {
    for purpose in purposes(kind) {
        if let Some((one_time, user)) = peek(visit.doorward(), *purpose, secret).await? {
            let entry = CodeEntry::Link { secret, address: one_time.email.as_str() };
            // Somebody else may have sent the link, to have the person use an account of theirs.
            let other = visit.caller().filter(|caller| caller.user.id != user.id);
            let signed_in_as = other.map(|caller| caller.user.email.as_str());
            let has_password = user.has_password();
            let page = OneTimeForm {
                kind,
                entry,
                signed_in_as,
                has_password,
                ..OneTimeForm::new(visit.context())
            };
            return Ok(form_page(visit, page, app, None));
        }
    }
    Ok(dead_link(visit, kind, app))
}

fn purposes(kind: OneTimeKind) -> &'static [Purpose] {
    match kind {
        OneTimeKind::Verify => &[Purpose::VerifyEmail, Purpose::ChangeEmail],
        OneTimeKind::Restore => &[Purpose::RestoreEmail],
        OneTimeKind::Reset => &[Purpose::ResetPassword],
        OneTimeKind::SignIn => &[Purpose::SignIn],
        OneTimeKind::ResetFactors => &[Purpose::FactorReset],
    }
}

fn dead_link(visit: &Visit, kind: OneTimeKind, app: Option<&AppTarget>) -> Response {
    // The guard of the app knows whether the address is confirmed, and how to go on.
    if let (OneTimeKind::Verify, Some(app)) = (kind, app) {
        let (message, to) = (Message::VerifyLinkDead, LinkTo::ContinueTo(&app.title));
        return visit.message_with_link(StatusCode::GONE, message, to, &app.url(visit));
    }
    let (message, to, path) = match kind {
        OneTimeKind::Verify => (Message::VerifyLinkDead, LinkTo::Account, "/account"),
        OneTimeKind::Restore => (Message::RestoreLinkDead, LinkTo::SignIn, "/sign-in"),
        OneTimeKind::Reset => (Message::ResetLinkDead, LinkTo::NewMail, "/forgot"),
        OneTimeKind::SignIn => (Message::SignInLinkDead, LinkTo::NewMail, "/sign-in/code"),
        OneTimeKind::ResetFactors => (Message::FactorResetLinkDead, LinkTo::SignIn, "/sign-in"),
    };
    visit.message(StatusCode::GONE, message, to, &with_target(path, app))
}

/// The form once more with what is wrong, or the page about a dead link.
pub(super) fn refused(
    visit: &Visit,
    failure: FormFailure,
    kind: OneTimeKind,
    sent: &Sent,
    typed: CodeEntry<'_>,
    app: Option<&AppTarget>,
) -> Result<Response, Error> {
    let mut refusal = failure.refusal()?;
    let entry = sent.entry(typed);
    let is_code_wrong = refusal.problem.fault("code") == Some(FieldFault::WRONG_CODE);
    if matches!(entry, CodeEntry::Link { .. }) && is_code_wrong {
        return Ok(dead_link(visit, kind, app));
    }
    if refusal.problem.is_email_taken() {
        // Another account has got the address: nothing that the person typed is wrong.
        refusal.problem = FormError::EMAIL_TAKEN.into();
    }
    let page = OneTimeForm {
        kind,
        entry,
        code: &sent.code,
        stay: sent.stay,
        // Only a user with a password can have typed a wrong one.
        has_password: true,
        ..OneTimeForm::new(visit.context())
    };
    Ok(form_page(visit, page, app, Some(&refusal)))
}

/// A page with what all of them show.
pub(super) fn form_page(
    visit: &Visit,
    page: OneTimeForm<'_>,
    app: Option<&AppTarget>,
    refusal: Option<&FormRefusal>,
) -> Response {
    let page = OneTimeForm {
        app: app.map(|app| &*app.title),
        target: app.map(|app| &*app.sealed),
        min_password_length: visit.doorward().settings().password_rules().min_length,
        problem: refusal.into(),
        ..page
    };
    visit.form(html(&page), refusal, app.map(|app| &*app.origin))
}
