//! The way back for somebody who has lost all second factors: a link from the operator that removes them. Whoever has a password
//! must also know it, so the link alone opens no account.

use super::{
    Error,
    effects::{factor_notice, one_time_of},
    one_time::{self, FoundSecret},
    sign_in::user_by_password,
    user_order::{Order, require_found},
};
use crate::{
    Doorward,
    credential::password::Password,
    event::{Administrator, EventKind},
    mail::{Message, link},
    network::Requester,
    store::{Effects, OneTimeUse},
    token::one_time::{LinkOrCode, OneTimeSecret, Purpose, SecretDigest},
    user::User,
};

/// What the operator gives to a person.
pub(crate) struct FactorResetTicket {
    pub(crate) secret: OneTimeSecret,
    /// The page that uses it; `None` without pages.
    pub(crate) link: Option<String>,
}

/// Makes a link that removes all second factors of a user, once within 30 minutes. It replaces any earlier one. The user is told.
pub(crate) struct MakeFactorReset;

impl Order for MakeFactorReset {
    type Outcome = FactorResetTicket;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<FactorResetTicket, Error> {
        let one_time = one_time_of(doorward, user, Purpose::FactorReset);
        let secret = doorward.one_time_secrets().secret(one_time.id, one_time.purpose);
        let message = Message::FactorResetLink { at: doorward.now().millis() };
        let told = factor_notice(doorward, user, doorward.settings().mail.language, message);
        let event = doorward.event_by_administrator(by, user.id, EventKind::FactorResetCreated);
        let effects = Effects { secrets: vec![one_time], ..told.with(event) };
        let store = doorward.store();
        require_found(store.replace_one_time(user.id, Purpose::FactorReset, &effects).await?)?;
        let has_pages = doorward.settings().pages;
        let link = has_pages.then(|| link(&doorward.public_base(), Purpose::FactorReset, &secret));
        Ok(FactorResetTicket { secret, link })
    }
}

/// Removes all second factors of the user of a link, and ends all their sessions. Whoever has a password must give it; a wrong one
/// counts as a failed login, and the link can be used again.
pub(crate) async fn use_link(
    doorward: &Doorward,
    secret: SecretDigest,
    password: Option<Password>,
    requester: &Requester,
) -> Result<User, Error> {
    let presented = LinkOrCode::Secret(secret);
    let found = one_time::find(doorward, &[Purpose::FactorReset], &presented, requester).await?;
    let Some(FoundSecret { one_time, user, guess: _ }) = found else {
        return Err(Error::WrongCode);
    };
    if user.has_password() {
        let password = password.ok_or(Error::WrongPassword)?;
        let proved =
            user_by_password(doorward, &user.email.key(), password, Some(user.id), requester)
                .await?;
        if proved.is_none_or(|proved| proved.id != user.id) {
            return Err(Error::WrongPassword);
        }
    }
    let message = Message::FactorsReset { at: doorward.now().millis() };
    let event = doorward.event_by_user(user.id, requester, EventKind::FactorsReset);
    let effects = factor_notice(doorward, &user, requester.language, message).with(event);
    let usage = OneTimeUse::ResetFactors;
    let used = doorward.store().use_one_time(&one_time, usage, &effects, doorward.now()).await?;
    used.ok_or(Error::WrongCode)
}
