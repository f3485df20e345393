//! What else is known of an event, in a sentence. Each function reads the details of some kinds.

use super::{
    EventGroup, LoginRefusal, RegistrationRefusal,
    details::{Details, join},
};
use crate::{
    credential::factor::FactorKind,
    language::{Language, Text},
    session::Method,
    token::one_time::Purpose,
};

type Sentence = Option<String>;

const SESSION: [Text; 2] = [Text::new("session", "Sitzung"), Text::new("sessions", "Sitzungen")];

pub(super) fn registration_refusal(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.registration_refusal()? {
        RegistrationRefusal::NotInvited => Text::new("Without an invitation.", "Ohne Einladung."),
        RegistrationRefusal::Closed => {
            Text::new("Nobody can create an account.", "Niemand kann ein Konto anlegen.")
        }
        RegistrationRefusal::Condition => {
            Text::new("The condition is not true.", "Die Bedingung ist nicht erfüllt.")
        }
        RegistrationRefusal::WrongInvitation => Text::new(
            "The invitation is wrong, has expired or was used.",
            "Die Einladung ist falsch, abgelaufen oder schon benutzt.",
        ),
        RegistrationRefusal::AddressTaken => {
            Text::new("The address has an account.", "Die Adresse hat schon ein Konto.")
        }
    };
    Some(words.of(language).into())
}

pub(super) fn login_refusal(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.login_refusal()? {
        LoginRefusal::UnknownAddress => Text::new("Unknown address.", "Unbekannte Adresse."),
        LoginRefusal::Disabled => Text::new("The account is disabled.", "Das Konto ist gesperrt."),
        LoginRefusal::NoPassword => {
            Text::new("The account has no password.", "Das Konto hat kein Passwort.")
        }
        LoginRefusal::WrongPassword => Text::new("Wrong password.", "Falsches Passwort."),
        LoginRefusal::WrongCode => Text::new("Wrong code of a mail.", "Falscher Code einer Mail."),
        LoginRefusal::WrongFactor => Text::new("Wrong second factor.", "Falscher zweiter Faktor."),
        LoginRefusal::FactorUsed => Text::new(
            "The code of the second factor was used before.",
            "Der Code des zweiten Faktors wurde schon benutzt.",
        ),
        LoginRefusal::Unverified => {
            Text::new("The address is not verified.", "Die Adresse ist nicht bestätigt.")
        }
        LoginRefusal::AccountThrottled => {
            Text::new("Too many attempts on the account.", "Zu viele Versuche bei diesem Konto.")
        }
        LoginRefusal::NetworkThrottled => {
            Text::new("Too many attempts from the network.", "Zu viele Versuche aus diesem Netz.")
        }
        LoginRefusal::Gone => Text::new(
            "The account has changed in the meantime.",
            "Das Konto hat sich währenddessen geändert.",
        ),
    };
    Some(words.of(language).into())
}

pub(super) fn purpose(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.purpose()? {
        Purpose::VerifyEmail => {
            Text::new("To verify the address.", "Um die Adresse zu bestätigen.")
        }
        Purpose::ChangeEmail => Text::new("To change the address.", "Um die Adresse zu ändern."),
        Purpose::RestoreEmail => Text::new(
            "To take back a change of the address.",
            "Um eine Änderung der Adresse rückgängig zu machen.",
        ),
        Purpose::ResetPassword | Purpose::OperatorReset => {
            Text::new("To set a new password.", "Um ein neues Passwort festzulegen.")
        }
        Purpose::SignIn => Text::new("To sign in.", "Um sich anzumelden."),
        Purpose::Invitation => Text::new("With an invitation.", "Mit einer Einladung."),
        Purpose::FactorReset => {
            Text::new("To remove all second factors.", "Um alle zweiten Faktoren zu entfernen.")
        }
    };
    Some(words.of(language).into())
}

pub(super) fn factor(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.factor()? {
        FactorKind::Passkey => Text::new("A passkey.", "Ein Passkey."),
        FactorKind::SecurityKey => Text::new("A security key.", "Ein Sicherheitsschlüssel."),
        FactorKind::Totp => Text::new("An authenticator app.", "Eine Authenticator-App."),
    };
    Some(words.of(language).into())
}

