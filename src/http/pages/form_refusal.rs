//! What a form tells a person whose input was refused: the same error that the JSON API answers, at the field it concerns.

use std::{borrow::Cow, time::Duration};

use axum::{
    http::{StatusCode, header},
    response::Response,
};

use super::text::{FieldFault, FormError};
use crate::{
    fault::Fault,
    http::{Challenge, Error, error::whole_seconds},
};

/// A refused form.
pub(super) struct FormRefusal {
    pub(super) status: StatusCode,
    /// Why the form as a whole was refused.
    pub(super) error: Option<FormError>,
    faults: Vec<(Cow<'static, str>, FieldFault)>,
    retry_after: Option<Duration>,
}

impl FormRefusal {
    /// The refusal for an error. `password_field` is the field with the password that confirms an action.
    ///
    /// # Errors
    /// For an error that is not about the form. It gets a page of its own.
    pub(super) fn of(error: Error, password_field: &'static str) -> Result<Self, Error> {
        let mut status = error.status();
        let (mut faults, mut whole, mut retry_after) = (Vec::new(), None, None);
        match error {
            Error::Invalid(invalid) => {
                faults.extend(invalid.into_iter().map(|(field, fault)| (field, fault.into())));
            }
            Error::EmailTaken => faults.push(("email".into(), Fault::EMAIL_TAKEN.into())),
            // A page asks for a sign-in by its form, not by a challenge.
            Error::Unauthorized(Challenge::InsufficientScope, _) => {
                status = StatusCode::BAD_REQUEST;
                faults.push((password_field.into(), FieldFault::WrongPassword));
            }
            Error::Unauthorized(Challenge::NoCredentials, _) => {
                status = StatusCode::BAD_REQUEST;
                faults.push(("code".into(), FieldFault::WrongCode));
            }
            Error::NotFound => {
                status = StatusCode::BAD_REQUEST;
                whole = Some(FormError::WrongCredentials);
            }
            Error::Throttled(wait) => {
                (whole, retry_after) = (Some(FormError::Throttled(wait)), Some(wait));
            }
            Error::Unavailable(_) => {
                error.log();
                (whole, retry_after) = (Some(FormError::Unavailable), Some(Error::RETRY_AFTER));
            }
            error => return Err(error),
        }
        Ok(Self { status, error: whole, faults, retry_after })
    }

    /// What is wrong with a field.
    pub(super) fn fault(&self, field: &str) -> Option<FieldFault> {
        self.faults.iter().find(|(other, _)| other == field).map(|(_, fault)| *fault)
    }

    /// Adds the headers of the error to the page with the form.
    pub(super) fn with_headers(&self, mut response: Response) -> Response {
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait));
        }
        response
    }
}
