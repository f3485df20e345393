//! What a person lacks whom a guard has refused, and can reach.

use super::Texts;
use crate::access::guard::{Ask, Missing};

impl Texts {
    /// For what the person lacks and can reach.
    pub fn missing(&self, missing: Missing) -> &'static str {
        self.language.choose(match missing {
            Missing::VerifiedEmail => [
                "This would be admitted with a confirmed e-mail address.",
                "Mit einer bestätigten E-Mail-Adresse wäre das erlaubt.",
            ],
            Missing::SecondFactor => [
                "This would be admitted with a second factor. None that suffices is set up.",
                "Mit einem zweiten Faktor wäre das erlaubt. Es ist keiner eingerichtet, der genügt.",
            ],
            Missing::Passkey => [
                "This would be admitted with a passkey. None is set up.",
                "Mit einem Passkey wäre das erlaubt. Es ist keiner eingerichtet.",
            ],
            Missing::StepUp(Ask::Again) => [
                "This would be admitted after signing in again.",
                "Nach einer erneuten Anmeldung wäre das erlaubt.",
            ],
            Missing::StepUp(Ask::TwoFactors) => [
                "This would be admitted with two factors.",
                "Mit zwei Faktoren wäre das erlaubt.",
            ],
            Missing::StepUp(Ask::PhishingResistant) => [
                "This would be admitted with a passkey.",
                "Mit einem Passkey wäre das erlaubt.",
            ],
        })
    }
}
