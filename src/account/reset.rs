//! Setting a new password without the old one: with a reset code that the operator has created, or with a mailed link or
//! code.

use zeroize::Zeroizing;

use super::{
    Failure, InvalidInput, UserError,
    effects::password_changed,
    has_failure,
    one_time::{self, Found},
    require_found,
};
use crate::{
    Doorward,
    credential::{
        password::Password,
        reset_code::{ResetCode, ResetDigest},
    },
    event::EventKind,
    network::Requester,
    store::{OneTimeEffect, PasswordCondition},
    throttle::LoginAttempt,
    token::one_time::{OneTime, Presented, Purpose},
    user::{EmailKey, User, UserId},
};

/// Why the password was not reset.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResetError {
    /// The code is wrong, expired or used. The error does not say which.
    #[error("the reset code is wrong or has expired")]
    WrongCode,
    #[error(transparent)]
    Invalid(InvalidInput),
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(ResetError);

/// What a person proves their right to a new password with.
enum Proof {
    /// A reset code of the operator.
    ResetCode(ResetDigest),
    /// A mailed link or code.
    OneTime(Box<OneTime>),
}

/// Sets the password of the user of a reset code or of a mailed link or code, and ends all their sessions. A mailed code needs
/// the address that it was sent to.
pub(crate) async fn reset(
    doorward: &Doorward,
    code: Zeroizing<String>,
    email: Option<EmailKey>,
    password: Password,
    requester: &Requester,
) -> Result<User, ResetError> {
    let (proof, user, guess) = match find(doorward, code, email, requester).await? {
        Some(found) => found,
        None => {
            let event = doorward.event_by_unknown(None, requester, EventKind::ResetFailed);
            doorward.events().publish(&event);
            return Err(ResetError::WrongCode);
        }
    };
    let rules = doorward.settings().password_rules;
    let password = password.reject_identity(user.name.as_str(), user.email.as_str(), rules);
    let password = password.map_err(InvalidInput::new("password")).map_err(ResetError::Invalid)?;
    let hash = doorward.hasher().hash(password, requester.network()).await?;
    // Whoever has a mailed link owns the address, so the notice has no budget.
    let is_owner = user.email_verified || matches!(proof, Proof::OneTime(_));
    let told = User { email_verified: is_owner, ..user.clone() };
    let event = doorward.event_by_unknown(user.id, requester, EventKind::PasswordReset);
    let effects = password_changed(doorward, &told, requester.language).with(event);
    let (store, now) = (doorward.store(), doorward.now());
    let is_set = match proof {
        Proof::ResetCode(code) => {
            let condition = PasswordCondition::ResetCode(code);
            store.set_password(user.id, condition, &hash, None, now, &effects).await?
        }
        Proof::OneTime(one_time) => {
            let effect = OneTimeEffect::ResetPassword(hash);
            let used = store.use_one_time(&one_time, effect, &effects, now).await?;
            used.inspect(|user| doorward.throttle().clear_mails(&user.email.key())).is_some()
        }
    };
    if !is_set {
        return Err(ResetError::WrongCode);
    }
    one_time::refund(guess);
    doorward.throttle().clear_account(&user.email.key(), doorward.instant());
    Ok(user)
}

/// The proof that was presented, its user, and what a typed code is charged to.
async fn find<'a>(
    doorward: &'a Doorward,
    code: Zeroizing<String>,
    email: Option<EmailKey>,
    requester: &Requester,
) -> Result<Option<(Proof, User, Option<LoginAttempt<'a>>)>, Failure> {
    let reset_code = ResetCode::unchecked(code.to_string()).digest();
    let presented = Presented::parse(&code, email);
    let purposes = [Purpose::ResetPassword];
    if let Some(Found { one_time, user, guess }) =
        one_time::find(doorward, &purposes, &presented, requester).await?
    {
        return Ok(Some((Proof::OneTime(Box::new(one_time)), user, guess)));
    }
    let user = doorward.store().user_by_reset_code(&reset_code, doorward.now()).await?;
    Ok(user.map(|user| (Proof::ResetCode(reset_code), user, None)))
}

impl Doorward {
    /// Creates a code with which a user can set a password once within 30 minutes (`POST /api/auth/reset`), as
    /// `doorward user reset-code` does. It replaces any earlier code.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn create_reset_code(&self, user: UserId) -> Result<ResetCode, UserError> {
        let (code, expires_at) = (ResetCode::random(), self.now() + ResetCode::LIFETIME);
        let effects = self.event_by_operator(user, EventKind::ResetCodeCreated).into();
        let added = self.store().add_reset_code(user, &code.digest(), expires_at, &effects).await?;
        require_found(added)?;
        Ok(code)
    }
}