/// How somebody has proved who they are.
pub(super) fn methods(of: &Details<'_>, language: Language) -> Sentence {
    let words = |method: Method| match method {
        Method::Password => Text::new("a password", "Passwort"),
        Method::MailedCode => Text::new("a mailed code", "Code aus einer Mail"),
        Method::Totp => Text::new("a code of an app", "Code einer App"),
        Method::Passkey => Text::new("a passkey", "Passkey"),
        Method::SecurityKey => Text::new("a security key", "Sicherheitsschlüssel"),
        Method::RecoveryCode => Text::new("a recovery code", "Wiederherstellungscode"),
        Method::TrustedDevice => Text::new("a trusted browser", "vertrautem Browser"),
    };
    let methods: Vec<_> =
        of.methods().into_iter().map(|method| words(method).of(language)).collect();
    let and = Text::new("and", "und").of(language);
    let methods = match methods.split_last()? {
        (last, []) => (*last).to_owned(),
        (last, others) => format!("{} {and} {last}", others.join(", ")),
    };
    Some(Text::new("With {}.", "Mit {}.").with(language, &methods))
}

pub(super) fn changed(of: &Details<'_>, language: Language) -> Sentence {
    let words = match (of.is("name"), of.is("email")) {
        (true, true) => Text::new("Both.", "Beide."),
        (true, false) => Text::new("The name.", "Der Name."),
        (false, true) => Text::new("The address.", "Die Adresse."),
        (false, false) => return None,
    };
    Some(words.of(language).into())
}

pub(super) fn verification(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.is("verified") {
        true => Text::new("It counts as verified.", "Sie gilt als bestätigt."),
        false => Text::new("It counts as not verified.", "Sie gilt als nicht bestätigt."),
    };
    Some(words.of(language).into())
}

pub(super) fn taken_back(_: &Details<'_>, language: Language) -> Sentence {
    let words = Text::new(
        "The owner of the address has taken it back.",
        "Die Person, der die Adresse gehört, hat sie zurückgeholt.",
    );
    Some(words.of(language).into())
}

pub(super) fn too_many_mails(_: &Details<'_>, language: Language) -> Sentence {
    let words = Text::new(
        "The address has got too many mails.",
        "Die Adresse hat zu viele Mails bekommen.",
    );
    Some(words.of(language).into())
}

pub(super) fn role(of: &Details<'_>, language: Language) -> Sentence {
    Some(Text::new("Role {}.", "Rolle {}.").with(language, of.text("role")?))
}

pub(super) fn roles(of: &Details<'_>, language: Language) -> Sentence {
    let words = Text::new("With the roles {}.", "Mit den Rollen {}.");
    Some(words.with(language, &of.list("roles")?))
}

pub(super) fn with_hashes(of: &Details<'_>, language: Language) -> Sentence {
    let words = Text::new("With their password hashes.", "Mit den Hashes ihrer Passwörter.");
    of.is("hashes").then(|| words.of(language).into())
}

pub(super) fn app(of: &Details<'_>, language: Language) -> Sentence {
    Some(Text::new("App {}.", "App {}.").with(language, of.text("client")?))
}

pub(super) fn users(of: &Details<'_>, language: Language) -> Sentence {
    of.counted("count", language, Text::new("user", "Person"), Text::new("users", "Personen"))
}

pub(super) fn mails(of: &Details<'_>, language: Language) -> Sentence {
    of.counted("count", language, Text::new("mail", "Mail"), Text::new("mails", "Mails"))
}

pub(super) fn sessions(of: &Details<'_>, language: Language) -> Sentence {
    let [one, several] = SESSION;
    of.counted("count", language, one, several)
}

