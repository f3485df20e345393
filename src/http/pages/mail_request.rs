//! What the pages have in common on which a person asks for a mail: `/forgot` and `/sign-in/code`.

use axum::response::Response;

use super::{
    form_refusal::{FormFailure, FormRefusal},
    one_time::form_page,
    return_target::AppTarget,
    text::Notice,
    view::{CodeEntry, MailRequest, MailRequestKind, OneTimeForm, OneTimeKind, html},
    visit::Visit,
};
use crate::{config::MailCodeSignIn, http::Error};

/// The page that asks for an address.
pub(super) fn page(
    visit: &Visit,
    kind: MailRequestKind,
    app: Option<&AppTarget>,
    email: &str,
    refusal: Option<&FormRefusal>,
) -> Response {
    let codes = visit.doorward().settings().mail_code_sign_in;
    let page = MailRequest {
        page: visit.context(),
        kind,
        app: app.map(|app| &*app.title),
        target: app.map(|app| &*app.sealed),
        only_without_password: kind == MailRequestKind::SignIn
            && codes == MailCodeSignIn::WithoutPassword,
        email,
        problem: refusal.into(),
    };
    visit.form(html(&page), refusal, app.map(|app| &*app.origin))
}

/// The answer to a request for a mail to the address that was typed: the page that takes the code in it, or again the one that
/// asks for an address.
pub(super) fn answer(
    visit: &Visit,
    kind: MailRequestKind,
    app: Option<&AppTarget>,
    typed: &str,
    sent: Result<(), FormFailure>,
) -> Result<Response, Error> {
    if let Err(failure) = sent {
        return Ok(page(visit, kind, app, typed, Some(&failure.refusal()?)));
    }
    let code_page = OneTimeForm {
        kind: match kind {
            MailRequestKind::Forgot => OneTimeKind::Reset,
            MailRequestKind::SignIn => OneTimeKind::SignIn,
        },
        entry: CodeEntry::Mailed(typed),
        notice: Some(Notice::MailSent),
        ..OneTimeForm::new(visit.context())
    };
    Ok(form_page(visit, code_page, app, None))
}
