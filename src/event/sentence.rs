//! What else is known of an event, in a sentence. Each function reads the details of some kinds.

use super::{
    EventGroup, ExternalFailure, LoginRefusal, RegistrationRefusal,
    details::{Details, join},
};
use crate::{
    credential::factor::FactorKind,
    language::{Language, Text},
    session::Method,
    token::one_time::Purpose,
};

type Sentence = Option<String>;

const SESSION: [Text; 2] = [["session", "Sitzung"], ["sessions", "Sitzungen"]];

const ELSEWHERE: Text = [
    "The domain of the address signs in elsewhere.",
    "Die Domain der Adresse meldet sich woanders an.",
];

pub(super) fn registration_refusal(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.registration_refusal()? {
        RegistrationRefusal::NotInvited => ["Without an invitation.", "Ohne Einladung."],
        RegistrationRefusal::Closed => {
            ["Nobody can create an account.", "Niemand kann ein Konto anlegen."]
        }
        RegistrationRefusal::Condition => {
            ["The condition is not true.", "Die Bedingung ist nicht erfüllt."]
        }
        RegistrationRefusal::WrongInvitation => [
            "The invitation is wrong, has expired or was used.",
            "Die Einladung ist falsch, abgelaufen oder schon benutzt.",
        ],
        RegistrationRefusal::AddressTaken => {
            ["The address has an account.", "Die Adresse hat schon ein Konto."]
        }
        RegistrationRefusal::OnlyElsewhere => ELSEWHERE,
    };
    Some(language.choose(words).into())
}

pub(super) fn login_refusal(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.login_refusal()? {
        LoginRefusal::UnknownAddress => ["Unknown address.", "Unbekannte Adresse."],
        LoginRefusal::Disabled => ["The account is disabled.", "Das Konto ist gesperrt."],
        LoginRefusal::NoPassword => {
            ["The account has no password.", "Das Konto hat kein Passwort."]
        }
        LoginRefusal::WrongPassword => ["Wrong password.", "Falsches Passwort."],
        LoginRefusal::WrongCode => ["Wrong code of a mail.", "Falscher Code einer Mail."],
        LoginRefusal::WrongFactor => ["Wrong second factor.", "Falscher zweiter Faktor."],
        LoginRefusal::FactorUsed => [
            "The code of the second factor was used before.",
            "Der Code des zweiten Faktors wurde schon benutzt.",
        ],
        LoginRefusal::Unverified => {
            ["The address is not verified.", "Die Adresse ist nicht bestätigt."]
        }
        LoginRefusal::OnlyElsewhere => ELSEWHERE,
        LoginRefusal::AccountThrottled => {
            ["Too many attempts on the account.", "Zu viele Versuche bei diesem Konto."]
        }
        LoginRefusal::NetworkThrottled => {
            ["Too many attempts from the network.", "Zu viele Versuche aus diesem Netz."]
        }
        LoginRefusal::Gone => [
            "The account has changed in the meantime.",
            "Das Konto hat sich währenddessen geändert.",
        ],
    };
    Some(language.choose(words).into())
}

pub(super) fn purpose(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.purpose()? {
        Purpose::VerifyEmail => ["To verify the address.", "Um die Adresse zu bestätigen."],
        Purpose::ChangeEmail => ["To change the address.", "Um die Adresse zu ändern."],
        Purpose::RestoreEmail => [
            "To take back a change of the address.",
            "Um eine Änderung der Adresse rückgängig zu machen.",
        ],
        Purpose::ResetPassword | Purpose::OperatorReset => {
            ["To set a new password.", "Um ein neues Passwort festzulegen."]
        }
        Purpose::SignIn => ["To sign in.", "Um sich anzumelden."],
        Purpose::Invitation => ["With an invitation.", "Mit einer Einladung."],
        Purpose::ProveAddress => {
            ["To sign in with another provider.", "Um sich bei einem anderen Anbieter anzumelden."]
        }
        Purpose::FactorReset => {
            ["To remove all second factors.", "Um alle zweiten Faktoren zu entfernen."]
        }
    };
    Some(language.choose(words).into())
}

pub(super) fn factor(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.factor()? {
        FactorKind::Passkey => ["A passkey.", "Ein Passkey."],
        FactorKind::SecurityKey => ["A security key.", "Ein Sicherheitsschlüssel."],
        FactorKind::Totp => ["An authenticator app.", "Eine Authenticator-App."],
    };
    Some(language.choose(words).into())
}

