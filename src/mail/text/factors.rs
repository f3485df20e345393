//! The letters about second factors and API keys.

use super::{Attempt, Letter, Texts};
use crate::credential::factor::FactorKind;

impl Texts {
    pub fn factor_added(&self, service: &str, kind: FactorKind, time: String) -> Letter {
        // What it is, in a sentence and as the heading, and its pronoun.
        let (what, heading, it) = self.choose(match kind {
            FactorKind::Passkey => [
                ("passkey", "Passkey added", "it"),
                ("einen neuen Passkey", "Neuer Passkey", "ihn"),
            ],
            FactorKind::SecurityKey => [
                ("security key", "Security key added", "it"),
                ("einen neuen Sicherheitsschlüssel", "Neuer Sicherheitsschlüssel", "ihn"),
            ],
            FactorKind::Totp => [
                ("authenticator app", "Authenticator app added", "it"),
                ("eine neue Authenticator-App", "Neue Authenticator-App", "sie"),
            ],
        });
        Letter {
            subject: self.choose([
                format!("New {what} for your account at {service}"),
                format!("{heading} für Ihr Konto bei {service}"),
            ]),
            heading,
            paragraphs: vec![self.choose([
                format!(
                    "Your account at {service} has a new {what}. If you added it, you need not do anything."
                ),
                format!(
                    "Ihr Konto bei {service} hat {what}. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Show your second factors", "Ihre zweiten Faktoren ansehen"]),
            not_you: self.choose([
                format!(
                    "It was not you? Then remove {it} now, end all other sessions and change your password."
                ),
                format!(
                    "Sie waren das nicht? Dann entfernen Sie {it} jetzt, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort."
                ),
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn factor_removed(&self, service: &str, kind: FactorKind, time: String) -> Letter {
        let (what, heading) = self.choose(match kind {
            FactorKind::Passkey => {
                [("A passkey", "Passkey removed"), ("Ein Passkey", "Passkey entfernt")]
            }
            FactorKind::SecurityKey => [
                ("A security key", "Security key removed"),
                ("Ein Sicherheitsschlüssel", "Sicherheitsschlüssel entfernt"),
            ],
            FactorKind::Totp => [
                ("The authenticator app", "Authenticator app removed"),
                ("Die Authenticator-App", "Authenticator-App entfernt"),
            ],
        });
        Letter {
            subject: self.choose([
                format!("{heading} from your account at {service}"),
                format!("{heading}: Ihr Konto bei {service}"),
            ]),
            heading,
            paragraphs: vec![self.choose([
                format!(
                    "{what} of your account at {service} was removed and does not sign you in any more. If you removed it, you need not do anything."
                ),
                format!(
                    "{what} Ihres Kontos bei {service} wurde entfernt und gilt bei der Anmeldung nicht mehr. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Show your second factors", "Ihre zweiten Faktoren ansehen"]),
            not_you: self.say([
                "It was not you? Then change your password now and end all other sessions.",
                "Sie waren das nicht? Dann ändern Sie jetzt Ihr Passwort und beenden Sie alle anderen Sitzungen.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn recovery_codes_replaced(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("New recovery codes for {service}"),
                format!("Neue Wiederherstellungscodes für {service}"),
            ]),
            heading: self.choose(["New recovery codes", "Neue Wiederherstellungscodes"]),
            paragraphs: vec![self.choose([
                format!(
                    "Your account at {service} has new recovery codes. The old ones do not work any more. If you made them, you need not do anything."
                ),
                format!(
                    "Ihr Konto bei {service} hat neue Wiederherstellungscodes. Die alten gelten nicht mehr. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Show your second factors", "Ihre zweiten Faktoren ansehen"]),
            not_you: self.say([
                "It was not you? Then make new codes now, end all other sessions and change your password.",
                "Sie waren das nicht? Dann erzeugen Sie jetzt neue Codes, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort.",
            ]),
            reason: self.your_account(service),
        }
    }

    /// With the number of codes that are left.
    pub fn recovery_code_used(&self, service: &str, left: usize, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("A recovery code was used at {service}"),
                format!("Wiederherstellungscode bei {service} benutzt"),
            ]),
            heading: self.choose([
                "A recovery code was used",
                "Ein Wiederherstellungscode wurde benutzt",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody signed in to your account at {service} with your password and a recovery code. If it was you, you need not do anything. The code does not work again; you were shown a new one in its place."
                ),
                format!(
                    "Jemand hat sich mit Ihrem Passwort und einem Wiederherstellungscode bei {service} angemeldet. Wenn Sie das waren, müssen Sie nichts tun. Der Code gilt nicht mehr; an seiner Stelle wurde Ihnen ein neuer gezeigt."
                ),
            ])],
            facts: vec![
                (self.time, time),
                (self.choose(["Recovery codes", "Wiederherstellungscodes"]), left.to_string()),
            ],
            button: self.choose(["Show your second factors", "Ihre zweiten Faktoren ansehen"]),
            not_you: self.say([
                "It was not you? Then change your password, make new recovery codes and end all other sessions. Somebody has your password and one of your codes.",
                "Sie waren das nicht? Dann ändern Sie Ihr Passwort, erzeugen Sie neue Wiederherstellungscodes und beenden Sie alle anderen Sitzungen. Jemand hat Ihr Passwort und einen Ihrer Codes.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn factor_refused(&self, service: &str, attempt: Attempt) -> Letter {
        Letter {
            subject: self.choose([
                format!("Sign-in refused at {service}: second factor missing"),
                format!("Anmeldung bei {service} abgelehnt: zweiter Faktor fehlt"),
            ]),
            heading: self.choose([
                "Somebody may have your password",
                "Vielleicht kennt jemand Ihr Passwort",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody entered the right password of your account at {service}, but not the right second factor. They were not signed in. If it was you, you need not do anything."
                ),
                format!(
                    "Jemand hat das richtige Passwort Ihres Kontos bei {service} eingegeben, aber nicht den richtigen zweiten Faktor. Die Anmeldung wurde abgelehnt. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.attempt(attempt),
            button: self.choose(["Set a new password", "Neues Passwort festlegen"]),
            not_you: self.say([
                "It was not you? Then somebody knows your password. Set a new one now, also wherever else you use it.",
                "Sie waren das nicht? Dann kennt jemand Ihr Passwort. Legen Sie jetzt ein neues fest, auch überall sonst, wo Sie es benutzen.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn factors_reset(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("Your second factors at {service} are removed"),
                format!("Ihre zweiten Faktoren bei {service} sind entfernt"),
            ]),
            heading: self.choose([
                "Your second factors are removed",
                "Ihre zweiten Faktoren sind entfernt",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "All second factors and recovery codes of your account at {service} were removed, with a link from the people who run {service}. You are signed out on every device. If it was you, sign in and add a new one."
                ),
                format!(
                    "Alle zweiten Faktoren und Wiederherstellungscodes Ihres Kontos bei {service} wurden entfernt, mit einem Link der Betreiber von {service}. Sie sind auf allen Geräten abgemeldet. Wenn Sie das waren, melden Sie sich an und richten Sie einen neuen ein."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Add a second factor", "Zweiten Faktor einrichten"]),
            not_you: self.choose([
                format!(
                    "It was not you? Then set a new password now, and tell the people who run {service}."
                ),
                format!(
                    "Sie waren das nicht? Dann legen Sie jetzt ein neues Passwort fest, und sagen Sie es den Betreibern von {service}."
                ),
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn factor_reset_link(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("A link removes your second factors at {service}"),
                format!("Link zum Entfernen Ihrer zweiten Faktoren bei {service}"),
            ]),
            heading: self.choose([
                "A link removes your second factors",
                "Link zum Entfernen Ihrer zweiten Faktoren",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "The people who run {service} have made a link that removes all second factors of your account. They give it to you themselves; it is not in this mail. It works once, for 30 minutes, and only with your password if you have one."
                ),
                format!(
                    "Die Betreiber von {service} haben einen Link erzeugt, der alle zweiten Faktoren Ihres Kontos entfernt. Sie erhalten ihn von den Betreibern selbst; er steht nicht in dieser Mail. Er gilt einmal, 30 Minuten lang, und nur mit Ihrem Passwort, wenn Sie eines haben."
                ),
            ])],
            facts: self.at(time),
            button: "",
            not_you: self.choose([
                format!(
                    "You did not ask for it? Then tell the people who run {service} at once. Somebody may have pretended to be you."
                ),
                format!(
                    "Sie haben nicht darum gebeten? Dann sagen Sie es sofort den Betreibern von {service}. Vielleicht hat sich jemand für Sie ausgegeben."
                ),
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn key_created(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("New API key for {service}"),
                format!("Neuer API-Schlüssel für {service}"),
            ]),
            heading: self.choose(["New API key", "Neuer API-Schlüssel"]),
            paragraphs: vec![self.choose([
                format!(
                    "Your account at {service} has a new API key, with which a program gets to your apps. If you made it, you need not do anything."
                ),
                format!(
                    "Ihr Konto bei {service} hat einen neuen API-Schlüssel, mit dem ein Programm Ihre Apps erreicht. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Show your keys", "Ihre Schlüssel ansehen"]),
            not_you: self.say([
                "It was not you? Then revoke the key now, end all other sessions and change your password.",
                "Sie waren das nicht? Dann ziehen Sie den Schlüssel jetzt zurück, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn prove_address(&self, service: &str, login: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Your code for {service}"),
                format!("Ihr Code für {service}"),
            ]),
            heading: self.choose(["Confirm this address", "Bestätigen Sie diese Adresse"]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody has signed in to {service} with {login} and says that this address is theirs. If it is you, go on with this code."
                ),
                format!(
                    "Jemand hat sich bei {service} mit {login} angemeldet und sagt, dass diese Adresse ihm gehört. Wenn Sie das sind, geht es mit diesem Code weiter."
                ),
            ])],
            facts: Vec::new(),
            button: "",
            not_you: self.say([
                "It was not you? Then ignore this mail, and give the code to nobody. Nobody gets in without it.",
                "Sie waren das nicht? Dann ignorieren Sie diese Mail und geben Sie den Code niemandem. Ohne ihn kommt niemand hinein.",
            ]),
            reason: self.address_entered(service),
        }
    }

    pub fn identity_linked(&self, service: &str, login: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("{login} signs you in to {service}"),
                format!("{login} meldet Sie bei {service} an"),
            ]),
            heading: self.choose(["Account linked", "Konto verknüpft"]),
            paragraphs: vec![self.choose([
                format!(
                    "An account at {login} now signs you in to your account at {service}. If you linked it, you need not do anything."
                ),
                format!(
                    "Ein Konto bei {login} meldet Sie jetzt mit Ihrem Konto bei {service} an. Wenn Sie es verknüpft haben, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Show your security settings", "Ihre Sicherheit ansehen"]),
            not_you: self.say([
                "It was not you? Then remove the link now, end all other sessions and change your password.",
                "Sie waren das nicht? Dann entfernen Sie die Verknüpfung jetzt, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn identity_unlinked(&self, service: &str, login: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("{login} no longer signs you in to {service}"),
                format!("{login} meldet Sie nicht mehr bei {service} an"),
            ]),
            heading: self.choose(["Link removed", "Verknüpfung entfernt"]),
            paragraphs: vec![self.choose([
                format!(
                    "An account at {login} no longer signs you in to your account at {service}. If you removed the link, you need not do anything."
                ),
                format!(
                    "Ein Konto bei {login} meldet Sie nicht mehr mit Ihrem Konto bei {service} an. Wenn Sie die Verknüpfung entfernt haben, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Show your security settings", "Ihre Sicherheit ansehen"]),
            not_you: self.say([
                "It was not you? Then end all other sessions and change your password.",
                "Sie waren das nicht? Dann beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort.",
            ]),
            reason: self.your_account(service),
        }
    }
}
