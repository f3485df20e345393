//! The texts about signing in with another provider.

use super::Texts;
use crate::{
    event::ExternalFailure,
    language::{Language, Text, texts},
};

texts! {
    /// The texts about signing in with another provider in one language.
    pub struct LoginTexts {
        logins: "Other accounts that sign you in", "Andere Konten, die Sie anmelden";
        logins_explanation:
            "Whoever gets into one of these accounts gets into yours here, too.",
            "Wer in eines dieser Konten kommt, kommt auch in Ihres hier.";
        no_identities: "No other account signs you in.", "Kein anderes Konto meldet Sie an.";
        link_button: "Link it", "Verknüpfen";
        do_not_link: "Do not link it", "Nicht verknüpfen";
        /// The button that asks whose address it is.
        prove_heading: "Confirm your address", "Bestätigen Sie Ihre Adresse";
        send_code: "Send code", "Code senden";
        go_on: "Continue", "Weiter";
        unverified_heading: "Is this account yours?", "Ist das Ihr Konto?";
        it_is_mine: "It is mine: sign in to it", "Es ist meins: damit anmelden";
        replace_explanation:
            "It is not yours? Then it is deleted with everything in it, and you get a new one.",
            "Es ist nicht Ihres? Dann wird es mit allem darin gelöscht, und Sie bekommen ein neues.";
        replace: "Not mine: delete it", "Nicht meins: löschen";
        other_address: "Use another address", "Andere Adresse verwenden";
    }

    impl LoginTexts {
        continue_with(login: &str): "Continue with {login}", "Weiter mit {login}";
        link(login: &str): "Link {login}", "{login} verknüpfen";
        remove_identity(login: &str): "Remove {login}", "{login} entfernen";
        link_question(login: &str): "Link your account at {login}?", "Ihr Konto bei {login} verknüpfen?";
        link_explanation(display: &str):
            "From then on, {display} signs you in here. Link it only if it is yours.",
            "Danach meldet {display} Sie hier an. Verknüpfen Sie es nur, wenn es Ihnen gehört.";
        unverified_explanation(email: &str):
            "An account here has the address {email}, but nobody has confirmed that. If you made it, sign in to it once, and then link the other one.",
            "Ein Konto hier hat die Adresse {email}, aber niemand hat das bestätigt. Wenn Sie es angelegt haben, melden Sie sich einmal damit an und verknüpfen Sie dann das andere.";
        prove_explanation(login: &str):
            "{login} does not vouch for an address of yours. We mail you a code, to make sure.",
            "{login} bürgt für keine Ihrer Adressen. Wir senden Ihnen einen Code, um sicherzugehen.";
    }
}

/// What a person is told whom a login has not signed in: what happened, with `{}` for the name of the login, and what they can do.
fn in_words(failure: ExternalFailure) -> (Text, Text) {
    use ExternalFailure as Failure;
    match failure {
        Failure::Cancelled => (
            ["You were not signed in", "Sie wurden nicht angemeldet"],
            [
                "You cancelled there. Try again, or sign in another way.",
                "Sie haben dort abgebrochen. Versuchen Sie es noch einmal, oder melden Sie sich auf einem anderen Weg an.",
            ],
        ),
        Failure::Unreachable => (
            ["{} does not answer", "{} antwortet nicht"],
            [
                "Try again in a few minutes, or sign in another way.",
                "Versuchen Sie es in einigen Minuten noch einmal, oder melden Sie sich auf einem anderen Weg an.",
            ],
        ),
        Failure::Attempt | Failure::Gone => (
            ["Please start again", "Bitte beginnen Sie noch einmal"],
            [
                "This sign-in took too long, was used already or began in another browser.",
                "Diese Anmeldung hat zu lange gedauert, wurde schon benutzt oder in einem anderen Browser begonnen.",
            ],
        ),
        Failure::Disabled => (
            ["This account is disabled", "Dieses Konto ist gesperrt"],
            [
                "Ask the people who run this service for help.",
                "Bitten Sie die Betreiber dieses Dienstes um Hilfe.",
            ],
        ),
        Failure::NotAdmitted | Failure::MayNotRegister => (
            ["You cannot get an account this way", "So bekommen Sie kein Konto"],
            [
                "New accounts are not open to everybody here. Ask the people who run this service, or use another account there.",
                "Neue Konten stehen hier nicht allen offen. Fragen Sie die Betreiber dieses Dienstes, oder nehmen Sie dort ein anderes Konto.",
            ],
        ),
        Failure::AddressTaken | Failure::IdentityTaken => (
            ["That account is in use", "Dieses Konto wird schon benutzt"],
            [
                "It is linked to another account here. Sign in to that one, or use another account there.",
                "Es ist mit einem anderen Konto hier verknüpft. Melden Sie sich damit an, oder nehmen Sie dort ein anderes Konto.",
            ],
        ),
        Failure::AddressNotVerified => (
            ["No confirmed address", "Keine bestätigte Adresse"],
            [
                "The other provider does not vouch for an e-mail address of yours. Confirm one there, or sign in another way.",
                "Der andere Anbieter bürgt für keine Ihrer E-Mail-Adressen. Bestätigen Sie dort eine, oder melden Sie sich auf einem anderen Weg an.",
            ],
        ),
        Failure::WrongCode => (
            ["The code is wrong", "Der Code ist falsch"],
            ["Go back and check it.", "Gehen Sie zurück und prüfen Sie ihn."],
        ),
        Failure::NotAgain => (
            ["You were not asked again", "Sie wurden nicht erneut gefragt"],
            [
                "The other provider has not asked you again who you are. Confirm it another way.",
                "Der andere Anbieter hat Sie nicht erneut gefragt, wer Sie sind. Bestätigen Sie es auf einem anderen Weg.",
            ],
        ),
        _ => (
            ["The answer of {} does not count", "Die Antwort von {} gilt nicht"],
            [
                "Sign in another way, and tell the people who run this service.",
                "Melden Sie sich auf einem anderen Weg an, und sagen Sie den Betreibern dieses Dienstes Bescheid.",
            ],
        ),
    }
}

impl Texts {
    /// What a person is told whom a login has not signed in: what happened, and what they can do.
    pub fn not_signed_in(&self, failure: ExternalFailure, login: &str) -> (String, &'static str) {
        let (heading, explanation) = in_words(failure);
        (self.language.choose(heading).replace("{}", login), self.language.choose(explanation))
    }
}