/// How somebody has proved who they are.
pub(super) fn methods(of: &Details<'_>, language: Language) -> Sentence {
    let words = |method: Method| match method {
        Method::Password => ["a password", "Passwort"],
        Method::MailedCode => ["a mailed code", "Code aus einer Mail"],
        Method::Totp => ["a code of an app", "Code einer App"],
        Method::Passkey => ["a passkey", "Passkey"],
        Method::SecurityKey => ["a security key", "Sicherheitsschlüssel"],
        Method::RecoveryCode => ["a recovery code", "Wiederherstellungscode"],
        Method::TrustedDevice => ["a trusted browser", "vertrautem Browser"],
        Method::External => ["a sign-in elsewhere", "Anmeldung bei einem anderen Anbieter"],
        Method::ExternalMfa => ["two factors given there", "zwei dort angegebenen Faktoren"],
    };
    let methods: Vec<_> =
        of.methods().into_iter().map(|method| language.choose(words(method))).collect();
    let and = language.choose(["and", "und"]);
    let methods = match methods.split_last()? {
        (last, []) => (*last).to_owned(),
        (last, others) => format!("{} {and} {last}", others.join(", ")),
    };
    Some(language.fill(["With {}.", "Mit {}."], &methods))
}

/// How somebody has signed in, and where if it was elsewhere.
pub(super) fn sign_in(of: &Details<'_>, language: Language) -> Sentence {
    join([methods(of, language), login(of, language)])
}

/// The login by which somebody has signed in, or was to.
pub(super) fn login(of: &Details<'_>, language: Language) -> Sentence {
    of.text("login").map(|login| language.fill(["Login: {}.", "Login: {}."], login))
}

/// Why a login has signed nobody in.
pub(super) fn external_failure(of: &Details<'_>, language: Language) -> Sentence {
    let why = of.external_failure().map(|failure| match failure {
        ExternalFailure::Cancelled => {
            ["The person has cancelled there.", "Die Person hat dort abgebrochen."]
        }
        ExternalFailure::MustAsk => [
            "The person is not signed in there any more.",
            "Die Person ist dort nicht mehr angemeldet.",
        ],
        ExternalFailure::Attempt => [
            "The attempt was not begun in this browser, has expired or was used.",
            "Der Versuch wurde nicht in diesem Browser begonnen, ist abgelaufen oder verbraucht.",
        ],
        ExternalFailure::Disabled => ["The account is disabled.", "Das Konto ist gesperrt."],
        ExternalFailure::NotAdmitted => [
            "The condition of the login is not true.",
            "Die Bedingung des Logins ist nicht erfüllt.",
        ],
        ExternalFailure::MayNotRegister => {
            ["Registration is not open to them.", "Die Registrierung steht ihnen nicht offen."]
        }
        ExternalFailure::AddressTaken => [
            "The address has an account, which is not linked.",
            "Die Adresse hat ein Konto, das nicht verknüpft ist.",
        ],
        ExternalFailure::AddressNotVerified => {
            ["No verified address is known.", "Keine bestätigte Adresse ist bekannt."]
        }
        ExternalFailure::WrongCode => {
            ["The code for the address was wrong.", "Der Code für die Adresse war falsch."]
        }
        ExternalFailure::IdentityTaken => {
            ["It is linked to another account.", "Sie ist mit einem anderen Konto verknüpft."]
        }
        ExternalFailure::NotAgain => [
            "The provider has not asked the person again.",
            "Der Anbieter hat die Person nicht erneut gefragt.",
        ],
        ExternalFailure::Gone => [
            "The account has changed in the meantime.",
            "Das Konto hat sich währenddessen geändert.",
        ],
        _ => [
            "The provider has not given a valid answer.",
            "Der Anbieter hat nicht gültig geantwortet.",
        ],
    });
    join([login(of, language), why.map(|words| language.choose(words).to_owned())])
}

pub(super) fn changed(of: &Details<'_>, language: Language) -> Sentence {
    let words = match (of.is("name"), of.is("email")) {
        (true, true) => ["Both.", "Beide."],
        (true, false) => ["The name.", "Der Name."],
        (false, true) => ["The address.", "Die Adresse."],
        (false, false) => return None,
    };
    Some(language.choose(words).into())
}

pub(super) fn verification(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.is("verified") {
        true => ["It counts as verified.", "Sie gilt als bestätigt."],
        false => ["It counts as not verified.", "Sie gilt als nicht bestätigt."],
    };
    Some(language.choose(words).into())
}

pub(super) fn taken_back(_: &Details<'_>, language: Language) -> Sentence {
    let words = [
        "The owner of the address has taken it back.",
        "Die Person, der die Adresse gehört, hat sie zurückgeholt.",
    ];
    Some(language.choose(words).into())
}

pub(super) fn too_many_mails(_: &Details<'_>, language: Language) -> Sentence {
    let words = ["The address has got too many mails.", "Die Adresse hat zu viele Mails bekommen."];
    Some(language.choose(words).into())
}

pub(super) fn role(of: &Details<'_>, language: Language) -> Sentence {
    Some(language.fill(["Role {}.", "Rolle {}."], of.text("role")?))
}

pub(super) fn roles(of: &Details<'_>, language: Language) -> Sentence {
    let words = ["With the roles {}.", "Mit den Rollen {}."];
    Some(language.fill(words, &of.list("roles")?))
}

pub(super) fn with_hashes(of: &Details<'_>, language: Language) -> Sentence {
    let words = ["With their password hashes.", "Mit den Hashes ihrer Passwörter."];
    of.is("hashes").then(|| language.choose(words).into())
}

