//! `/verify`: verifies an address with the link or the code in a mail. A guard that wants a verified address sends people here,
//! and from here they go on to its app.

use axum::{http::StatusCode, response::Response};

use super::{
    form_refusal::{FormFailure, FormRefusal},
    one_time::{Sent, form_page, link_page, refused},
    return_target::{AppTarget, with_target},
    signed_in::SignedInForm,
    text::{LinkTo, Message, Notice},
    view::{CodeEntry, OneTimeForm, OneTimeKind, VerifyForApp, html},
    visit::{SIGN_IN, Visit},
};
use crate::{
    access::caller::Caller,
    account::{
        self,
        change::pending_email,
        verify::{send, send_once, verify},
    },
    http::{
        Error,
        form::{FaultRecorded, PageForm},
        mail_forms::MailedCode,
    },
    store,
    user::{Email, User},
};

/// What just happened, in the URL.
const VERIFIED: &str = "verified";
const SENT: &str = "sent";

pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    if let Some(secret) = visit.parameter("code") {
        return Ok(link_page(&visit, &secret, OneTimeKind::Verify, app.as_ref()).await?);
    }
    let done = visit.parameter("done");
    match app {
        Some(app) if done.as_deref() == Some(VERIFIED) => Ok(verified_elsewhere(&visit, &app)),
        Some(app) => show_for_app(&visit, app, done.as_deref() == Some(SENT)).await,
        None => {
            let email = visit.caller().map_or("", |caller| caller.user.email.as_str());
            let (kind, entry) = (OneTimeKind::Verify, CodeEntry::Typed { email });
            let page = OneTimeForm { kind, entry, ..OneTimeForm::new(visit.context()) };
            Ok(form_page(&visit, page, None, None))
        }
    }
}

/// Asks a person on the way to an app for the code in their mail, which is sent unless one is on its way. Whoever has verified
/// their address in the meantime goes on.
async fn show_for_app(visit: &Visit, app: AppTarget, is_sent: bool) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect(&with_target(SIGN_IN, Some(&app))));
    };
    let Some(unverified) = Unverified::of(visit, caller).await? else {
        return app.redirect(visit, &caller.session);
    };
    let mut refusal = None;
    // A frame sends no mail.
    if !unverified.is_new_address && visit.is_in_window {
        let (doorward, target) = (visit.doorward(), app.for_mail(visit.doorward()));
        let sent = send_once(doorward, &unverified.user, &visit.requester, Some(&target)).await;
        refusal = refusal_of(sent)?;
    }
    let notice = (is_sent && refusal.is_none()).then_some(Notice::VerificationSent);
    Ok(unverified.page(visit, &app, "", notice, refusal.as_ref()))
}

/// `POST /verify/send`: mails the link and the code once more.
pub(in crate::http) async fn send_again(
    SignedInForm { visit, app, .. }: SignedInForm,
) -> Result<Response, Error> {
    let Some(app) = &app else { return Ok(visit.redirect(SIGN_IN)) };
    let Some(unverified) = Unverified::of(&visit, &visit.caller).await? else {
        return Ok(visit.redirect(&with_target("/verify", Some(app))));
    };
    let (doorward, target) = (visit.doorward(), app.for_mail(visit.doorward()));
    let sent = send(doorward, &unverified.user, &visit.requester, Some(&target)).await;
    Ok(match refusal_of(sent)? {
        None => visit.redirect(&with_target(&format!("/verify?done={SENT}"), Some(app))),
        Some(refusal) => unverified.page(&visit, app, "", None, Some(&refusal)),
    })
}

fn refusal_of(sent: Result<(), account::Error>) -> Result<Option<FormRefusal>, Error> {
    sent.err().map(|error| FormFailure::from(error).refusal()).transpose()
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let sent = Sent::of(&form);
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let verified = match form.fields::<MailedCode>(visit.doorward()) {
        Ok(mailed) => {
            let verified = verify(visit.doorward(), mailed.into(), &visit.requester).await;
            verified.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match (verified, visit.caller(), app) {
        (Ok(user), Some(caller), Some(app)) if caller.user.id == user.id => {
            app.redirect(&visit, &caller.session)
        }
        (Ok(_), _, Some(app)) => {
            Ok(visit.redirect(&with_target(&format!("/verify?done={VERIFIED}"), Some(&app))))
        }
        (Ok(_), Some(_), None) => Ok(visit.redirect("/account?done=verified")),
        (Ok(_), None, None) => Ok(visit.redirect("/sign-in?done=verified")),
        (Err(failure), Some(caller), Some(app)) if sent.link.is_empty() => {
            // Another device may have verified the address.
            let Some(unverified) = Unverified::of(&visit, caller).await? else {
                return app.redirect(&visit, &caller.session);
            };
            let refusal = failure.refusal()?;
            Ok(unverified.page(&visit, &app, &sent.code, None, Some(&refusal)))
        }
        (Err(failure), _, app) => {
            let typed = CodeEntry::Typed { email: &sent.email };
            refused(&visit, failure, OneTimeKind::Verify, &sent, typed, app.as_ref())
        }
    }
}

/// For a browser in which the person is not signed in. They go on where they have begun, or here.
fn verified_elsewhere(visit: &Visit, app: &AppTarget) -> Response {
    let (message, to) = (Message::EmailVerified, LinkTo::ContinueTo(&app.title));
    visit.message_with_link(StatusCode::OK, message, to, &app.url(visit))
}

/// A signed-in person who has to verify an address.
struct Unverified {
    user: User,
    /// The address that the code is mailed to.
    address: Email,
    /// Whether it is a new address that waits to be verified.
    is_new_address: bool,
}

impl Unverified {
    /// The person as stored: another instance may have verified the address. `None` if there is nothing to verify, or no way
    /// to do it.
    async fn of(visit: &Visit, caller: &Caller) -> Result<Option<Self>, store::Error> {
        let doorward = visit.doorward();
        let user = doorward.user_by_id(caller.user.id).await?;
        let Some(user) = user.filter(|user| !user.email_verified && doorward.sends_mail()) else {
            return Ok(None);
        };
        let new = pending_email(doorward, &user).await?;
        let is_new_address = new.is_some();
        Ok(Some(Self { address: new.unwrap_or_else(|| user.email.clone()), user, is_new_address }))
    }

    fn page(
        &self,
        visit: &Visit,
        app: &AppTarget,
        code: &str,
        notice: Option<Notice>,
        refusal: Option<&FormRefusal>,
    ) -> Response {
        let page = VerifyForApp {
            page: visit.context(),
            app: &app.title,
            target: &app.sealed,
            address: self.address.as_str(),
            is_new_address: self.is_new_address,
            code,
            notice,
            problem: refusal.into(),
        };
        visit.form(html(&page), refusal, Some(&app.origin))
    }
}
