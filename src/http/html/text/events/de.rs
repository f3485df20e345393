//! German.

use super::{Details, EventTexts, details::join};
use crate::{
    credential::factor::FactorKind,
    event::{EventGroup, EventName, LoginRefusal, RegistrationRefusal},
    language::Language,
    session::Method,
    token::one_time::Purpose,
};

pub(in super::super) const TEXTS: EventTexts =
    EventTexts { words, unknown: "Unbekanntes Ereignis" };

/// A line for each kind: what it is called, and a sentence with what else is known.
fn words(name: EventName, of: &Details<'_>) -> (&'static str, Option<String>) {
    match name {
        EventName::Registered => ("Konto angelegt", roles(of)),
        EventName::RegistrationRefused => {
            ("Registrierung abgelehnt", of.registration_refusal().map(registration))
        }
        EventName::UserAdded => ("Konto von der Verwaltung angelegt", None),
        EventName::UsersImported => {
            ("Personen importiert", of.counted("count", "Person", "Personen"))
        }
        EventName::UserImported => ("Konto importiert", roles(of)),
        EventName::ImportedHashDropped => ("Übernommenes Passwort entfernt", None),
        EventName::UserChanged => ("Name oder E-Mail-Adresse geändert", changed(of)),
        EventName::UserDisabled => ("Konto gesperrt", None),
        EventName::UserEnabled => ("Konto freigegeben", None),
        EventName::UserSecured => ("Konto gesichert: alle Zugänge sind beendet", secured(of)),
        EventName::UserDeleted => ("Konto gelöscht", None),
        EventName::UnverifiedUserDeleted => (
            "Unbestätigtes Konto gelöscht",
            Some("Die Person, der die Adresse gehört, hat sie zurückgeholt.".into()),
        ),
        EventName::RoleGranted => ("Rolle erteilt", role(of)),
        EventName::RoleRevoked => ("Rolle entzogen", role(of)),
        EventName::AccountExported => ("Daten des Kontos exportiert", None),
        EventName::UsersExported => (
            "Alle Personen exportiert",
            of.is("hashes").then(|| "Mit den Hashes ihrer Passwörter.".into()),
        ),
        EventName::VerificationRequested => ("Bestätigungsmail angefordert", None),
        EventName::EmailChangeRequested => ("Änderung der E-Mail-Adresse angefordert", None),
        EventName::EmailChangeCancelled => ("Änderung der E-Mail-Adresse verworfen", None),
        EventName::EmailVerified => ("E-Mail-Adresse bestätigt", of.purpose().map(purpose)),
        EventName::EmailVerificationSet => (
            "Bestätigung der E-Mail-Adresse geändert",
            Some(
                if of.is("verified") {
                    "Sie gilt als bestätigt."
                } else {
                    "Sie gilt als nicht bestätigt."
                }
                .into(),
            ),
        ),
        EventName::EmailRestored => ("E-Mail-Adresse wiederhergestellt", None),
        EventName::MailRequested => ("Mail angefordert", of.purpose().map(purpose)),
        EventName::MailWithheld => {
            ("Mail zurückgehalten", Some("Die Adresse hat zu viele Mails bekommen.".into()))
        }
        EventName::PasswordChanged => ("Passwort geändert", None),
        EventName::PasswordReset => ("Passwort zurückgesetzt", None),
        EventName::ResetFailed => ("Falscher Link oder Code für ein neues Passwort", None),
        EventName::PasswordRemoved => ("Passwort von der Verwaltung entfernt", None),
        EventName::ResetCodeCreated => ("Code für ein neues Passwort erstellt", None),
        EventName::UnknownSecret => ("Unbekannter Link oder Code", None),
        EventName::SignedIn => ("Angemeldet", with(of)),
        EventName::FactorAsked => {
            ("Nach dem zweiten Faktor gefragt, der erste wurde angegeben", with(of))
        }
        EventName::SignInFailed => ("Anmeldung fehlgeschlagen", of.login_refusal().map(login)),
        EventName::SignedInToApp => ("Bei einer App angemeldet", None),
        EventName::SignedOut => ("Abgemeldet", None),
        EventName::SessionEnded => ("Sitzung beendet", None),
        EventName::SessionEndedByClient => (
            "Sitzung von einer App beendet",
            of.text("client").map(|client| format!("App {client}.")),
        ),
        EventName::SessionsEnded => {
            ("Alle Sitzungen beendet", of.counted("count", "Sitzung", "Sitzungen"))
        }
        EventName::TokenReused => {
            ("Ein altes Token wurde erneut benutzt, die Sitzung ist beendet", None)
        }
        EventName::SteppedUp => ("Erneut bestätigt", with(of)),
        EventName::FactorAdded => ("Zweiter Faktor hinzugefügt", of.factor().map(factor)),
        EventName::FactorRemoved => ("Zweiter Faktor entfernt", of.factor().map(factor)),
        EventName::PasskeyRenamed => ("Passkey umbenannt", None),
        EventName::RecoveryCodesReplaced => ("Wiederherstellungscodes ersetzt", None),
        EventName::TrustedDeviceRemoved => ("Vertrauter Browser entfernt", None),
        EventName::FactorResetCreated => ("Link zum Entfernen der zweiten Faktoren erstellt", None),
        EventName::FactorsReset => ("Alle zweiten Faktoren entfernt", None),
        EventName::AccountUnlocked => ("Konto nach fehlgeschlagenen Anmeldungen entsperrt", None),
        EventName::Invited => ("Jemand eingeladen", roles(of)),
        EventName::InvitationRevoked => ("Einladung zurückgezogen", None),
        EventName::EverythingRevoked => ("Notfall: alles widerrufen", revoked(of)),
        EventName::ServiceStarted => ("Dienst gestartet", started(of)),
        EventName::ServiceStopped => ("Dienst beendet", None),
        EventName::SigningKeyRotated => ("Neuer Signaturschlüssel veröffentlicht", key(of)),
        EventName::SigningKeyRevoked => ("Signaturschlüssel widerrufen", key(of)),
        EventName::GuardsReloaded => ("Guards neu geladen", guards(of)),
        EventName::MailRetried => ("Mails erneut versucht", of.counted("count", "Mail", "Mails")),
        EventName::KeyCreated => {
            ("API-Schlüssel erstellt", of.text("name").map(|name| format!("„{name}“.")))
        }
        EventName::KeyRevoked => {
            ("API-Schlüssel widerrufen", of.text("name").map(|name| format!("„{name}“.")))
        }
        EventName::GuardRefused if of.is("onlyReported") => {
            ("Zugang zu einer App wäre verweigert worden", guard(of))
        }
        EventName::GuardRefused => ("Zugang zu einer App verweigert", guard(of)),
        EventName::MailGivenUp => (
            "Eine Mail war nicht zustellbar",
            of.text("failure").map(|failure| format!("Der Fehler: „{failure}“.")),
        ),
        EventName::AuditExported => {
            ("Protokoll exportiert", of.text("format").map(|format| format!("Als {format}.")))
        }
        EventName::BackupMade => ("Sicherung erstellt", None),
        EventName::BackupRestored => (
            "Sicherung wiederhergestellt",
            of.moment("madeAt", Language::German).map(|made| format!("Vom {made}.")),
        ),
        EventName::DataMoved => (
            "Daten in eine andere Datenbank kopiert",
            of.text("to").map(|to| format!("Nach {to}.")),
        ),
        EventName::AuditSecretReplaced => ("Geheimnis des Protokolls ersetzt", None),
        EventName::TrailPruned => ("Alte Ereignisse gelöscht", pruned(of)),
        EventName::EventsLeftOut => ("Nicht aufgezeichnete Ereignisse", of.counts(&TEXTS)),
    }
}

