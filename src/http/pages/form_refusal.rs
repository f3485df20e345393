//! What a form tells a person when it was not carried out: each error of an account operation, at the field that it concerns.

use std::{borrow::Cow, time::Duration};

use axum::{
    http::{StatusCode, header},
    response::Response,
};

use super::{
    text::{FieldFault, FormError},
    visit::Visit,
};
use crate::{
    account::{
        Failure, InvalidInput, InviteError, OrderError, RegisterError, RoleError, SignInError,
        change::ChangeError,
        factor::{EnrolError, answer::AnswerError},
        factor_reset::FactorResetError,
        keys::KeyError,
        one_time::{MailError, OneTimeError},
        proof::ConfirmError,
        register_passkey::PasskeyRegisterError,
        reset::ResetError,
    },
    fault::Fault,
    http::{Error, error::whole_seconds, form::Form},
    store,
};

/// Why a form was not carried out.
pub(super) enum FormFailure {
    /// The person can correct the form, or send it again later.
    Refused(FormRefusal),
    /// It is not about the form. It gets a page of its own.
    Other(Error),
}

/// A refused form.
pub(super) struct FormRefusal {
    status: StatusCode,
    /// Why the form as a whole was refused.
    pub(super) error: Option<FormError>,
    pub(super) faults: Vec<(Cow<'static, str>, FieldFault)>,
    is_password_wrong: bool,
    retry_after: Option<Duration>,
}

impl FormFailure {
    /// The faults that the form has recorded.
    pub(super) fn faults_of(form: Form) -> Self {
        let faults = form.into_faults().into_iter();
        let faults = faults.map(|(field, fault)| (field, fault.into())).collect();
        Self::Refused(FormRefusal { faults, ..FormRefusal::new(StatusCode::BAD_REQUEST) })
    }

    /// The refusal that the form shows.
    ///
    /// # Errors
    /// If the failure is not about the form.
    pub(super) fn refusal(self) -> Result<FormRefusal, Error> {
        match self {
            Self::Refused(refusal) => Ok(refusal),
            Self::Other(error) => Err(error),
        }
    }

    fn at(status: StatusCode, field: &'static str, fault: FieldFault) -> Self {
        let faults = vec![(field.into(), fault)];
        Self::Refused(FormRefusal { faults, ..FormRefusal::new(status) })
    }

    fn whole(status: StatusCode, error: FormError) -> Self {
        Self::Refused(FormRefusal { error: Some(error), ..FormRefusal::new(status) })
    }

    pub(super) fn wrong_password() -> Self {
        let refusal = FormRefusal::new(StatusCode::BAD_REQUEST);
        Self::Refused(FormRefusal { is_password_wrong: true, ..refusal })
    }

    pub(super) fn refused_passkey() -> Self {
        Self::whole(StatusCode::BAD_REQUEST, FormError::PasskeyRefused)
    }

    pub(super) fn needs_passkey() -> Self {
        Self::whole(StatusCode::BAD_REQUEST, FormError::PasskeyNeeded)
    }

    fn wrong_code() -> Self {
        Self::at(StatusCode::BAD_REQUEST, "code", FieldFault::WrongCode)
    }

    fn email_taken() -> Self {
        Self::at(StatusCode::CONFLICT, "email", Fault::EMAIL_TAKEN.into())
    }

    fn may_not_register() -> Self {
        Self::whole(StatusCode::FORBIDDEN, FormError::MayNotRegister)
    }

    /// The page does not show the cause, so it is logged.
    fn unavailable(cause: Error) -> Self {
        cause.log();
        Self::Refused(FormRefusal {
            error: Some(FormError::Unavailable),
            retry_after: Some(Error::RETRY_AFTER),
            ..FormRefusal::new(StatusCode::SERVICE_UNAVAILABLE)
        })
    }
}

impl FormRefusal {
    fn new(status: StatusCode) -> Self {
        let (error, faults, retry_after) = (None, Vec::new(), None);
        Self { status, error, faults, is_password_wrong: false, retry_after }
    }

    /// What is wrong with a field.
    pub(super) fn fault(&self, field: &str) -> Option<FieldFault> {
        self.faults.iter().find(|(other, _)| other == field).map(|(_, fault)| *fault)
    }

    /// Why the form as a whole was refused, also if it has a credential that cannot be read.
    pub(super) fn passkey_error(&self) -> Option<FormError> {
        self.error.or(self.fault("credential").map(|_| FormError::PasskeyRefused))
    }

