//! `/reset`: sets a new password with the reset code that the operator has created.

use axum::response::Response;

use super::{form_refusal::FormRefusal, view, visit::Visit};
use crate::{
    account::reset::reset,
    credential::{password::Password, reset_code::ResetCode},
    http::{Error, form::PageForm},
};

pub(super) async fn show(visit: Visit) -> Response {
    page(&visit, "", None)
}

pub(super) async fn submit(visit: Visit, PageForm(mut form): PageForm) -> Result<Response, Error> {
    let typed = form.typed("code");
    let rules = visit.doorward().settings().password_rules;
    let code =
        form.required("code", |sent| Ok(ResetCode::unchecked(sent.trim().to_owned()).digest()));
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let done = match (code, password) {
        (Ok(code), Ok(password)) => {
            let outcome = reset(visit.doorward(), code, password, visit.source.requester).await;
            outcome.map_err(Error::from)
        }
        _ => Err(form.into_error()),
    };
    match done {
        Ok(_) => Ok(visit.redirect("/sign-in?done=reset")),
        Err(error) => {
            let refusal = FormRefusal::of(error, "password")?;
            Ok(page(&visit, &typed, Some(&refusal)))
        }
    }
}

fn page(visit: &Visit, code: &str, refusal: Option<&FormRefusal>) -> Response {
    let fault = |field| refusal.and_then(|refusal| refusal.fault(field));
    let page = view::Reset {
        code,
        min_password_length: visit.doorward().settings().password_rules.min_length,
        error: refusal.and_then(|refusal| refusal.error),
        code_fault: fault("code"),
        password_fault: fault("password"),
    };
    visit.form(page.render(&visit.context()), refusal, None)
}
