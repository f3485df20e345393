//! `/sign-in/address`: proving an address that another provider does not vouch for, and saying whose an account is that nobody has verified.

use axum::response::Response;

use super::{
    came_back::{Asked, answer, ask_for_address, not_signed_in, sign_in},
    form_refusal::FormFailure,
    login_buttons::declared,
    return_target::AppTarget,
    visit::Visit,
};
use crate::{
    account::{self, external, external_address, external_error::ExternalError},
    event::ExternalFailure,
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    token::one_time::OneTimeCode,
    user::Email,
};

/// `POST /sign-in/address`: mails a code to the address of whoever has come back from a provider, or takes the code, or replaces the
/// account that somebody else has registered with the address.
pub(in crate::http) async fn submit(
    visit: Visit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let app = AppTarget::open(doorward, form.typed("for"));
    let Some(person) = doorward.cookies().open_external(&form.typed("person"), doorward.now())
    else {
        return not_signed_in(&visit, "", ExternalFailure::Attempt.into(), app.as_ref());
    };
    let login = declared(doorward, &person.account.login)?;
    if !form.typed("replace").is_empty() {
        let (options, requester) = (visit.sign_in_options(false), &visit.requester);
        let replaced = external::replace_account(doorward, &login, person, &options, requester);
        return answer(&visit, &login, replaced.await, app).await;
    }
    let typed = form.typed("email");
    let is_sent = !form.typed("sent").is_empty();
    let asked = Asked { login: &login, person: &person, email: &typed, is_sent };
    if !form.typed("change").is_empty() {
        return Ok(ask_for_address(&visit, &asked, app.as_ref(), None));
    }
    let (asked, failure) = match form.required("email", Email::parse) {
        Err(FaultRecorded) => (Asked { is_sent: false, ..asked }, FormFailure::faults_of(form)),
        Ok(email) if is_sent => {
            let code = OneTimeCode::parse(&form.typed("code"));
            let requester = &visit.requester;
            let proved =
                external_address::prove(doorward, &person, &email, code.as_ref(), requester);
            match proved.await {
                Ok(proved) => return sign_in(&visit, &login, proved, app).await,
                Err(ExternalError::Refused(ExternalFailure::WrongCode, _)) => {
                    (asked, account::Error::WrongCode.into())
                }
                Err(ExternalError::Account(error)) => (asked, error.into()),
                Err(error) => return not_signed_in(&visit, &login.name, error, app.as_ref()),
            }
        }
        Ok(email) => {
            match external_address::send_code(doorward, &person, &email, &visit.requester).await {
                Ok(()) => {
                    let asked = Asked { is_sent: true, ..asked };
                    return Ok(ask_for_address(&visit, &asked, app.as_ref(), None));
                }
                Err(error) => (asked, error.into()),
            }
        }
    };
    let refusal = failure.refusal()?;
    Ok(ask_for_address(&visit, &asked, app.as_ref(), Some(&refusal)))
}