    /// What is wrong with the field with the current password of the signed-in person.
    pub(super) fn password_fault(&self, field: &str) -> Option<FieldFault> {
        self.fault(field).or(self.is_password_wrong.then_some(FieldFault::WrongPassword))
    }
}

impl From<Failure> for FormFailure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Throttled { retry_after } => Self::Refused(FormRefusal {
                error: Some(FormError::Throttled(retry_after)),
                retry_after: Some(retry_after),
                ..FormRefusal::new(StatusCode::TOO_MANY_REQUESTS)
            }),
            Failure::Busy(busy) => Self::unavailable(busy.into()),
            Failure::Store(error) => error.into(),
        }
    }
}

impl From<store::Error> for FormFailure {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::EmailTaken => Self::email_taken(),
            store::Error::BeyondAuthority
            | store::Error::RoleBeyondAuthority
            | store::Error::RightLost => Self::Other(error.into()),
            store::Error::Unavailable(_) => Self::unavailable(error.into()),
            store::Error::Failed(_) => Self::Other(error.into()),
        }
    }
}

impl From<OrderError> for FormFailure {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::UserChanged => Self::whole(StatusCode::CONFLICT, FormError::UserChanged),
            OrderError::Invalid(invalid) => invalid.into(),
            OrderError::Role(error) => Self::of_role("role", error),
            OrderError::NoSuchUser | OrderError::OwnAccount => Self::Other(error.into()),
            OrderError::Failed(failure) => failure.into(),
        }
    }
}

impl From<InvalidInput> for FormFailure {
    fn from(invalid: InvalidInput) -> Self {
        Self::at(StatusCode::BAD_REQUEST, invalid.field, invalid.fault.into())
    }
}

impl From<RegisterError> for FormFailure {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Invalid(invalid) => invalid.into(),
            RegisterError::NotAllowed => Self::may_not_register(),
            RegisterError::EmailTaken => Self::email_taken(),
            RegisterError::Mailed | RegisterError::OtherOrder => Self::Other(error.into()),
            RegisterError::Failed(failure) => failure.into(),
        }
    }
}

impl From<PasskeyRegisterError> for FormFailure {
    fn from(error: PasskeyRegisterError) -> Self {
        match error {
            PasskeyRegisterError::Register(error) => error.into(),
            PasskeyRegisterError::Passkey(error) => error.into(),
        }
    }
}

impl From<InviteError> for FormFailure {
    fn from(error: InviteError) -> Self {
        match error {
            InviteError::Invalid(invalid) => invalid.into(),
            InviteError::EmailTaken => Self::email_taken(),
            InviteError::AlreadyInvited => {
                Self::at(StatusCode::CONFLICT, "email", FieldFault::AlreadyInvited)
            }
            InviteError::Closed => Self::whole(StatusCode::CONFLICT, FormError::RegistrationClosed),
            InviteError::Role(error) => Self::of_role("roles", error),
            InviteError::Lifetime => {
                Self::at(StatusCode::BAD_REQUEST, "days", FieldFault::InvalidDays)
            }
            InviteError::NotAllowed | InviteError::OtherOrder => Self::Other(error.into()),
            InviteError::Failed(failure) => failure.into(),
        }
    }
}

impl FormFailure {
    fn of_role(field: &'static str, error: RoleError) -> Self {
        match error {
            RoleError::Invalid(_) => {
                Self::at(StatusCode::BAD_REQUEST, field, FieldFault::InvalidRole)
            }
            RoleError::TooMany => Self::at(StatusCode::CONFLICT, field, FieldFault::TooManyRoles),
        }
    }
}

impl FormFailure {
    /// Why an administrator has not made the key of a machine.
    pub(super) fn of_machine_key(error: KeyError) -> Self {
        let at = |field, fault| Self::at(StatusCode::BAD_REQUEST, field, fault);
        match error {
            KeyError::NoScope | KeyError::Scope(_) => at("scopes", FieldFault::NoScope),
            KeyError::Condition(_) => at("allow", FieldFault::InvalidCondition),
            KeyError::Lifetime(_) => at("days", FieldFault::InvalidKeyDays),
            error => error.into(),
        }
    }
}

impl From<SignInError> for FormFailure {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::WrongCredentials => {
                Self::whole(StatusCode::BAD_REQUEST, FormError::WrongCredentials)
            }
            // Its page is the answer.
            SignInError::FactorMissing(_) => Self::Other(error.into()),
            SignInError::Failed(failure) => failure.into(),
        }
    }
}

