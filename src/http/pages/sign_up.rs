//! `/sign-up`: creates an account and signs the person in. The rules are those of registration.

use axum::response::Response;

use super::{
    form_refusal::FormRefusal, return_target::AppTarget, session_cookie::persistence, view,
    visit::Visit,
};
use crate::{
    account::{
        OpenedSession, RegisterError,
        register::{Registration, register},
        sign_in::sign_in,
    },
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
    let password = form.required("password", |sent| {
        let again = Password::unchecked(sent.clone());
        Password::parse(sent, rules).map(|password| (password, again))
    });
    let opened = match (name, email, password) {
        (Ok(name), Ok(email), Ok((password, again))) => {
            let registration = Registration { name, email, password: Some(password) };
            sign_up(&visit, registration, again, typed.stay).await
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

/// Creates an account. A form that was sent twice signs in to the account that the first one created.
async fn sign_up(
    visit: &Visit,
    registration: Registration,
    again: Password,
    stay: bool,
) -> Result<OpenedSession, Error> {
    let (doorward, email) = (visit.doorward(), registration.email.key());
    let (origin, requester) = (&visit.source.origin, visit.source.requester);
    let persistence = persistence(stay);
    let registered = register(doorward, registration, origin.clone(), requester, persistence).await;
    match registered {
        Err(RegisterError::EmailTaken) => {
            let origin = origin.clone();
            let opened = sign_in(doorward, &email, again, origin, requester, persistence).await;
            opened.map_err(|_| RegisterError::EmailTaken.into())
        }
        registered => registered.map_err(Error::from),
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
    visit.form(page.render(&visit.context()), refusal, app.map(|app| &*app.origin))
}
