//! The HTTP error for each error of an account operation.

use axum::http::StatusCode;

use crate::{
    account::{
        Failure, InvalidInput, InviteError, OrderError, RegisterError, RoleError, SignInError,
        change::ChangeError,
        keys::KeyError,
        one_time::{MailError, OneTimeError},
        proof::ConfirmError,
        refresh::RefreshError,
        reset::ResetError,
    },
    fault::Fault,
    http::{Challenge, Error, factor_challenge::FactorChallenge},
    token::signing_keys,
};

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Throttled { retry_after } => Self::Throttled(retry_after),
            Failure::Busy(busy) => busy.into(),
            Failure::Store(error) => error.into(),
        }
    }
}

impl From<OrderError> for Error {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::NoSuchUser => Self::NotFound,
            OrderError::UserChanged => {
                Self::NotDone(StatusCode::PRECONDITION_FAILED, error.to_string())
            }
            OrderError::Invalid(invalid) => invalid.into(),
            OrderError::Role(error) => error.into(),
            OrderError::OwnAccount => Self::NotDone(StatusCode::FORBIDDEN, error.to_string()),
            OrderError::Failed(failure) => failure.into(),
        }
    }
}

impl From<RoleError> for Error {
    fn from(error: RoleError) -> Self {
        match error {
            RoleError::Invalid(_) => {
                Self::Invalid(vec![("role".into(), Fault::malformed(error.to_string()))])
            }
            RoleError::TooMany => Self::NotDone(StatusCode::CONFLICT, error.to_string()),
        }
    }
}

impl From<InvalidInput> for Error {
    fn from(invalid: InvalidInput) -> Self {
        Self::Invalid(vec![(invalid.field.into(), invalid.fault)])
    }
}

impl From<RegisterError> for Error {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Invalid(invalid) => invalid.into(),
            RegisterError::NotAllowed => Self::MayNotRegister,
            RegisterError::EmailTaken => Self::EmailTaken,
            RegisterError::OtherOrder => {
                Self::NotDone(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            }
            RegisterError::Mailed => Self::Internal(error.to_string()),
            RegisterError::Failed(failure) => failure.into(),
        }
    }
}

impl From<InviteError> for Error {
    fn from(error: InviteError) -> Self {
        match error {
            InviteError::Invalid(invalid) => invalid.into(),
            // Only the operator chooses roles and lifetimes.
            InviteError::NotAllowed
            | InviteError::Closed
            | InviteError::Role(_)
            | InviteError::Lifetime => Self::MayNotInvite,
            InviteError::OtherOrder => {
                Self::NotDone(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            }
            InviteError::EmailTaken => Self::EmailTaken,
            InviteError::AlreadyInvited => Self::AlreadyInvited,
            InviteError::Failed(failure) => failure.into(),
        }
    }
}

impl From<SignInError> for Error {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::WrongCredentials => Self::NotFound,
            SignInError::FactorMissing(missing) => {
                Self::FactorMissing(Box::new(FactorChallenge::from(&*missing)))
            }
            SignInError::Failed(failure) => failure.into(),
        }
    }
}

impl From<ConfirmError> for Error {
    fn from(error: ConfirmError) -> Self {
        match error {
            // The token stays valid: only this action is refused.
            ConfirmError::WrongPassword => Self::Unauthorized(Challenge::InsufficientScope, None),
            ConfirmError::SignInAgain => Self::SignInAgain,
            ConfirmError::Failed(failure) => failure.into(),
        }
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        let field = match error {
            KeyError::SignInAgain => return Self::SignInAgain,
            KeyError::ByKey => return Self::Unauthorized(Challenge::InsufficientScope, None),
            KeyError::TooMany => return Self::TooManyKeys,
            KeyError::Failed(failure) => return failure.into(),
            KeyError::NoScope | KeyError::Scope(_) => "scopes",
            KeyError::Condition(_) => "allow",
            KeyError::Lifetime(_) => "lifetime",
        };
        Self::Invalid(vec![(field.into(), Fault::malformed(error.to_string()))])
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::WrongPassword => ConfirmError::WrongPassword.into(),
            ChangeError::SignInAgain => ConfirmError::SignInAgain.into(),
            ChangeError::EmailTaken => Self::EmailTaken,
            // The user has been deleted since the token was checked.
            ChangeError::NoSuchUser => Self::Unauthorized(Challenge::InvalidToken, None),
            ChangeError::Failed(failure) => failure.into(),
        }
    }
}

impl From<ResetError> for Error {
    fn from(error: ResetError) -> Self {
        match error {
            // No token was sent, so the challenge has no error code.
            ResetError::WrongCode => Self::Unauthorized(Challenge::NoCredentials, None),
            ResetError::Invalid(invalid) => invalid.into(),
            ResetError::Failed(failure) => failure.into(),
        }
    }
}

impl From<OneTimeError> for Error {
    fn from(error: OneTimeError) -> Self {
        match error {
            OneTimeError::WrongCode => ResetError::WrongCode.into(),
            OneTimeError::EmailTaken => Self::EmailTaken,
            OneTimeError::Invalid(invalid) => invalid.into(),
            OneTimeError::Failed(failure) => failure.into(),
        }
    }
}

impl From<MailError> for Error {
    fn from(error: MailError) -> Self {
        match error {
            MailError::NeedsMail => Self::NeedsMail,
            MailError::Failed(failure) => failure.into(),
        }
    }
}

impl From<RefreshError> for Error {
    fn from(error: RefreshError) -> Self {
        match error {
            RefreshError::TokenReplaced => Self::Unauthorized(Challenge::InvalidToken, None),
            RefreshError::Failed(failure) => failure.into(),
        }
    }
}

impl From<signing_keys::Error> for Error {
    fn from(error: signing_keys::Error) -> Self {
        Self::NotDone(StatusCode::CONFLICT, error.to_string())
    }
}
