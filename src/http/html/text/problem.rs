//! What a form can be told: faults of single fields, and failures of the whole form.

use std::time::Duration;

use super::{Span, Texts, examples};
use crate::fault::{Fault, FaultKind};

/// What is wrong with one field of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// A rule of the field refuses it.
    Rule(FaultKind),
    /// It is not the password of the signed-in person.
    WrongPassword,
    TooManyRoles,
    /// Somebody else has invited the address.
    AlreadyInvited,
    /// It is not a code, or one that was used or has expired.
    WrongCode,
    /// It is not the code that the authenticator app shows.
    WrongTotp,
    /// The code of the authenticator app was used.
    UsedCode,
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
    /// Sign-in failed. The reason must not be told.
    WrongCredentials,
    /// Too many attempts. The person has to wait this long.
    Throttled(Duration),
    /// A temporary internal failure.
    Unavailable,
    /// Another account has the address that the link or code is for.
    EmailTaken,
    /// Registration is not open for this person.
    MayNotRegister,
    /// The passkey or the security key has not proved who the person is.
    PasskeyRefused,
    /// A password or a code was sent where nothing but a passkey or a security key is enough.
    PasskeyNeeded,
    /// No user has the passkey.
    UnknownPasskey,
    /// The passkey exists, or there is an authenticator app.
    FactorTaken,
    TooManyPasskeys,
    /// The user whom an order is about has changed in the meantime.
    UserChanged,
    /// Nobody can register, even with an invitation.
    RegistrationClosed,
    /// API keys.
    TooManyKeys,
    /// The person could not sign in without it.
    LastWayIn,
}

impl Texts {
    pub fn form_error(&self, error: FormError) -> String {
        let words = match error {
            FormError::Throttled(wait) => return self.try_again_in(wait),
            FormError::WrongCredentials => [
                "E-mail address and password do not match. Check both and try again.",
                "E-Mail-Adresse und Passwort passen nicht zusammen. Prüfen Sie beides.",
            ],
            FormError::Unavailable => [
                "This is not possible at the moment. Please try again shortly.",
                "Das geht im Moment nicht. Bitte versuchen Sie es gleich noch einmal.",
            ],
            FormError::EmailTaken => [
                "This address already has an account.",
                "Zu dieser Adresse gibt es schon ein Konto.",
            ],
            FormError::MayNotRegister => [
                "You cannot create an account with these details. Ask the people who run this service for an invitation.",
                "Mit diesen Angaben können Sie kein Konto anlegen. Bitten Sie die Betreiber dieses Dienstes um eine Einladung.",
            ],
            FormError::PasskeyRefused => [
                "This passkey was not accepted. Try again, or use another way.",
                "Dieser Passkey wurde nicht angenommen. Versuchen Sie es noch einmal oder auf einem anderen Weg.",
            ],
            FormError::PasskeyNeeded => [
                "Only a passkey or a security key is enough here.",
                "Hier genügt nur ein Passkey oder ein Sicherheitsschlüssel.",
            ],
            FormError::UnknownPasskey => [
                "This passkey is not known here. It may have been removed. Sign in another way.",
                "Dieser Passkey ist hier nicht bekannt. Vielleicht wurde er entfernt. Melden Sie sich auf einem anderen Weg an.",
            ],
            FormError::FactorTaken => ["This is set up already.", "Das ist schon eingerichtet."],
            FormError::TooManyPasskeys => [
                "You cannot have more passkeys. Remove one first.",
                "Mehr Passkeys sind nicht möglich. Entfernen Sie zuerst einen.",
            ],
            FormError::UserChanged => [
                "Somebody has changed this user in the meantime. Look again, and repeat it.",
                "Jemand hat diese Person inzwischen geändert. Sehen Sie nach, und wiederholen Sie es.",
            ],
            FormError::RegistrationClosed => [
                "Nobody can create an account: the setting registration is \"closed\".",
                "Niemand kann ein Konto anlegen: die Einstellung registration ist \"closed\".",
            ],
            FormError::TooManyKeys => [
                "You cannot have more keys. Revoke one first.",
                "Mehr Schlüssel sind nicht möglich. Ziehen Sie zuerst einen zurück.",
            ],
            FormError::LastWayIn => [
                "This is the last way to sign in to your account. Set a password or add another passkey first.",
                "Das ist der letzte Weg, sich bei Ihrem Konto anzumelden. Legen Sie zuerst ein Passwort fest oder fügen Sie einen anderen Passkey hinzu.",
            ],
        };
        self.language.choose(words).into()
    }

