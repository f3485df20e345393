//! `/sign-up`: creates an account and signs the person in. The rules are those of registration.

use axum::{http::StatusCode, response::Response};

use super::{
    form_refusal::FormRefusal, return_target::AppTarget, session_cookie::persistence, view,
    visit::Visit,
};
use crate::{
    account::register::{Registration, register},
    credential::password::Password,
    http::{Error, form::PageForm},
    user::{Email, Name},
};

/// Shows the form even to a signed-in person, who may want a second account.
pub(super) async fn show(visit: Visit) -> Response {
    let app = visit.parameter("for").and_then(|sealed| AppTarget::open(visit.doorward(), sealed));
    page(&visit, app.as_ref(), &Typed::default(), None)
}

pub(super) async fn submit(visit: Visit, PageForm(mut form): PageForm) -> Result<Response, Error> {
    let typed = Typed {
        name: form.typed("name"),
        email: form.typed("email"),
        stay: !form.typed("stay").is_empty(),
    };
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let rules = visit.doorward().settings().password_rules;
    let name = form.required("name", Name::parse);
    let email = form.required("email", Email::parse);
    let password = form.required("password", |sent| Password::parse(sent, rules));
    let opened = match (name, email, password) {
        (Ok(name), Ok(email), Ok(password)) => {
            let registration = Registration { name, email, password: Some(password) };
            let (origin, requester) = (visit.source.origin.clone(), visit.source.requester);
            let persistence = persistence(typed.stay);
            let opened =
                register(visit.doorward(), registration, origin, requester, persistence).await;
            opened.map_err(Error::from)
        }
        _ => Err(form.into_error()),
    };
    match opened {
        Ok(opened) => Ok(visit.begin_session(&opened, app).await),
        Err(error) => {
            let refusal = FormRefusal::of(error, "password")?;
            Ok(page(&visit, app.as_ref(), &typed, Some(&refusal)))
        }
    }
}

/// What the person typed, except the password.
#[derive(Default)]
struct Typed {
    name: String,
    email: String,
    stay: bool,
}

fn page(
    visit: &Visit,
    app: Option<&AppTarget>,
    typed: &Typed,
    refusal: Option<&FormRefusal>,
) -> Response {
    let fault = |field| refusal.and_then(|refusal| refusal.fault(field));
    let page = view::SignUp {
        app: app.map(|app| &*app.title),
        name: &typed.name,
        email: &typed.email,
        stay: typed.stay,
        target: app.map(|app| &*app.sealed),
        min_password_length: visit.doorward().settings().password_rules.min_length,
        error: refusal.and_then(|refusal| refusal.error),
        name_fault: fault("name"),
        email_fault: fault("email"),
        password_fault: fault("password"),
    };
    let status = refusal.map_or(StatusCode::OK, |refusal| refusal.status);
    let html = page.render(&visit.context());
    let response = visit.page_for_app(status, html, app.map(|app| &*app.origin));
    match refusal {
        Some(refusal) => refusal.with_headers(response),
        None => response,
    }
}
