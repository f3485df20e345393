//! What a form that was not carried out tells a person.

use std::{borrow::Cow, time::Duration};

use axum::http::StatusCode;

use crate::{
    fault::{Fault, FaultKind},
    language::Text,
};

/// What is wrong with a form, as its page shows it. With a form that was not sent, nothing is.
#[derive(Clone, Debug, Default)]
pub struct FormProblem {
    /// Why the form as a whole was refused.
    pub error: Option<FormError>,
    /// What is wrong with its fields, by the names that the inputs have on the page.
    pub faults: Vec<(Cow<'static, str>, FieldFault)>,
}

impl FormProblem {
    /// A fault of one field.
    pub fn at(field: impl Into<Cow<'static, str>>, fault: FieldFault) -> Self {
        Self { error: None, faults: vec![(field.into(), fault)] }
    }

    /// What is wrong with a field.
    pub fn fault(&self, field: &str) -> Option<FieldFault> {
        self.faults.iter().find(|(other, _)| other == field).map(|(_, fault)| *fault)
    }

    /// Whether the address that was typed has an account.
    pub fn is_email_taken(&self) -> bool {
        self.fault("email") == Some(FieldFault::Rule(FaultKind::EmailTaken))
    }
}

impl From<FormError> for FormProblem {
    fn from(error: FormError) -> Self {
        Self { error: Some(error), faults: Vec::new() }
    }
}

/// What a form tells a person about the reason why it was not carried out.
pub(super) enum FormAnswer {
    /// What is wrong with the field of this name.
    At(StatusCode, &'static str, FieldFault),
    /// Why the form as a whole was refused.
    Whole(StatusCode, FormError),
    /// A temporary internal failure.
    Unavailable,
    /// Nothing: it is not about what the person has typed, or the handler of the form has an answer of its own.
    Nothing,
}

/// What is wrong with one field of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// A rule of the field refuses it.
    Rule(FaultKind),
    /// What these words say.
    Says(Text),
}

impl FieldFault {
    /// It is not the password of the signed-in person.
    pub const WRONG_PASSWORD: Self =
        Self::Says(["This is not your current password.", "Das ist nicht Ihr aktuelles Passwort."]);
    /// It is not a code, or one that was used or has expired.
    pub const WRONG_CODE: Self = Self::Says([
        "This code is wrong, was used already or has expired.",
        "Dieser Code ist falsch, schon benutzt oder abgelaufen.",
    ]);
    /// It is not the code that the authenticator app shows.
    pub const WRONG_TOTP: Self = Self::Says([
        "This code is wrong. The app shows a new one every 30 seconds.",
        "Dieser Code ist falsch. Die App zeigt alle 30 Sekunden einen neuen.",
    ]);
}

impl From<&Fault> for FieldFault {
    fn from(fault: &Fault) -> Self {
        Self::Rule(fault.kind())
    }
}

impl From<Fault> for FieldFault {
    fn from(fault: Fault) -> Self {
        Self::from(&fault)
    }
}

/// Why a form as a whole was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormError {
    /// Too many attempts. The person has to wait this long.
    Throttled(Duration),
    /// What these words say.
    Says(Text),
}

impl FormError {
    /// A temporary internal failure.
    pub const UNAVAILABLE: Self = Self::Says([
        "This is not possible at the moment. Please try again shortly.",
        "Das geht im Moment nicht. Bitte versuchen Sie es gleich noch einmal.",
    ]);
    /// Another account has the address that the link or code is for.
    pub const EMAIL_TAKEN: Self = Self::Says([
        "This address already has an account.",
        "Zu dieser Adresse gibt es schon ein Konto.",
    ]);
    /// Registration is not open for this person.
    pub const MAY_NOT_REGISTER: Self = Self::Says([
        "You cannot create an account with these details. Ask the people who run this service for an invitation.",
        "Mit diesen Angaben können Sie kein Konto anlegen. Bitten Sie die Betreiber dieses Dienstes um eine Einladung.",
    ]);
    /// The passkey or the security key has not proved who the person is.
    pub const PASSKEY_REFUSED: Self = Self::Says([
        "This passkey was not accepted. Try again, or use another way.",
        "Dieser Passkey wurde nicht angenommen. Versuchen Sie es noch einmal oder auf einem anderen Weg.",
    ]);
    /// A password or a code was sent where nothing but a passkey or a security key is enough.
    pub const PASSKEY_NEEDED: Self = Self::Says([
        "Only a passkey or a security key is enough here.",
        "Hier genügt nur ein Passkey oder ein Sicherheitsschlüssel.",
    ]);
}