/// What ended when an account was secured.
pub(super) fn secured(of: &Details<'_>, language: Language) -> Sentence {
    let [session, sessions] = SESSION;
    let key = Text::new("API key", "API-Schlüssel");
    let keys = Text::new("API keys", "API-Schlüssel");
    let factor = Text::new("second factor removed", "zweiter Faktor entfernt");
    let factors = Text::new("second factors removed", "zweite Faktoren entfernt");
    join([
        of.counted_if_any("sessions", language, session, sessions),
        of.counted_if_any("apiKeys", language, key, keys),
        of.counted_if_any("factors", language, factor, factors),
    ])
}

/// What an emergency has revoked.
pub(super) fn revoked(of: &Details<'_>, language: Language) -> Sentence {
    let [session, sessions] = SESSION;
    let password = Text::new("password", "Passwort");
    let passwords = Text::new("passwords", "Passwörter");
    join([
        of.counted_if_any("sessions", language, session, sessions),
        of.counted_if_any("passwords", language, password, passwords),
    ])
}

pub(super) fn guard(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.is("onlyReported") {
        true => Text::new(
            "Guard {} only reports: the person was admitted.",
            "Guard {} berichtet nur: Die Person wurde eingelassen.",
        ),
        false => Text::new("By the guard {}.", "Durch den Guard {}."),
    };
    Some(words.with(language, of.text("guard")?))
}

pub(super) fn guards(of: &Details<'_>, language: Language) -> Sentence {
    let list = |name, words: Text| of.list(name).map(|guards| words.with(language, &guards));
    join([
        list("added", Text::new("New: {}.", "Neu: {}.")),
        list("changed", Text::new("Changed: {}.", "Geändert: {}.")),
        list("removed", Text::new("Removed: {}.", "Entfernt: {}.")),
    ])
}

pub(super) fn signing_key(of: &Details<'_>, language: Language) -> Sentence {
    Some(Text::new("Key {}.", "Schlüssel {}.").with(language, of.text("kid")?))
}

pub(super) fn key_name(of: &Details<'_>, language: Language) -> Sentence {
    Some(Text::new("“{}”.", "„{}“.").with(language, of.text("name")?))
}

pub(super) fn started(of: &Details<'_>, language: Language) -> Sentence {
    let version = Text::new("Version {}.", "Version {}.");
    let guards = Text::new("Guards: {}.", "Guards: {}.");
    let new_key = Text::new("With a new signing key.", "Mit einem neuen Signaturschlüssel.");
    join([
        of.text("version").map(|text| version.with(language, text)),
        of.names("guards").map(|names| guards.with(language, &names)),
        of.is("newSigningKey").then(|| new_key.of(language).into()),
    ])
}

pub(super) fn delivery_failure(of: &Details<'_>, language: Language) -> Sentence {
    let words = Text::new("The failure: “{}”.", "Der Fehler: „{}“.");
    Some(words.with(language, of.text("failure")?))
}

pub(super) fn format(of: &Details<'_>, language: Language) -> Sentence {
    Some(Text::new("As {}.", "Als {}.").with(language, of.text("format")?))
}

pub(super) fn made_at(of: &Details<'_>, language: Language) -> Sentence {
    let words = Text::new("Made on {}.", "Vom {}.");
    Some(words.with(language, &of.moment("madeAt", language)?))
}

pub(super) fn to_database(of: &Details<'_>, language: Language) -> Sentence {
    Some(Text::new("To {}.", "Nach {}.").with(language, of.text("to")?))
}

/// Which events have reached the end of their retention.
pub(super) fn pruned(of: &Details<'_>, language: Language) -> Sentence {
    let sentence = |(group, time): (EventGroup, String)| {
        let words = match group {
            EventGroup::SignIns => Text::new("Sign-ins before {}.", "Anmeldungen vor dem {}."),
            EventGroup::Refusals => Text::new("Refusals before {}.", "Ablehnungen vor dem {}."),
            EventGroup::Orders => {
                Text::new("Changes and orders before {}.", "Änderungen und Anordnungen vor dem {}.")
            }
            EventGroup::Deletions => Text::new("Deletions before {}.", "Löschungen vor dem {}."),
        };
        Some(words.with(language, &time))
    };
    join(of.group_times("before", language)?.map(sentence))
}
