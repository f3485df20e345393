//! A form that was not carried out, as its page shows it.

use std::time::Duration;

use axum::{
    http::{StatusCode, header},
    response::Response,
};

use super::visit::Visit;
use crate::{
    account,
    http::{
        Error,
        account_error::Answers,
        error::whole_seconds,
        form::Form,
        form_problem::{FormAnswer, FormError, FormProblem},
    },
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
    pub(super) problem: FormProblem,
    retry_after: Option<Duration>,
}

impl FormFailure {
    /// The faults that the form has recorded. Nobody types the field with a passkey, so that its fault is told as one of the
    /// whole form.
    pub(super) fn faults_of(form: Form) -> Self {
        let mut problem = FormProblem::default();
        for (field, fault) in form.into_faults() {
            match &*field {
                "credential" => problem.error = Some(FormError::PASSKEY_REFUSED),
                _ => problem.faults.push((field, fault.into())),
            }
        }
        Self::refused(StatusCode::BAD_REQUEST, problem)
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

    fn refused(status: StatusCode, problem: FormProblem) -> Self {
        Self::Refused(FormRefusal { status, problem, retry_after: None })
    }

    fn whole(status: StatusCode, error: FormError) -> Self {
        let retry_after = match error {
            FormError::Throttled(wait) => Some(wait),
            FormError::Says(_) => None,
        };
        Self::Refused(FormRefusal { status, problem: error.into(), retry_after })
    }

    pub(super) fn refused_passkey() -> Self {
        Self::whole(StatusCode::BAD_REQUEST, FormError::PASSKEY_REFUSED)
    }

    pub(super) fn needs_passkey() -> Self {
        Self::whole(StatusCode::BAD_REQUEST, FormError::PASSKEY_NEEDED)
    }

    /// The page does not show the cause, so it is logged.
    fn unavailable(cause: Error) -> Self {
        cause.log();
        Self::Refused(FormRefusal {
            status: StatusCode::SERVICE_UNAVAILABLE,
            problem: FormError::UNAVAILABLE.into(),
            retry_after: Some(Error::RETRY_AFTER),
        })
    }
}

impl From<Option<&FormRefusal>> for FormProblem {
    fn from(refusal: Option<&FormRefusal>) -> Self {
        refusal.map(|refusal| refusal.problem.clone()).unwrap_or_default()
    }
}

impl From<account::Error> for FormFailure {
    fn from(error: account::Error) -> Self {
        let Answers { json, form } = error.into();
        match form {
            FormAnswer::At(status, field, fault) => {
                Self::refused(status, FormProblem::at(field, fault))
            }
            FormAnswer::Whole(status, error) => Self::whole(status, error),
            FormAnswer::Unavailable => Self::unavailable(json),
            FormAnswer::Nothing => Self::Other(json),
        }
    }
}

impl FormFailure {
    /// The failure, with the names that the form has for these fields.
    pub(super) fn renamed(mut self, names: &[(&str, &'static str)]) -> Self {
        if let Self::Refused(refusal) = &mut self {
            for (field, _) in &mut refusal.problem.faults {
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
    fn a_form_has_its_own_names_for_fields() {
        let renamed = FormFailure::from(account::Error::TooManyRoles).renamed(&[("role", "roles")]);
        assert!(renamed.refusal().unwrap().problem.fault("roles").is_some());
    }
}
