//! Proving an address that a provider has not verified: whoever has come back from there types a code that is mailed to it.

use super::{
    Error,
    effects::{charge_mail, mail},
    external::use_once,
    external_error::{ExternalError, published},
    identities::label,
    one_time::{charge_guess, refund},
    sign_in::begin_attempt,
};
use crate::{
    Doorward,
    event::{EventKind, ExternalFailure},
    id::Id,
    mail::Message,
    network::Requester,
    store::Effects,
    throttle::{Guess, MailPurpose},
    token::{
        cookie::CodeId,
        external::ExternalSignIn,
        one_time::{MAX_GUESSES, OneTimeCode, OneTimeId, Purpose},
    },
    user::Email,
};

const PURPOSE: Purpose = Purpose::ProveAddress;

/// Mails a code to an address. It is the same work for every address.
pub(crate) async fn send_code(
    doorward: &Doorward,
    person: &ExternalSignIn,
    email: &Email,
    requester: &Requester,
) -> Result<(), Error> {
    if !doorward.sends_mail() {
        return Err(Error::NeedsMail);
    }
    let earlier = charge_mail(doorward, email, MailPurpose::SignIn, requester)?;
    let (one_time, login) =
        (code_id(doorward, person, email), label(doorward, &person.account.login));
    let message = Message::ProveAddress { one_time, login };
    let mail = mail(doorward, None, email, requester.language, message);
    let kind = EventKind::MailRequested { purpose: PURPOSE };
    let event = doorward.event_by_unknown(None, requester, kind);
    let effects = Effects { mails: vec![mail], earlier, ..Effects::NONE }.with(event);
    Ok(doorward.store().queue_mail(&effects).await?)
}

/// The person with the address, which counts as verified, if the code is the one that was mailed to it.
pub(crate) async fn prove(
    doorward: &Doorward,
    person: &ExternalSignIn,
    email: &Email,
    code: Option<&OneTimeCode>,
    requester: &Requester,
) -> Result<ExternalSignIn, ExternalError> {
    published(doorward, &person.account.login, requester, async {
        let key = email.key();
        let guess = begin_attempt(doorward, Guess::Code, &key, requester).await?;
        // Counted before it is compared, however many instances compare at the same time.
        charge_guess(doorward, PURPOSE, &key).await?;
        let counted = doorward.store().one_time_guesses(PURPOSE, &key, doorward.now()).await?;
        let right = doorward.one_time_secrets().code(code_id(doorward, person, email), PURPOSE);
        if counted > MAX_GUESSES || !code.is_some_and(|code| right.matches(code)) {
            return Err(ExternalFailure::WrongCode.into());
        }
        refund(Some(guess));
        use_once(doorward, person.id, person.expires_at).await?;
        doorward.throttle().clear_mails(&key);
        // The id was used with the code.
        let (id, email) = (CodeId::random(), Some(email.as_str().to_owned()));
        Ok(ExternalSignIn { id, email, is_verified: true, ..person.clone() })
    })
    .await
}

/// The id that the code is derived from: another one for each address and each sign-in.
fn code_id(doorward: &Doorward, person: &ExternalSignIn, email: &Email) -> OneTimeId {
    let text = format!("address {} {}", person.id, email.as_str());
    OneTimeId::from_uuid(doorward.one_time_secrets().derived_id(&text))
}
