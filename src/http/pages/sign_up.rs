//! `/sign-up`: creates an account and signs the person in. The rules are those of registration. Whoever may not register gets
//! an explanation.

use axum::{http::StatusCode, response::Response};
use zeroize::Zeroizing;

use super::{
    answer::allow_script,
    form_refusal::{FormFailure, FormRefusal},
    login_buttons::{buttons, lead_to},
    return_target::{AppTarget, with_target},
    session_cookie::persistence,
    text::{FieldFault, FormError, FormProblem, LinkTo, Message},
    view::{self, InvitationEntry, Signal, html},
    visit::Visit,
};
use crate::{
    access::registration::RegistrationPolicy,
    account::{
        self, invite,
        register::{Registered, Registration, register},
        register_passkey::is_offered,
        sign_in::{elsewhere, sign_in},
    },
    credential::password::Password,
    http::{
        Error,
        form::{FaultRecorded, Form, PageForm},
        webauthn::{UnknownCredential, json},
    },
    user::{Email, EmailKey, Name},
};

/// Shows the form even to a signed-in person, who may want a second account.
pub(in crate::http) async fn show(visit: Visit) -> Result<Response, Error> {
    let app = AppTarget::of(&visit);
    let policy = &visit.doorward().settings().registration;
    if visit.parameter("done").as_deref() == Some("mailed") {
        return Ok(explanation(&visit, StatusCode::OK, Message::SignUpMailed, app.as_ref()));
    }
    if *policy == RegistrationPolicy::Closed {
        return Ok(explanation(&visit, StatusCode::OK, Message::SignUpClosed, app.as_ref()));
    }
    let mut typed = Typed::default();
    match visit.parameter("invitation") {
        Some(secret) if secret.is_empty() => typed.types_invitation = true,
        Some(secret) => match invite::peek(visit.doorward(), &secret).await? {
            Some(invitation) => {
                typed.email = invitation.email.as_str().to_owned();
                (typed.invitation, typed.has_link) = (secret, true);
            }
            None => {
                let message = Message::InvitationDead;
                return Ok(explanation(&visit, StatusCode::GONE, message, app.as_ref()));
            }
        },
        None if *policy == RegistrationPolicy::Invited => {
            let path = with_target("/sign-up?invitation=", app.as_ref());
            let (message, to) = (Message::SignUpInvited, LinkTo::InvitationCode);
            return Ok(visit.message(StatusCode::OK, message, to, &path));
        }
        None => {}
    }
    Ok(page(&visit, app.as_ref(), &typed, None))
}

/// A page in the place of the form.
pub(super) fn explanation(
    visit: &Visit,
    status: StatusCode,
    message: Message,
    app: Option<&AppTarget>,
) -> Response {
    visit.message(status, message, LinkTo::SignIn, &with_target("/sign-in", app))
}

pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = Typed::of(&form);
    let app = AppTarget::open(visit.doorward(), form.typed("for"));
    if let Some(login) = elsewhere(visit.doorward(), &EmailKey::of(&typed.email)) {
        return Ok(lead_to(&visit, &login, app.as_ref()));
    }
    let rules = visit.doorward().settings().password_rules();
    let invitation = typed.presented(&mut form);
    let name = form.required("name", Name::parse);
    let email = form.required("email", Email::parse);
    let password = form.required("password", |sent| {
        let again = Password::unchecked(sent.clone());
        Password::parse(sent, rules).map(|password| (password, again))
    });
    let registered = match (invitation, name, email, password) {
        (Ok(invitation), Ok(name), Ok(email), Ok((password, again))) => {
            let registration = Registration {
                name,
                email,
                password: Some(password),
                invitation,
                target: app.as_ref().map(|app| app.for_mail(visit.doorward())),
            };
            let registered = sign_up(&visit, registration, again, &typed).await;
            if typed.has_link && matches!(registered, Err(account::Error::MayNotRegister)) {
                let message = Message::InvitationDead;
                return Ok(explanation(&visit, StatusCode::GONE, message, app.as_ref()));
            }
            registered.map_err(FormFailure::from)
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match registered {
        Ok(Registered::SignedIn(opened)) => Ok(visit.begin_session(&opened, app).await),
        Ok(Registered::Mailed) => {
            Ok(visit.redirect(&with_target("/sign-up?done=mailed", app.as_ref())))
        }
        Err(failure) => {
            let refusal = failure.refusal()?;
            Ok(page(&visit, app.as_ref(), &typed, Some(&refusal)))
        }
    }
}

/// Creates an account. A form that was sent twice signs in to the account that the first one created, with which the
/// invitation was used.
async fn sign_up(
    visit: &Visit,
    registration: Registration,
    again: Password,
    typed: &Typed,
) -> Result<Registered, account::Error> {
    let (doorward, email) = (visit.doorward(), registration.email.key());
    let requester = &visit.requester;
    let persistence = persistence(typed.stay);
    let registered = register(doorward, registration, requester, persistence).await;
    match registered {
        Err(error @ (account::Error::EmailTaken | account::Error::MayNotRegister))
            if typed.has_link || matches!(error, account::Error::EmailTaken) =>
        {
            let opened =
                sign_in(doorward, &email, again, requester, &visit.sign_in_options(typed.stay))
                    .await;
            opened.map(|opened| Registered::SignedIn(Box::new(opened))).map_err(|_| error)
        }
        registered => registered,
    }
}

/// What the person typed, except the password.
#[derive(Default)]
pub(super) struct Typed {
    pub(super) name: String,
    pub(super) email: String,
    /// The secret or the code of an invitation.
    pub(super) invitation: String,
    /// Whether the secret came with a link.
    pub(super) has_link: bool,
    /// Whether the form has a field for the code.
    pub(super) types_invitation: bool,
    pub(super) stay: bool,
}

impl Typed {
    pub(super) fn of(form: &Form) -> Self {
        Self {
            name: form.typed("name"),
            email: form.typed("email"),
            invitation: form.typed("invitation"),
            has_link: !form.typed("link").is_empty(),
            types_invitation: !form.typed("typed").is_empty(),
            stay: !form.typed("stay").is_empty(),
        }
    }

    /// The secret or the code of the invitation that the person presents.
    pub(super) fn presented(
        &self,
        form: &mut Form,
    ) -> Result<Option<Zeroizing<String>>, FaultRecorded> {
        let parse = |sent| Ok(Zeroizing::new(sent));
        match self.types_invitation {
            true => form.required("invitation", parse).map(Some),
            false => form.optional("invitation", parse),
        }
    }

    /// How the invitation gets to the page. Where registration is conditional, people may have one or not.
    pub(super) fn invitation(&self, is_conditional: bool) -> Option<InvitationEntry<'_>> {
        match (self.has_link, self.types_invitation) {
            (true, _) => Some(InvitationEntry::Link(&self.invitation)),
            (false, true) => Some(InvitationEntry::Typed(&self.invitation)),
            (false, false) => is_conditional.then_some(InvitationEntry::Optional(&self.invitation)),
        }
    }
}

pub(super) fn page(
    visit: &Visit,
    app: Option<&AppTarget>,
    typed: &Typed,
    refusal: Option<&FormRefusal>,
) -> Response {
    page_about(visit, app, typed, refusal, None)
}

/// The page, which tells password managers to forget a passkey with which nobody has registered.
pub(super) fn page_about(
    visit: &Visit,
    app: Option<&AppTarget>,
    typed: &Typed,
    refusal: Option<&FormRefusal>,
    unknown: Option<&[u8]>,
) -> Response {
    let is_conditional =
        matches!(visit.doorward().settings().registration, RegistrationPolicy::If(_));
    let invitation = typed.invitation(is_conditional);
    let has_code = match invitation {
        Some(InvitationEntry::Typed(_)) => true,
        Some(InvitationEntry::Optional(code)) => !code.is_empty(),
        Some(InvitationEntry::Link(_)) | None => false,
    };
    let mut problem = FormProblem::from(refusal);
    if has_code && problem.error == Some(FormError::MAY_NOT_REGISTER) {
        problem = FormProblem::at("invitation", FieldFault::WRONG_CODE);
    }
    let doorward = visit.doorward();
    let signal = doorward
        .passkey_relying_party()
        .zip(unknown)
        .map(|(relying_party, id)| json(&UnknownCredential::new(&relying_party.id, id)));
    let logins = buttons(visit.doorward());
    let page = view::SignUp {
        logins: &logins,
        page: visit.context(),
        offers_passkey: is_offered(doorward, typed.has_link || typed.types_invitation),
        signal: signal.as_deref().map(Signal::Unknown),
        app: app.map(|app| &*app.title),
        name: &typed.name,
        email: &typed.email,
        invitation,
        stay: typed.stay,
        target: app.map(|app| &*app.sealed),
        min_password_length: visit.doorward().settings().password_rules().min_length,
        problem,
    };
    let origin = app.map(|app| &*app.origin);
    let mut response = visit.form(html(&page), refusal, origin);
    if page.offers_passkey || page.signal.is_some() {
        allow_script(&mut response);
    }
    response
}
