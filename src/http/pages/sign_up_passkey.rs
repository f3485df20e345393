//! `/sign-up/passkey`: creates an account with a passkey in place of a password. The form of `/sign-up` leads here, the answer is a
//! page that asks for the passkey, and its form comes back with it.

use axum::{http::StatusCode, response::Response};

use super::{
    answer::allow_script,
    form_refusal::{FormFailure, FormRefusal},
    return_target::{AppTarget, with_target},
    session_cookie::persistence,
    sign_up::{Typed, explanation, page, page_about},
    text::Message,
    view::{RecoveryCodes, SignUpPasskey, Signal, html},
    visit::{SIGN_IN, Visit},
};
use crate::{
    account::{
        self,
        factor::passkey::{MadePasskey, NewPasskey},
        register::Registration,
        register_passkey::{RegisteredWithPasskey, begin, begin_again, register_with_passkey},
    },
    http::{
        Error,
        factor_forms::PostedPasskey,
        form::{FaultRecorded, Form, PageForm},
        webauthn::{CreationOptions, UnknownCredential, json},
    },
    user::{Email, Name, User},
};

/// What the person has typed, and what for.
struct SignUp {
    typed: Typed,
    app: Option<AppTarget>,
    name: Name,
    email: Email,
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = Typed::of(&form);
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    let invitation = typed.presented(&mut form);
    let (name, email) = (form.required("name", Name::parse), form.required("email", Email::parse));
    let (Ok(invitation), Ok(name), Ok(email)) = (invitation, name, email) else {
        let refusal = FormFailure::faults_of(form).refusal()?;
        return Ok(page(&visit, app.as_ref(), &typed, Some(&refusal)));
    };
    let registration = Registration {
        name: name.clone(),
        email: email.clone(),
        password: None,
        invitation,
        target: app.as_ref().map(|app| app.for_mail(visit.doorward())),
    };
    let sign_up = SignUp { typed, app, name, email };
    match form.typed("setup").is_empty() {
        true => sign_up.ask(&visit, &registration).await,
        false => sign_up.finish(&visit, registration, form).await,
    }
}

impl SignUp {
    /// Asks for a passkey.
    async fn ask(self, visit: &Visit, registration: &Registration) -> Result<Response, Error> {
        match begin(visit.doorward(), registration, &visit.requester).await {
            Ok(new) => Ok(self.passkey_page(visit, &new, None, None)),
            Err(error) => self.refuse(visit, error, None),
        }
    }

    /// Registers the person with the passkey that they have made.
    async fn finish(
        self,
        visit: &Visit,
        registration: Registration,
        mut form: Form,
    ) -> Result<Response, Error> {
        let setup = form.typed("setup");
        let made = match form.fields::<PostedPasskey>(visit.doorward()).map(MadePasskey::from) {
            Ok(made) => made,
            Err(FaultRecorded) => {
                return self.ask_again(visit, FormFailure::faults_of(form), None);
            }
        };
        let MadePasskey { response, .. } = &made;
        let credential = response.raw_id.clone();
        let (doorward, requester) = (visit.doorward(), &visit.requester);
        let persistence = persistence(self.typed.stay);
        let registered =
            register_with_passkey(doorward, registration, &setup, made, requester, persistence);
        let error = match registered.await {
            Ok(registered) => return Ok(self.registered(visit, registered).await),
            Err(error) => error,
        };
        // The same form may have been carried out before.
        let known = doorward.store().passkey_by_credential_id(&credential).await?;
        let unknown = known.is_none().then_some(&*credential);
        match error {
            // The page asks for another one.
            account::Error::SetupExpired => {
                self.ask_again(visit, FormFailure::refused_passkey(), unknown)
            }
            account::Error::InvalidPasskey(_) | account::Error::FactorTaken => {
                self.ask_again(visit, error.into(), unknown)
            }
            error => self.refuse(visit, error, unknown),
        }
    }

    /// Shows the recovery codes, once, and signs the browser in.
    async fn registered(self, visit: &Visit, registered: RegisteredWithPasskey) -> Response {
        let RegisteredWithPasskey { opened, recovery_codes } = registered;
        let codes: Vec<_> = recovery_codes.iter().map(ToString::to_string).collect();
        // The sign-in page leads those who are signed in to the app.
        let go_on = self.app.as_ref();
        let go_on = go_on.map_or("/account".into(), |app| with_target(SIGN_IN, Some(app)));
        let page = RecoveryCodes {
            page: visit.context(),
            codes: &codes,
            email: self.email.as_str(),
            go_on: &go_on,
        };
        let response = visit.page(StatusCode::OK, html(&page));
        visit.begin_session_with(&opened, response).await
    }

    /// The form of the account once more. Password managers are told to forget a passkey that nobody has.
    fn refuse(
        self,
        visit: &Visit,
        error: account::Error,
        unknown: Option<&[u8]>,
    ) -> Result<Response, Error> {
        let Self { typed, app, .. } = &self;
        match error {
            account::Error::FactorNotOffered => {
                Ok(visit.redirect(&with_target("/sign-up", app.as_ref())))
            }
            account::Error::MayNotRegister if typed.has_link => {
                let message = Message::InvitationDead;
                Ok(explanation(visit, StatusCode::GONE, message, app.as_ref()))
            }
            error => {
                let refusal = FormFailure::from(error).refusal()?;
                Ok(page_about(visit, app.as_ref(), typed, Some(&refusal), unknown))
            }
        }
    }

    /// The page with another setup, after an answer that was not accepted.
    fn ask_again(
        self,
        visit: &Visit,
        failure: FormFailure,
        unknown: Option<&[u8]>,
    ) -> Result<Response, Error> {
        let refusal = failure.refusal()?;
        match begin_again(visit.doorward()) {
            Ok(new) => Ok(self.passkey_page(visit, &new, Some(&refusal), unknown)),
            Err(error) => self.refuse(visit, error, None),
        }
    }

    fn passkey_page(
        &self,
        visit: &Visit,
        new: &NewPasskey,
        refusal: Option<&FormRefusal>,
        unknown: Option<&[u8]>,
    ) -> Response {
        let Self { typed, app, name, email } = self;
        let doorward = visit.doorward();
        let rp_id = &new.relying_party.id;
        let unknown = unknown.map(|id| json(&UnknownCredential::new(rp_id, id)));
        let user = User::new(name.clone(), email.clone(), None, doorward.now());
        let options = json(&CreationOptions::new(new, &user, doorward.settings().service_name()));
        let page = SignUpPasskey {
            page: visit.context(),
            options: &options,
            setup: &new.setup,
            name: name.as_str(),
            email: email.as_str(),
            invitation: typed.invitation(!typed.invitation.is_empty()),
            stay: typed.stay,
            target: app.as_ref().map(|app| &*app.sealed),
            signal: unknown.as_deref().map(Signal::Unknown),
            problem: refusal.into(),
        };
        let origin = app.as_ref().map(|app| &*app.origin);
        let mut response = visit.form(html(&page), refusal, origin);
        allow_script(&mut response);
        response
    }
}
