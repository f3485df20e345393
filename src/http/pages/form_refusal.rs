//! What a form tells a person when it was not carried out: each error of an account operation, at the field that it concerns, in one
//! place.

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
    account,
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

    fn wrong_password() -> Self {
        let refusal = FormRefusal::new(StatusCode::BAD_REQUEST);
        Self::Refused(FormRefusal { is_password_wrong: true, ..refusal })
    }

    pub(super) fn refused_passkey() -> Self {
        Self::whole(StatusCode::BAD_REQUEST, FormError::PasskeyRefused)
    }

    pub(super) fn needs_passkey() -> Self {
        Self::whole(StatusCode::BAD_REQUEST, FormError::PasskeyNeeded)
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

impl From<account::Error> for FormFailure {
    fn from(error: account::Error) -> Self {
        use account::Error as Reason;
        let field = error.field().unwrap_or_default();
        let at_field = |status, fault| Self::at(status, field, fault);
        let conflict = |error| Self::whole(StatusCode::CONFLICT, error);
        match error {
            Reason::Invalid(invalid) => at_field(StatusCode::BAD_REQUEST, invalid.fault.into()),
            Reason::EmailTaken => at_field(StatusCode::CONFLICT, Fault::EMAIL_TAKEN.into()),
            Reason::AlreadyInvited => at_field(StatusCode::CONFLICT, FieldFault::AlreadyInvited),
            Reason::TooManyRoles => at_field(StatusCode::CONFLICT, FieldFault::TooManyRoles),
            Reason::WrongCode => at_field(StatusCode::BAD_REQUEST, FieldFault::WrongCode),
            Reason::WrongTotp | Reason::WrongFactor => {
                at_field(StatusCode::BAD_REQUEST, FieldFault::WrongTotp)
            }
            Reason::CodeUsed => at_field(StatusCode::BAD_REQUEST, FieldFault::UsedCode),
            Reason::WrongPassword => Self::wrong_password(),

            Reason::WrongCredentials => {
                Self::whole(StatusCode::BAD_REQUEST, FormError::WrongCredentials)
            }
            Reason::InvalidPasskey(_) => Self::refused_passkey(),
            Reason::UnknownPasskey => {
                Self::whole(StatusCode::BAD_REQUEST, FormError::UnknownPasskey)
            }
            Reason::MayNotRegister => Self::whole(StatusCode::FORBIDDEN, FormError::MayNotRegister),
            Reason::RegistrationClosed => conflict(FormError::RegistrationClosed),
            Reason::UserChanged => conflict(FormError::UserChanged),
            Reason::FactorTaken => conflict(FormError::FactorTaken),
            Reason::TooManyPasskeys => conflict(FormError::TooManyPasskeys),
            Reason::LastWayIn => conflict(FormError::LastWayIn),
            Reason::TooManyKeys => conflict(FormError::TooManyKeys),
            Reason::Throttled { retry_after } => Self::Refused(FormRefusal {
                error: Some(FormError::Throttled(retry_after)),
                retry_after: Some(retry_after),
                ..FormRefusal::new(StatusCode::TOO_MANY_REQUESTS)
            }),
            Reason::Busy(_) | Reason::Store(store::Error::Unavailable(_)) => {
                Self::unavailable(error.into())
            }

            // It is not about what the person has typed, or the handler of the form has an answer of its own.
            Reason::NoSuchUser
            | Reason::OwnAccount
            | Reason::OtherOrder
            | Reason::OwnerMailed
            | Reason::MayNotInvite
            | Reason::FactorMissing(_)
            | Reason::ChallengeExpired
            | Reason::SignInAgain
            | Reason::SessionEnded
            | Reason::FactorNotOffered
            | Reason::SetupExpired
            | Reason::NoSuchFactor
            | Reason::MadeByKey
            | Reason::NeedsMail
            | Reason::MailNotConfigured
            | Reason::VerificationUnderWay
            | Reason::SigningKeys(_)
            | Reason::NotAllRevoked(_)
            | Reason::Store(_) => Self::Other(error.into()),
        }
    }
}

impl FormFailure {
    /// The failure, with the names that the form has for these fields.
    pub(super) fn renamed(mut self, names: &[(&str, &'static str)]) -> Self {
        if let Self::Refused(refusal) = &mut self {
            for (field, _) in &mut refusal.faults {
                if let Some((_, input)) = names.iter().find(|(name, _)| name == field) {
                    *field = (*input).into();
                }
            }
        }
        self
    }

    /// A refused second factor, in the words of the form that it came with.
    pub(super) fn of_answer(error: account::Error, kind: AnswerKind) -> Self {
        use account::Error as Reason;
        match (error, kind) {
            (Reason::WrongFactor, AnswerKind::Passkey) => Self::refused_passkey(),
            (Reason::WrongFactor | Reason::CodeUsed, AnswerKind::RecoveryCode) => {
                Reason::WrongCode.into()
            }
            (error, _) => error.into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_at_a_field_names_it() {
        use account::Error as Reason;
        for (error, expected) in [
            (Reason::EmailTaken, "email"),
            (Reason::AlreadyInvited, "email"),
            (Reason::TooManyRoles, "role"),
            (Reason::WrongCode, "code"),
            (Reason::WrongTotp, "code"),
            (Reason::WrongFactor, "code"),
            (Reason::CodeUsed, "code"),
        ] {
            let refusal = FormFailure::from(error).refusal().unwrap();
            assert!(refusal.fault(expected).is_some(), "{expected}");
        }
        let renamed = FormFailure::from(Reason::TooManyRoles).renamed(&[("role", "roles")]);
        assert!(renamed.refusal().unwrap().fault("roles").is_some());
    }
}
