//! The forms of the account that change the name, the e-mail address and the password.

use axum::response::Response;

use super::{
    super::{form_refusal::FormFailure, signed_in::SignedInVisit, view::FailedForm},
    ACCOUNT, EMAIL, Outcome, PASSWORD, page,
};
use crate::{
    account::{
        change::{Change, Changed, cancel, change, pending_email, send_again},
        password,
        proof::Proof,
    },
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::{Email, Name},
};

pub(in crate::http) async fn change_name(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("name");
    let changed = match form.required("name", Name::parse) {
        Ok(name) => {
            let (new, proof) =
                (Change { name: Some(name), email: None }, Proof::of(&visit.caller, None));
            let changed =
                change(visit.doorward(), &visit.caller, new, proof, &visit.requester).await;
            changed.map_err(FormFailure::from)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match changed {
        Ok(_) => Ok(visit.redirect("/account?done=name")),
        Err(failure) => {
            let refusal = visit.refusal(failure, ACCOUNT, None)?;
            page(&visit, Outcome::Refused(&refusal, FailedForm::Name { typed: &typed })).await
        }
    }
}

pub(in crate::http) async fn change_email(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("email");
    let email = form.required("email", Email::parse);
    let password = form.current_password("password", &visit.caller.user);
    let changed = match (email, password) {
        (Ok(email), Ok(password)) => {
            let new = Change { name: None, email: Some(email) };
            let proof = Proof::of(&visit.caller, password);
            let changed =
                change(visit.doorward(), &visit.caller, new, proof, &visit.requester).await;
            changed.map_err(FormFailure::from)
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match changed {
        Ok(Changed { pending_email: Some(_), .. }) => {
            Ok(visit.redirect("/account?done=email-sent"))
        }
        Ok(_) => Ok(visit.redirect("/account?done=email")),
        Err(failure) => {
            let refusal = visit.refusal(failure, EMAIL, None)?;
            page(&visit, Outcome::Refused(&refusal, FailedForm::Email { typed: &typed })).await
        }
    }
}

/// Mails the link to the new address once more.
pub(in crate::http) async fn send_email_again(visit: SignedInVisit) -> Result<Response, Error> {
    match send_again(visit.doorward(), &visit.caller, &visit.requester).await {
        Ok(true) => Ok(visit.redirect("/account?done=email-sent")),
        Ok(false) => Ok(visit.redirect("/account")),
        Err(error) => {
            let refusal = FormFailure::from(error).refusal()?;
            let pending = pending_email(visit.doorward(), &visit.caller.user).await?;
            let failed = FailedForm::Email { typed: pending.as_ref().map_or("", Email::as_str) };
            page(&visit, Outcome::Refused(&refusal, failed)).await
        }
    }
}

/// Discards the new address. One that is gone already, as after a double click, is what the person wants.
pub(in crate::http) async fn cancel_email(visit: SignedInVisit) -> Result<Response, Error> {
    cancel(visit.doorward(), &visit.caller, &visit.requester).await?;
    Ok(visit.redirect("/account?done=email-cancelled"))
}

pub(in crate::http) async fn change_password(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let current = form.current_password("current", &visit.caller.user);
    let new =
        form.required("new", |sent| password::parse(visit.doorward(), &visit.caller.user, sent));
    let changed = match (current, new) {
        (Ok(current), Ok(new)) => {
            let (proof, requester) = (Proof::of(&visit.caller, current), &visit.requester);
            let changed =
                password::change(visit.doorward(), &visit.caller, proof, new, requester).await;
            changed.map_err(|error| FormFailure::from(error).renamed(&[("password", "current")]))
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match changed {
        Ok(()) => Ok(visit.redirect("/account?done=password")),
        Err(failure) => {
            let refusal = visit.refusal(failure, PASSWORD, None)?;
            page(&visit, Outcome::Refused(&refusal, FailedForm::Password)).await
        }
    }
}
