//! What the JSON API answers to each error of an account operation: its status and its message, in one place.

use axum::http::StatusCode;

use super::{
    error::{Challenge, Error},
    factor_challenge::FactorChallenge,
};
use crate::{account, fault::Fault};

impl From<account::Error> for Error {
    fn from(error: account::Error) -> Self {
        use account::Error as Reason;
        let field = error.field().unwrap_or_default();
        let at_field = |fault| Self::Invalid(vec![(field.into(), fault)]);
        let not_done = |status, message: &str| Self::NotDone(status, message.into());
        let in_its_words = |status| Self::NotDone(status, error.to_string());
        match error {
            Reason::Invalid(invalid) => at_field(invalid.fault),

            Reason::EmailTaken => Self::EmailTaken,
            Reason::NoSuchUser => Self::NotFound,
            Reason::UserChanged => in_its_words(StatusCode::PRECONDITION_FAILED),
            Reason::TooManyRoles => in_its_words(StatusCode::CONFLICT),
            Reason::OwnAccount => in_its_words(StatusCode::FORBIDDEN),
            Reason::OtherOrder => in_its_words(StatusCode::UNPROCESSABLE_ENTITY),

            Reason::MayNotRegister => {
                not_done(StatusCode::FORBIDDEN, "Registration is not open for this address.")
            }
            // The handler has another answer to a registration that does not tell.
            Reason::OwnerMailed => Self::Internal(error.to_string()),
            Reason::MayNotInvite => not_done(StatusCode::FORBIDDEN, "You may not invite others."),
            Reason::RegistrationClosed => in_its_words(StatusCode::FORBIDDEN),
            Reason::AlreadyInvited => {
                not_done(StatusCode::CONFLICT, "The address is invited already.")
            }

            Reason::WrongCredentials => Self::NotFound,
            Reason::FactorMissing(missing) => {
                Self::FactorMissing(Box::new(FactorChallenge::from(&*missing)))
            }
            Reason::WrongFactor => Self::FactorRefused("The second factor is wrong."),
            Reason::CodeUsed => {
                Self::FactorRefused("The code was used before. Please wait for the next one.")
            }
            Reason::UnknownPasskey => Self::FactorRefused("The passkey is not known here."),
            Reason::ChallengeExpired => Self::FactorRefused(
                "The challenge has expired or was answered before. Please sign in again.",
            ),
            // The token stays valid: only this action is refused.
            Reason::WrongPassword | Reason::MadeByKey => {
                Self::Unauthorized(Challenge::InsufficientScope, None)
            }
            Reason::SignInAgain => Self::SignInAgain,
            Reason::SessionEnded => Self::Unauthorized(Challenge::InvalidToken, None),
            // No token was sent, so the challenge has no error code.
            Reason::WrongCode => Self::Unauthorized(Challenge::NoCredentials, None),

            Reason::FactorNotOffered | Reason::NoSuchFactor => Self::NotFound,
            Reason::SetupExpired => at_field(Fault::malformed("Has expired")),
            Reason::WrongTotp => at_field(Fault::malformed("Wrong code")),
            Reason::InvalidPasskey(reason) => {
                at_field(Fault::malformed(format!("Not valid: {reason}")))
            }
            Reason::FactorTaken => not_done(StatusCode::CONFLICT, "The factor exists already."),
            Reason::TooManyPasskeys => {
                not_done(StatusCode::CONFLICT, "Nobody can have more passkeys.")
            }
            Reason::LastWayIn => not_done(
                StatusCode::CONFLICT,
                "This is the last way to sign in. Please set a password or add another passkey first.",
            ),

            Reason::TooManyKeys => not_done(
                StatusCode::CONFLICT,
                "You have the most keys that one can have. Please revoke one first.",
            ),

            Reason::NeedsMail => Self::NeedsMail,
            Reason::MailNotConfigured => in_its_words(StatusCode::NOT_IMPLEMENTED),
            Reason::VerificationUnderWay => Self::Unavailable(error.to_string()),
            Reason::SigningKeys(_) => in_its_words(StatusCode::CONFLICT),
            Reason::NotAllRevoked(_) => in_its_words(StatusCode::SERVICE_UNAVAILABLE),
            Reason::Throttled { retry_after } => Self::Throttled(retry_after),
            Reason::Busy(busy) => busy.into(),
            Reason::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::passkey::Invalid;

    #[test]
    fn what_is_said_at_a_field_names_it() {
        use account::Error as Reason;
        for (error, expected) in [
            (Reason::SetupExpired, "setup"),
            (Reason::WrongTotp, "code"),
            (Reason::InvalidPasskey(Invalid::ClientData), "credential"),
        ] {
            let Error::Invalid(faults) = error.into() else { panic!("{expected}") };
            assert_eq!(faults[0].0, expected);
        }
    }
}