impl FormFailure {
    /// A refused second factor. An answer that came too late is not about the form.
    pub(super) fn of_answer(error: AnswerError, kind: AnswerKind) -> Self {
        let status = StatusCode::BAD_REQUEST;
        match (error, kind) {
            (AnswerError::Failed(failure), _) => failure.into(),
            (AnswerError::UnknownPasskey, _) => Self::whole(status, FormError::UnknownPasskey),
            (_, AnswerKind::Passkey) => Self::whole(status, FormError::PasskeyRefused),
            (AnswerError::CodeUsed, AnswerKind::Totp) => {
                Self::at(status, "code", FieldFault::UsedCode)
            }
            (_, AnswerKind::Totp) => Self::at(status, "code", FieldFault::WrongTotp),
            (_, AnswerKind::RecoveryCode) => Self::wrong_code(),
        }
    }
}

/// What a person has answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    Passkey,
    Totp,
    RecoveryCode,
}

impl From<EnrolError> for FormFailure {
    fn from(error: EnrolError) -> Self {
        match error {
            EnrolError::WrongCode => {
                Self::at(StatusCode::BAD_REQUEST, "code", FieldFault::WrongTotp)
            }
            EnrolError::Invalid(_) => {
                Self::whole(StatusCode::BAD_REQUEST, FormError::PasskeyRefused)
            }
            EnrolError::Taken => Self::whole(StatusCode::CONFLICT, FormError::FactorTaken),
            EnrolError::TooMany => Self::whole(StatusCode::CONFLICT, FormError::TooManyPasskeys),
            EnrolError::LastWayIn => Self::whole(StatusCode::CONFLICT, FormError::LastWayIn),
            EnrolError::SignInAgain
            | EnrolError::NotOffered
            | EnrolError::Expired
            | EnrolError::NoSuchFactor => Self::Other(error.into()),
            EnrolError::Failed(failure) => failure.into(),
        }
    }
}

impl From<KeyError> for FormFailure {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::TooMany => Self::whole(StatusCode::CONFLICT, FormError::TooManyKeys),
            KeyError::SignInAgain
            | KeyError::ByKey
            | KeyError::NoScope
            | KeyError::Scope(_)
            | KeyError::Condition(_)
            | KeyError::Lifetime(_) => Self::Other(error.into()),
            KeyError::Failed(failure) => failure.into(),
        }
    }
}

impl From<ConfirmError> for FormFailure {
    fn from(error: ConfirmError) -> Self {
        match error {
            ConfirmError::WrongPassword => Self::wrong_password(),
            ConfirmError::SignInAgain => Self::Other(Error::SignInAgain),
            ConfirmError::Failed(failure) => failure.into(),
        }
    }
}

impl From<ChangeError> for FormFailure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::WrongPassword => Self::wrong_password(),
            ChangeError::SignInAgain => Self::Other(Error::SignInAgain),
            ChangeError::EmailTaken => Self::email_taken(),
            ChangeError::NoSuchUser => Self::Other(error.into()),
            ChangeError::Failed(failure) => failure.into(),
        }
    }
}

impl From<ResetError> for FormFailure {
    fn from(error: ResetError) -> Self {
        match error {
            ResetError::WrongCode => Self::wrong_code(),
            ResetError::Invalid(invalid) => invalid.into(),
            ResetError::Failed(failure) => failure.into(),
        }
    }
}

impl From<FactorResetError> for FormFailure {
    fn from(error: FactorResetError) -> Self {
        match error {
            FactorResetError::WrongLink => Self::wrong_code(),
            FactorResetError::WrongPassword => Self::wrong_password(),
            FactorResetError::Failed(failure) => failure.into(),
        }
    }
}

impl From<OneTimeError> for FormFailure {
    fn from(error: OneTimeError) -> Self {
        match error {
            OneTimeError::WrongCode => Self::wrong_code(),
            OneTimeError::EmailTaken => Self::email_taken(),
            OneTimeError::Invalid(invalid) => invalid.into(),
            OneTimeError::Failed(failure) => failure.into(),
        }
    }
}

impl From<MailError> for FormFailure {
    fn from(error: MailError) -> Self {
        match error {
            MailError::NeedsMail => Self::Other(error.into()),
            MailError::Failed(failure) => failure.into(),
        }
    }
}

impl Visit {
    /// A page with a form that may lead to the origin of an app, with the status and headers of its refusal.
    pub(super) fn form(
        &self,
        html: String,
        refusal: Option<&FormRefusal>,
        app_origin: Option<&str>,
    ) -> Response {
        let status = refusal.map_or(StatusCode::OK, |refusal| refusal.status);
        let mut response = self.page_for_app(status, html, app_origin);
        if let Some(wait) = refusal.and_then(|refusal| refusal.retry_after) {
            response.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait));
        }
        response
    }
}
