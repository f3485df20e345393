//! What a form tells a person whose input was refused: the same error that the JSON API answers, at the field it concerns.

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
    fault::Fault,
    http::{Challenge, Error, error::whole_seconds},
};

/// A refused form.
pub(super) struct FormRefusal {
    status: StatusCode,
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
            Error::AlreadyInvited => faults.push(("email".into(), FieldFault::AlreadyInvited)),
            Error::MayNotRegister => whole = Some(FormError::MayNotRegister),
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