pub(super) fn app(of: &Details<'_>, language: Language) -> Sentence {
    Some(language.fill(["App {}.", "App {}."], of.text("client")?))
}

pub(super) fn users(of: &Details<'_>, language: Language) -> Sentence {
    of.counted("count", language, ["user", "Person"], ["users", "Personen"])
}

pub(super) fn mails(of: &Details<'_>, language: Language) -> Sentence {
    of.counted("count", language, ["mail", "Mail"], ["mails", "Mails"])
}

pub(super) fn sessions(of: &Details<'_>, language: Language) -> Sentence {
    let [one, several] = SESSION;
    of.counted("count", language, one, several)
}

/// What ended when an account was secured.
pub(super) fn secured(of: &Details<'_>, language: Language) -> Sentence {
    let [session, sessions] = SESSION;
    let key = ["API key", "API-Schlüssel"];
    let keys = ["API keys", "API-Schlüssel"];
    let factor = ["second factor removed", "zweiter Faktor entfernt"];
    let factors = ["second factors removed", "zweite Faktoren entfernt"];
    join([
        of.counted_if_any("sessions", language, session, sessions),
        of.counted_if_any("apiKeys", language, key, keys),
        of.counted_if_any("factors", language, factor, factors),
    ])
}

/// What an emergency has revoked.
pub(super) fn revoked(of: &Details<'_>, language: Language) -> Sentence {
    let [session, sessions] = SESSION;
    let password = ["password", "Passwort"];
    let passwords = ["passwords", "Passwörter"];
    join([
        of.counted_if_any("sessions", language, session, sessions),
        of.counted_if_any("passwords", language, password, passwords),
    ])
}

pub(super) fn guard(of: &Details<'_>, language: Language) -> Sentence {
    let words = match of.is("onlyReported") {
        true => [
            "Guard {} only reports: the person was admitted.",
            "Guard {} berichtet nur: Die Person wurde eingelassen.",
        ],
        false => ["By the guard {}.", "Durch den Guard {}."],
    };
    Some(language.fill(words, of.text("guard")?))
}

/// Which guards or logins.
pub(super) fn reloaded(of: &Details<'_>, language: Language) -> Sentence {
    let list = |name, words: Text| of.list(name).map(|names| language.fill(words, &names));
    join([
        list("added", ["New: {}.", "Neu: {}."]),
        list("changed", ["Changed: {}.", "Geändert: {}."]),
        list("removed", ["Removed: {}.", "Entfernt: {}."]),
    ])
}

pub(super) fn signing_key(of: &Details<'_>, language: Language) -> Sentence {
    Some(language.fill(["Key {}.", "Schlüssel {}."], of.text("kid")?))
}

pub(super) fn key_name(of: &Details<'_>, language: Language) -> Sentence {
    Some(language.fill(["“{}”.", "„{}“."], of.text("name")?))
}

pub(super) fn started(of: &Details<'_>, language: Language) -> Sentence {
    let version = ["Version {}.", "Version {}."];
    let guards = ["Guards: {}.", "Guards: {}."];
    let logins = ["Sign-in with: {}.", "Anmeldung über: {}."];
    let new_key = ["With a new signing key.", "Mit einem neuen Signaturschlüssel."];
    join([
        of.text("version").map(|text| language.fill(version, text)),
        of.names("guards").map(|names| language.fill(guards, &names)),
        of.names("logins").map(|names| language.fill(logins, &names)),
        of.is("newSigningKey").then(|| language.choose(new_key).into()),
    ])
}

pub(super) fn delivery_failure(of: &Details<'_>, language: Language) -> Sentence {
    let words = ["The failure: “{}”.", "Der Fehler: „{}“."];
    Some(language.fill(words, of.text("failure")?))
}

pub(super) fn format(of: &Details<'_>, language: Language) -> Sentence {
    Some(language.fill(["As {}.", "Als {}."], of.text("format")?))
}

pub(super) fn made_at(of: &Details<'_>, language: Language) -> Sentence {
    let words = ["Made on {}.", "Vom {}."];
    Some(language.fill(words, &of.moment("madeAt", language)?))
}

pub(super) fn to_database(of: &Details<'_>, language: Language) -> Sentence {
    Some(language.fill(["To {}.", "Nach {}."], of.text("to")?))
}

/// Which events have reached the end of their retention.
pub(super) fn pruned(of: &Details<'_>, language: Language) -> Sentence {
    let sentence = |(group, time): (EventGroup, String)| {
        let words = match group {
            EventGroup::SignIns => ["Sign-ins before {}.", "Anmeldungen vor dem {}."],
            EventGroup::Refusals => ["Refusals before {}.", "Ablehnungen vor dem {}."],
            EventGroup::Orders => {
                ["Changes and orders before {}.", "Änderungen und Anordnungen vor dem {}."]
            }
            EventGroup::Deletions => ["Deletions before {}.", "Löschungen vor dem {}."],
        };
        Some(language.fill(words, &time))
    };
    join(of.group_times("before", language)?.map(sentence))
}
