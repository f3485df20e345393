//! Setting a new password without the old one: with a reset code that the operator has created, or with a mailed link or
//! code.

use zeroize::Zeroizing;

use super::{
    Error, InvalidInput,
    effects::{one_time_of, password_changed},
    one_time::{self, FoundSecret},
    password::reject_known,
    user_order::{Order, require_found},
};
use crate::{
    Doorward,
    credential::password::Password,
    event::{Administrator, EventKind},
    network::Requester,
    store::{Effects, OneTimeUse},
    token::one_time::{LinkOrCode, OneTimeSecret, Purpose},
    user::{EmailKey, User, UserId},
};

/// Sets the password of the user of a reset code or of a mailed link or code, and ends all their sessions. A mailed code needs
/// the address that it was sent to. Whoever has registered an address that is not verified loses the account to the owner of its mail:
/// their second factors are removed.
pub(crate) async fn reset(
    doorward: &Doorward,
    code: Zeroizing<String>,
    email: Option<EmailKey>,
    password: Password,
    requester: &Requester,
) -> Result<User, Error> {
    let purposes = [Purpose::ResetPassword, Purpose::OperatorReset];
    let presented = LinkOrCode::parse(&code, email);
    let found = one_time::find(doorward, &purposes, &presented, requester).await?;
    let Some(FoundSecret { one_time, user, guess }) = found else {
        let event = doorward.event_by_unknown(None, requester, EventKind::ResetFailed);
        doorward.events().publish(&event);
        return Err(Error::WrongCode);
    };
    let password = reject_known(doorward, password, &user.name, &user.email);
    let password = password.map_err(InvalidInput::new("password"))?;
    let hash = doorward.hasher().hash(password, requester.network()).await?;
    let is_mailed = one_time.purpose == Purpose::ResetPassword;
    // Whoever has a mailed link owns the address, so the notice has no budget.
    let told = User { email_verified: user.email_verified || is_mailed, ..user.clone() };
    let event = doorward.event_by_unknown(user.id, requester, EventKind::PasswordReset);
    let mut effects = password_changed(doorward, &told, requester.language).with(event);
    if is_mailed && !user.email_verified && !user.factors.is_empty() {
        let event = doorward.event_by_unknown(user.id, requester, EventKind::FactorsReset);
        effects = effects.with(event);
    }
    let usage = match is_mailed {
        true => OneTimeUse::ResetPassword(hash),
        false => OneTimeUse::OperatorReset(hash),
    };
    let used = doorward.store().use_one_time(&one_time, usage, &effects, doorward.now()).await?;
    if used.is_none() {
        return Err(Error::WrongCode);
    }
    if is_mailed {
        doorward.throttle().clear_mails(&user.email.key());
    }
    one_time::refund(guess);
    doorward.throttle().clear_account(&user.email.key(), doorward.instant());
    Ok(user)
}

/// Makes a code with which a user can set a password once within 30 minutes. It replaces any earlier code.
pub(crate) struct MakeResetCode;

impl Order for MakeResetCode {
    type Outcome = OneTimeSecret;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<OneTimeSecret, Error> {
        let one_time = one_time_of(doorward, user, Purpose::OperatorReset);
        let code = doorward.one_time_secrets().secret(one_time.id, one_time.purpose);
        let event = doorward.event_by_administrator(by, user.id, EventKind::ResetCodeCreated);
        let effects = Effects { secrets: vec![one_time], ..event.into() };
        let store = doorward.store();
        require_found(store.replace_one_time(user.id, Purpose::OperatorReset, &effects).await?)?;
        Ok(code)
    }
}

impl Doorward {
    /// Creates a code with which a user can set a password once within 30 minutes (`POST /api/auth/reset`), as
    /// `doorward user reset-code` does. It replaces any earlier code.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn create_reset_code(&self, user: UserId) -> Result<OneTimeSecret, Error> {
        self.order(MakeResetCode, user).await
    }
}
