//! What is wrong with a form, in words. What a reason of `account/` says stands in its row, in `http/account_error.rs`.

use std::time::Duration;

use super::{Span, Texts, examples};
use crate::{
    fault::FaultKind,
    http::form_problem::{FieldFault, FormError},
};

impl Texts {
    pub fn form_error(&self, error: FormError) -> String {
        match error {
            FormError::Throttled(wait) => self.try_again_in(wait),
            FormError::Says(words) => self.language.choose(words).into(),
        }
    }

    /// There were too many attempts.
    pub(super) fn try_again_in(&self, wait: Duration) -> String {
        self.too_many_attempts(&self.span(Span::to_wait(wait)))
    }

    pub fn field_fault(&self, fault: FieldFault) -> String {
        match fault {
            FieldFault::Rule(broken) => self.broken_rule(broken),
            FieldFault::Says(words) => self.language.choose(words).into(),
        }
    }

    fn broken_rule(&self, broken: FaultKind) -> String {
        let words = match broken {
            FaultKind::TooShort(1) => {
                ["Use at least 1 character.", "Verwenden Sie mindestens 1 Zeichen."]
            }
            FaultKind::TooShort(minimum) => return self.at_least(minimum),
            FaultKind::TooLong(1) => {
                ["Use at most 1 character.", "Verwenden Sie höchstens 1 Zeichen."]
            }
            FaultKind::TooLong(maximum) => return self.at_most(maximum),
            FaultKind::InvalidEmail => [
                concat!("Enter an e-mail address such as ", examples::email!(), "."),
                concat!("Geben Sie eine E-Mail-Adresse wie ", examples::email!(), " ein."),
            ],
            FaultKind::Required => ["Fill in this field.", "Füllen Sie dieses Feld aus."],
            FaultKind::InvalidName => [
                "This name has characters that are not allowed.",
                "Dieser Name enthält Zeichen, die nicht erlaubt sind.",
            ],
            FaultKind::CommonPassword => [
                "Many people use this password. Choose another one.",
                "Viele Leute benutzen dieses Passwort. Wählen Sie ein anderes.",
            ],
            FaultKind::OwnNameOrEmail => [
                "The password must not be your name or e-mail address.",
                "Das Passwort darf nicht Ihr Name oder Ihre E-Mail-Adresse sein.",
            ],
            FaultKind::EmailTaken => [
                "This address already has an account.",
                "Zu dieser Adresse gibt es schon ein Konto.",
            ],
            FaultKind::Malformed => ["This value is not valid.", "Dieser Wert ist nicht gültig."],
            FaultKind::InvalidRole => [
                "Use 1 to 64 letters, digits and _ - : . /",
                "Verwenden Sie 1 bis 64 Buchstaben, Ziffern und _ - : . /",
            ],
            FaultKind::InvalidScope => {
                ["Choose what the key is for.", "Wählen Sie, wofür der Schlüssel ist."]
            }
            FaultKind::InvalidCondition => {
                ["This condition is not valid.", "Diese Bedingung ist nicht gültig."]
            }
            FaultKind::KeyLifetime => [
                "Enter a number of days from 1 to 3660.",
                "Geben Sie eine Anzahl von 1 bis 3660 Tagen ein.",
            ],
            FaultKind::InvitationLifetime => [
                "Enter a number of days from 1 to 90.",
                "Geben Sie eine Anzahl von 1 bis 90 Tagen ein.",
            ],
        };
        self.language.choose(words).into()
    }
}