fn registration(reason: RegistrationRefusal) -> String {
    match reason {
        RegistrationRefusal::NotInvited => "Ohne Einladung.",
        RegistrationRefusal::Closed => "Niemand kann ein Konto anlegen.",
        RegistrationRefusal::Condition => "Die Bedingung ist nicht erfüllt.",
        RegistrationRefusal::WrongInvitation => {
            "Die Einladung ist falsch, abgelaufen oder schon benutzt."
        }
        RegistrationRefusal::AddressTaken => "Die Adresse hat schon ein Konto.",
    }
    .into()
}

fn login(reason: LoginRefusal) -> String {
    match reason {
        LoginRefusal::UnknownAddress => "Unbekannte Adresse.",
        LoginRefusal::Disabled => "Das Konto ist gesperrt.",
        LoginRefusal::NoPassword => "Das Konto hat kein Passwort.",
        LoginRefusal::WrongPassword => "Falsches Passwort.",
        LoginRefusal::WrongCode => "Falscher Code einer Mail.",
        LoginRefusal::WrongFactor => "Falscher zweiter Faktor.",
        LoginRefusal::FactorUsed => "Der Code des zweiten Faktors wurde schon benutzt.",
        LoginRefusal::Unverified => "Die Adresse ist nicht bestätigt.",
        LoginRefusal::AccountThrottled => "Zu viele Versuche bei diesem Konto.",
        LoginRefusal::NetworkThrottled => "Zu viele Versuche aus diesem Netz.",
        LoginRefusal::Gone => "Das Konto hat sich währenddessen geändert.",
    }
    .into()
}

