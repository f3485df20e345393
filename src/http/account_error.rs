//! What is answered to each error of an account operation, in one row: to programs in JSON, and to people at the form that was not
//! carried out.

use axum::http::StatusCode;

use super::{
    error::{Challenge, Error},
    factor_challenge::FactorChallenge,
    form_problem::{
        FieldFault,
        FormAnswer::{self, At, Nothing, Unavailable, Whole},
        FormError,
    },
};
use crate::{account, fault::Fault, store};

/// The answers to one error.
pub(super) struct Answers {
    /// To programs. People get a page of their own about it if their form says nothing.
    pub(super) json: Error,
    pub(super) form: FormAnswer,
}

impl From<account::Error> for Answers {
    fn from(error: account::Error) -> Self {
        use account::Error as Reason;
        // For programs.
        let field = error.field().unwrap_or_default();
        let invalid = |fault| Error::Invalid(vec![(field.into(), fault)]);
        let not_done = |status, message: &str| Error::NotDone(status, message.into());
        let in_its_words = |status| Error::NotDone(status, error.to_string());
        // For people, in English and German.
        let at_field = |status, words| At(status, field, FieldFault::Says(words));
        let on_form = |status, words| Whole(status, FormError::Says(words));
        // For both.
        let conflict = |message, words| {
            let status = StatusCode::CONFLICT;
            (not_done(status, message), on_form(status, words))
        };
        let (json, form) = match error {
            Reason::Invalid(invalid_input) => {
                let fault = invalid_input.fault;
                let form = At(StatusCode::BAD_REQUEST, field, FieldFault::from(&fault));
                (invalid(fault), form)
            }

            Reason::EmailTaken => {
                (Error::EmailTaken, At(StatusCode::CONFLICT, field, Fault::EMAIL_TAKEN.into()))
            }
            Reason::NoSuchUser => (Error::NotFound, Nothing),
            Reason::UserChanged => (
                in_its_words(StatusCode::PRECONDITION_FAILED),
                on_form(
                    StatusCode::CONFLICT,
                    [
                        "Somebody has changed this user in the meantime. Look again, and repeat it.",
                        "Jemand hat diese Person inzwischen geändert. Sehen Sie nach, und wiederholen Sie es.",
                    ],
                ),
            ),
            Reason::TooManyRoles => (
                in_its_words(StatusCode::CONFLICT),
                at_field(
                    StatusCode::CONFLICT,
                    [
                        "A user cannot have more roles. Revoke one first.",
                        "Mehr Rollen kann eine Person nicht haben. Entziehen Sie zuerst eine.",
                    ],
                ),
            ),
            Reason::OwnAccount => (in_its_words(StatusCode::FORBIDDEN), Nothing),
            Reason::OtherOrder => (in_its_words(StatusCode::UNPROCESSABLE_ENTITY), Nothing),

            Reason::MayNotRegister => (
                not_done(StatusCode::FORBIDDEN, "Registration is not open for this address."),
                Whole(StatusCode::FORBIDDEN, FormError::MAY_NOT_REGISTER),
            ),
            // The handlers have another answer to a registration that does not tell.
            Reason::OwnerMailed => (Error::Internal(error.to_string()), Nothing),
            Reason::MayNotInvite => {
                (not_done(StatusCode::FORBIDDEN, "You may not invite others."), Nothing)
            }
            Reason::RegistrationClosed => (
                in_its_words(StatusCode::FORBIDDEN),
                on_form(
                    StatusCode::CONFLICT,
                    [
                        "Nobody can create an account: the setting registration is \"closed\".",
                        "Niemand kann ein Konto anlegen: die Einstellung registration ist \"closed\".",
                    ],
                ),
            ),
            Reason::AlreadyInvited => (
                not_done(StatusCode::CONFLICT, "The address is invited already."),
                at_field(
                    StatusCode::CONFLICT,
                    [
                        "Somebody else has invited this address already.",
                        "Diese Adresse hat schon jemand anderes eingeladen.",
                    ],
                ),
            ),

            Reason::WrongCredentials => (
                Error::NotFound,
                on_form(
                    StatusCode::BAD_REQUEST,
                    [
                        "E-mail address and password do not match. Check both and try again.",
                        "E-Mail-Adresse und Passwort passen nicht zusammen. Prüfen Sie beides.",
                    ],
                ),
            ),
            Reason::FactorMissing(missing) => {
                (Error::FactorMissing(Box::new(FactorChallenge::from(&*missing))), Nothing)
            }
            Reason::WrongFactor => (
                Error::FactorRefused("The second factor is wrong."),
                At(StatusCode::BAD_REQUEST, field, FieldFault::WRONG_TOTP),
            ),
            Reason::CodeUsed => (
                Error::FactorRefused("The code was used before. Please wait for the next one."),
                at_field(
                    StatusCode::BAD_REQUEST,
                    [
                        "This code was used already. Wait for the next one.",
                        "Dieser Code wurde schon benutzt. Warten Sie auf den nächsten.",
                    ],
                ),
            ),
            Reason::UnknownPasskey => (
                Error::FactorRefused("The passkey is not known here."),
                on_form(
                    StatusCode::BAD_REQUEST,
                    [
                        "This passkey is not known here. It may have been removed. Sign in another way.",
                        "Dieser Passkey ist hier nicht bekannt. Vielleicht wurde er entfernt. Melden Sie sich auf einem anderen Weg an.",
                    ],
                ),
            ),
            Reason::ChallengeExpired => (
                Error::FactorRefused(
                    "The challenge has expired or was answered before. Please sign in again.",
                ),
                Nothing,
            ),
            // The token stays valid: only this action is refused.
            Reason::WrongPassword => (
                Error::Unauthorized(Challenge::InsufficientScope, None),
                At(StatusCode::BAD_REQUEST, "password", FieldFault::WRONG_PASSWORD),
            ),
            Reason::MadeByKey => (Error::Unauthorized(Challenge::InsufficientScope, None), Nothing),
            Reason::SignInAgain => (Error::SignInAgain, Nothing),
            Reason::SessionEnded => (Error::Unauthorized(Challenge::InvalidToken, None), Nothing),
            // No token was sent, so the challenge has no error code.
            Reason::WrongCode => (
                Error::Unauthorized(Challenge::NoCredentials, None),
                At(StatusCode::BAD_REQUEST, field, FieldFault::WRONG_CODE),
            ),

            Reason::FactorNotOffered | Reason::NoSuchFactor | Reason::NoSuchIdentity => {
                (Error::NotFound, Nothing)
            }
            Reason::SetupExpired => (invalid(Fault::malformed("Has expired")), Nothing),
            Reason::WrongTotp => (
                invalid(Fault::malformed("Wrong code")),
                At(StatusCode::BAD_REQUEST, field, FieldFault::WRONG_TOTP),
            ),
            Reason::InvalidPasskey(reason) => (
                invalid(Fault::malformed(format!("Not valid: {reason}"))),
                Whole(StatusCode::BAD_REQUEST, FormError::PASSKEY_REFUSED),
            ),
            Reason::FactorTaken => conflict(
                "The factor exists already.",
                ["This is set up already.", "Das ist schon eingerichtet."],
            ),
            Reason::TooManyPasskeys => conflict(
                "Nobody can have more passkeys.",
                [
                    "You cannot have more passkeys. Remove one first.",
                    "Mehr Passkeys sind nicht möglich. Entfernen Sie zuerst einen.",
                ],
            ),
            Reason::LastWayIn => conflict(
                "This is the last way to sign in. Please set a password or add a passkey first.",
                [
                    "This is the last way to sign in to your account. Set a password or add a passkey first.",
                    "Das ist der letzte Weg, sich bei Ihrem Konto anzumelden. Legen Sie zuerst ein Passwort fest oder fügen Sie einen Passkey hinzu.",
                ],
            ),

            Reason::IdentityTaken => conflict(
                "The account at the provider is linked already.",
                [
                    "That account is linked already, perhaps to another account here.",
                    "Dieses Konto ist schon verknüpft, vielleicht mit einem anderen Konto hier.",
                ],
            ),
            Reason::TooManyIdentities => conflict(
                "Nobody can have more linked accounts.",
                [
                    "You cannot link more accounts. Remove one first.",
                    "Mehr Verknüpfungen sind nicht möglich. Entfernen Sie zuerst eine.",
                ],
            ),

            Reason::TooManyKeys => conflict(
                "You have the most keys that one can have. Please revoke one first.",
                [
                    "You cannot have more keys. Revoke one first.",
                    "Mehr Schlüssel sind nicht möglich. Ziehen Sie zuerst einen zurück.",
                ],
            ),

            Reason::NeedsMail => (Error::NeedsMail, Nothing),
            Reason::MailNotConfigured => (in_its_words(StatusCode::NOT_IMPLEMENTED), Nothing),
            Reason::VerificationUnderWay => (Error::Unavailable(error.to_string()), Nothing),
            Reason::SigningKeys(_) => (in_its_words(StatusCode::CONFLICT), Nothing),
            Reason::NotAllRevoked(_) => (in_its_words(StatusCode::SERVICE_UNAVAILABLE), Nothing),
            Reason::Throttled { retry_after } => (
                Error::Throttled(retry_after),
                Whole(StatusCode::TOO_MANY_REQUESTS, FormError::Throttled(retry_after)),
            ),
            Reason::Busy(busy) => (busy.into(), Unavailable),
            Reason::Store(error @ store::Error::Unavailable(_)) => (error.into(), Unavailable),
            Reason::Store(error) => (error.into(), Nothing),
        };
        Self { json, form }
    }
}

impl From<account::Error> for Error {
    fn from(error: account::Error) -> Self {
        Answers::from(error).json
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
        for (error, expected) in [
            (Reason::EmailTaken, "email"),
            (Reason::AlreadyInvited, "email"),
            (Reason::TooManyRoles, "role"),
            (Reason::WrongCode, "code"),
            (Reason::WrongTotp, "code"),
            (Reason::WrongFactor, "code"),
            (Reason::CodeUsed, "code"),
        ] {
            let At(_, field, _) = Answers::from(error).form else { panic!("{expected}") };
            assert_eq!(field, expected);
        }
    }
}
