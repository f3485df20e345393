//! The forms of the account that change the name, the e-mail address and the password.

use axum::response::Response;

use super::{
    super::{form_refusal::FormRefusal, view::FailedForm, visit::Visit},
    Outcome, page,
};
use crate::{
    account::{
        change::{Changed, change},
        password,
    },
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::{Email, Name},
};

pub(in super::super) async fn change_name(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    let typed = form.typed("name");
    let changed = match form.required("name", Name::parse) {
        Ok(name) => {
            let (name, requester) = (Some(name), visit.source.requester);
            let changed = change(visit.doorward(), &caller.user, name, None, None, requester).await;
            changed.map_err(Error::from)
        }
        Err(FaultRecorded) => Err(form.into_error()),
    };
    match changed {
        Ok(_) => Ok(visit.redirect("/account?done=name")),
        Err(error) => {
            let refusal = FormRefusal::of(error, "password")?;
            let failed = FailedForm::Name { typed: &typed, fault: refusal.fault("name") };
            page(&visit, caller, Outcome::Refused(&refusal, failed)).await
        }
    }
}

pub(in super::super) async fn change_email(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    let typed = form.typed("email");
    let email = form.required("email", Email::parse);
    let password = form.current_password("password", &caller.user);
    let changed = match (email, password) {
        (Ok(email), Ok(password)) => {
            let (email, requester) = (Some(email), visit.source.requester);
            let changed =
                change(visit.doorward(), &caller.user, None, email, password, requester).await;
            changed.map_err(Error::from)
        }
        _ => Err(form.into_error()),
    };
    match changed {
        Ok(Changed { pending_email: Some(_), .. }) => {
            Ok(visit.redirect("/account?done=email-sent"))
        }
        Ok(_) => Ok(visit.redirect("/account?done=email")),
        Err(error) => {
            let refusal = FormRefusal::of(error, "password")?;
            let failed = FailedForm::Email {
                typed: &typed,
                fault: refusal.fault("email"),
                password: refusal.fault("password"),
            };
            page(&visit, caller, Outcome::Refused(&refusal, failed)).await
        }
    }
}

pub(in super::super) async fn change_password(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let Some(caller) = visit.caller() else {
        return Ok(visit.redirect("/sign-in"));
    };
    let current = form.current_password("current", &caller.user);
    let new = form.required("new", |sent| password::parse(visit.doorward(), &caller.user, sent));
    let changed = match (current, new) {
        (Ok(current), Ok(new)) => {
            let requester = visit.source.requester;
            let changed = password::change(visit.doorward(), caller, current, new, requester).await;
            changed.map_err(Error::from)
        }
        _ => Err(form.into_error()),
    };
    match changed {
        Ok(()) => Ok(visit.redirect("/account?done=password")),
        Err(error) => {
            let refusal = FormRefusal::of(error, "current")?;
            let failed = FailedForm::Password {
                current: refusal.fault("current"),
                new: refusal.fault("new"),
            };
            page(&visit, caller, Outcome::Refused(&refusal, failed)).await
        }
    }
}