fn purpose(purpose: Purpose) -> String {
    match purpose {
        Purpose::VerifyEmail => "Um die Adresse zu bestätigen.",
        Purpose::ChangeEmail => "Um die Adresse zu ändern.",
        Purpose::RestoreEmail => "Um eine Änderung der Adresse rückgängig zu machen.",
        Purpose::ResetPassword | Purpose::OperatorReset => "Um ein neues Passwort festzulegen.",
        Purpose::SignIn => "Um sich anzumelden.",
        Purpose::Invitation => "Mit einer Einladung.",
        Purpose::FactorReset => "Um alle zweiten Faktoren zu entfernen.",
    }
    .into()
}

fn factor(kind: FactorKind) -> String {
    match kind {
        FactorKind::Passkey => "Ein Passkey.",
        FactorKind::SecurityKey => "Ein Sicherheitsschlüssel.",
        FactorKind::Totp => "Eine Authenticator-App.",
    }
    .into()
}

fn with(of: &Details<'_>) -> Option<String> {
    let methods = of.methods("und", |method| match method {
        Method::Password => "Passwort",
        Method::MailedCode => "Code aus einer Mail",
        Method::Totp => "Code einer App",
        Method::Passkey => "Passkey",
        Method::SecurityKey => "Sicherheitsschlüssel",
        Method::RecoveryCode => "Wiederherstellungscode",
        Method::TrustedDevice => "vertrautem Browser",
    });
    methods.map(|methods| format!("Mit {methods}."))
}

fn changed(of: &Details<'_>) -> Option<String> {
    match (of.is("name"), of.is("email")) {
        (true, true) => Some("Beide."),
        (true, false) => Some("Der Name."),
        (false, true) => Some("Die Adresse."),
        (false, false) => None,
    }
    .map(Into::into)
}

fn role(of: &Details<'_>) -> Option<String> {
    of.text("role").map(|role| format!("Rolle {role}."))
}

fn roles(of: &Details<'_>) -> Option<String> {
    of.list("roles").map(|roles| format!("Mit den Rollen {roles}."))
}

fn secured(of: &Details<'_>) -> Option<String> {
    join([
        of.counted_if_any("sessions", "Sitzung", "Sitzungen"),
        of.counted_if_any("apiKeys", "API-Schlüssel", "API-Schlüssel"),
        of.counted_if_any("factors", "zweiter Faktor entfernt", "zweite Faktoren entfernt"),
    ])
}

fn pruned(of: &Details<'_>) -> Option<String> {
    of.pruned(Language::German, |group, time| {
        let events = match group {
            EventGroup::SignIns => "Anmeldungen",
            EventGroup::Refusals => "Ablehnungen",
            EventGroup::Orders => "Änderungen und Anordnungen",
            EventGroup::Deletions => "Löschungen",
        };
        format!("{events} vor dem {time}.")
    })
}

fn guard(of: &Details<'_>) -> Option<String> {
    let guard = of.text("guard")?;
    Some(match of.is("onlyReported") {
        true => format!("Guard {guard} berichtet nur: Die Person wurde eingelassen."),
        false => format!("Durch den Guard {guard}."),
    })
}

fn key(of: &Details<'_>) -> Option<String> {
    of.text("kid").map(|kid| format!("Schlüssel {kid}."))
}

fn started(of: &Details<'_>) -> Option<String> {
    let version = of.text("version").map(|version| format!("Version {version}."));
    let guards = of.names("guards").map(|guards| format!("Guards: {guards}."));
    let new_key = of.is("newSigningKey").then(|| "Mit einem neuen Signaturschlüssel.".to_owned());
    join([version, guards, new_key])
}

fn guards(of: &Details<'_>) -> Option<String> {
    let list = |name, words| of.list(name).map(|guards| format!("{words}: {guards}."));
    join([list("added", "Neu"), list("changed", "Geändert"), list("removed", "Entfernt")])
}

fn revoked(of: &Details<'_>) -> Option<String> {
    join([
        of.counted_if_any("sessions", "Sitzung", "Sitzungen"),
        of.counted_if_any("passwords", "Passwort", "Passwörter"),
    ])
}