    /// There were too many attempts.
    pub(super) fn try_again_in(&self, wait: Duration) -> String {
        self.too_many_attempts(&self.span(Span::to_wait(wait)))
    }

    pub fn field_fault(&self, fault: FieldFault) -> String {
        let words = match fault {
            FieldFault::Rule(FaultKind::TooShort(1)) => {
                ["Use at least 1 character.", "Verwenden Sie mindestens 1 Zeichen."]
            }
            FieldFault::Rule(FaultKind::TooShort(minimum)) => return self.at_least(minimum),
            FieldFault::Rule(FaultKind::TooLong(1)) => {
                ["Use at most 1 character.", "Verwenden Sie höchstens 1 Zeichen."]
            }
            FieldFault::Rule(FaultKind::TooLong(maximum)) => return self.at_most(maximum),
            FieldFault::Rule(FaultKind::InvalidEmail) => [
                concat!("Enter an e-mail address such as ", examples::email!(), "."),
                concat!("Geben Sie eine E-Mail-Adresse wie ", examples::email!(), " ein."),
            ],
            FieldFault::Rule(FaultKind::Required) => {
                ["Fill in this field.", "Füllen Sie dieses Feld aus."]
            }
            FieldFault::Rule(FaultKind::InvalidName) => [
                "This name has characters that are not allowed.",
                "Dieser Name enthält Zeichen, die nicht erlaubt sind.",
            ],
            FieldFault::Rule(FaultKind::CommonPassword) => [
                "Many people use this password. Choose another one.",
                "Viele Leute benutzen dieses Passwort. Wählen Sie ein anderes.",
            ],
            FieldFault::Rule(FaultKind::OwnNameOrEmail) => [
                "The password must not be your name or e-mail address.",
                "Das Passwort darf nicht Ihr Name oder Ihre E-Mail-Adresse sein.",
            ],
            FieldFault::Rule(FaultKind::EmailTaken) => [
                "This address already has an account.",
                "Zu dieser Adresse gibt es schon ein Konto.",
            ],
            FieldFault::Rule(FaultKind::Malformed) => {
                ["This value is not valid.", "Dieser Wert ist nicht gültig."]
            }
            FieldFault::WrongPassword => {
                ["This is not your current password.", "Das ist nicht Ihr aktuelles Passwort."]
            }
            FieldFault::Rule(FaultKind::InvalidRole) => [
                "Use 1 to 64 letters, digits and _ - : . /",
                "Verwenden Sie 1 bis 64 Buchstaben, Ziffern und _ - : . /",
            ],
            FieldFault::Rule(FaultKind::InvalidScope) => {
                ["Choose what the key is for.", "Wählen Sie, wofür der Schlüssel ist."]
            }
            FieldFault::Rule(FaultKind::InvalidCondition) => {
                ["This condition is not valid.", "Diese Bedingung ist nicht gültig."]
            }
            FieldFault::Rule(FaultKind::KeyLifetime) => [
                "Enter a number of days from 1 to 3660.",
                "Geben Sie eine Anzahl von 1 bis 3660 Tagen ein.",
            ],
            FieldFault::TooManyRoles => [
                "A user cannot have more roles. Revoke one first.",
                "Mehr Rollen kann eine Person nicht haben. Entziehen Sie zuerst eine.",
            ],
            FieldFault::Rule(FaultKind::InvitationLifetime) => [
                "Enter a number of days from 1 to 90.",
                "Geben Sie eine Anzahl von 1 bis 90 Tagen ein.",
            ],
            FieldFault::AlreadyInvited => [
                "Somebody else has invited this address already.",
                "Diese Adresse hat schon jemand anderes eingeladen.",
            ],
            FieldFault::WrongCode => [
                "This code is wrong, was used already or has expired.",
                "Dieser Code ist falsch, schon benutzt oder abgelaufen.",
            ],
            FieldFault::WrongTotp => [
                "This code is wrong. The app shows a new one every 30 seconds.",
                "Dieser Code ist falsch. Die App zeigt alle 30 Sekunden einen neuen.",
            ],
            FieldFault::UsedCode => [
                "This code was used already. Wait for the next one.",
                "Dieser Code wurde schon benutzt. Warten Sie auf den nächsten.",
            ],
        };
        self.language.choose(words).into()
    }
}
