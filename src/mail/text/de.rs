//! The texts of mails in German.

use super::{Attempt, DeletedBy, EndedBy, Invitation, Letter, Texts, Validity};
use crate::{credential::factor::FactorKind, language::Language};

pub(super) static TEXTS: Texts = Texts {
    language: Language::German,
    link_in_full: "Wenn die Schaltfläche nicht funktioniert, öffnen Sie diesen Link:",
    code_beside_link: "Oder geben Sie diesen Code ein, wo Sie danach gefragt werden:",
    code_alone: "Geben Sie diesen Code in der App ein:",
    validity_of_both: |time| format!("Link und Code gelten einmal und {} lang.", words(time)),
    validity_of_link: |time| format!("Der Link gilt einmal und {} lang.", words(time)),
    validity_of_code: |time| format!("Der Code gilt einmal und {} lang.", words(time)),

    verify_email: |service| {
        Letter {
        subject: format!("Bestätigen Sie Ihre E-Mail-Adresse für {service}"),
        heading: "Bestätigen Sie Ihre E-Mail-Adresse",
        paragraphs: vec![format!(
            "Ein Konto bei {service} hat diese Adresse. Bestätigen Sie, dass sie Ihnen gehört."
        )],
        facts: Vec::new(),
        button: "Adresse bestätigen",
        not_you: "Sie haben kein Konto angelegt? Dann bestätigen Sie die Adresse nicht. Mehr müssen Sie nicht tun.".into(),
        reason: address_entered(service),
    }
    },
    change_email: |service| Letter {
        subject: format!("Bestätigen Sie Ihre neue E-Mail-Adresse für {service}"),
        heading: "Bestätigen Sie Ihre neue E-Mail-Adresse",
        paragraphs: vec![format!(
            "Dies soll die neue Adresse eines Kontos bei {service} sein. Bis Sie die neue Adresse bestätigen, gilt die alte."
        )],
        facts: Vec::new(),
        button: "Neue Adresse bestätigen",
        not_you: "Sie wollten das nicht? Dann ignorieren Sie diese Mail. Es ändert sich nichts."
            .into(),
        reason: address_entered(service),
    },
    email_changed: |service| {
        Letter {
        subject: format!("Ihre E-Mail-Adresse für {service} wurde geändert"),
        heading: "Ihre E-Mail-Adresse wurde geändert",
        paragraphs: vec![format!(
            "Ihr Konto bei {service} hat eine neue E-Mail-Adresse. Wenn Sie das waren, müssen Sie nichts tun."
        )],
        facts: Vec::new(),
        button: "Änderung rückgängig machen",
        not_you: "Sie waren das nicht? Dann machen Sie die Änderung gleich rückgängig. Ihr Konto erhält diese Adresse zurück, Sie legen ein neues Passwort fest, und alle werden abgemeldet. Das geht nicht mehr, sobald jemand über die neue Adresse ein neues Passwort festlegt.".into(),
        reason: format!("Sie erhalten diese Mail, weil Ihr Konto bei {service} diese Adresse hatte."),
    }
    },
    reset_password: |service| Letter {
        subject: format!("Neues Passwort für {service}"),
        heading: "Neues Passwort festlegen",
        paragraphs: vec![format!(
            "Jemand hat für Ihr Konto bei {service} ein neues Passwort angefordert. Wenn Sie das waren, legen Sie es jetzt fest. Danach sind Sie auf allen Geräten abgemeldet."
        )],
        facts: Vec::new(),
        button: "Neues Passwort festlegen",
        not_you:
            "Sie waren das nicht? Dann ignorieren Sie diese Mail. Ihr Passwort bleibt, wie es ist."
                .into(),
        reason: your_account(service),
    },
    sign_in: |service| {
        Letter {
        subject: format!("Anmeldung bei {service}"),
        heading: "Anmelden",
        paragraphs: vec![format!("Jemand möchte sich mit Ihrem Konto bei {service} anmelden. Wenn Sie das sind, geht es hier weiter.")],
        facts: Vec::new(),
        button: "Anmelden",
        not_you: "Sie waren das nicht? Dann ignorieren Sie diese Mail und geben Sie den Code niemandem. Ohne ihn kommt niemand hinein.".into(),
        reason: your_account(service),
    }
    },
    has_password: |service| Letter {
        subject: format!("Melden Sie sich bei {service} mit Ihrem Passwort an"),
        heading: "Melden Sie sich mit Ihrem Passwort an",
        paragraphs: vec![format!(
            "Jemand hat einen Code angefordert, um sich mit Ihrem Konto bei {service} anzumelden. Ihr Konto hat ein Passwort, melden Sie sich also damit an. Wenn Sie es vergessen haben, fordern Sie bei der Anmeldung ein neues an."
        )],
        facts: Vec::new(),
        button: "Anmelden",
        not_you:
            "Sie waren das nicht? Dann ignorieren Sie diese Mail. Es hat sich nichts geändert."
                .into(),
        reason: your_account(service),
    },
    already_registered: |service| Letter {
        subject: format!("Sie haben schon ein Konto bei {service}"),
        heading: "Sie haben schon ein Konto",
        paragraphs: vec![format!(
            "Jemand hat diese Adresse bei {service} für ein anderes Konto angegeben. Sie gehört schon zu Ihrem Konto. Wenn Sie das waren, melden Sie sich an. Wenn Sie Ihr Passwort vergessen haben, fordern Sie bei der Anmeldung ein neues an."
        )],
        facts: Vec::new(),
        button: "Anmelden",
        not_you:
            "Sie waren das nicht? Dann ignorieren Sie diese Mail. Es hat sich nichts geändert."
                .into(),
        reason: your_account(service),
    },
    invitation: |service, Invitation { from, until }| {
        let operator = || format!("die Betreiber von {service}");
        let facts = [
            Some(("Von", from.map_or_else(operator, str::to_owned))),
            Some(("Für", format!("ein Konto bei {service}"))),
            until.map(|until| ("Gilt bis", until)),
        ];
        Letter {
        subject: format!("Ihre Einladung zu {service}"),
        heading: "Sie sind eingeladen",
        paragraphs: vec![match from {
            Some(address) => format!("{address} lädt Sie zu {service} ein. Legen Sie mit dieser Adresse ein Konto an."),
            None => format!("Sie sind zu {service} eingeladen. Legen Sie mit dieser Adresse ein Konto an."),
        }],
        facts: facts.into_iter().flatten().collect(),
        button: "Konto anlegen",
        not_you: "Sie wissen nicht, worum es geht? Dann ignorieren Sie diese Mail. Ohne Sie entsteht kein Konto.".into(),
        reason: format!("Sie erhalten diese Mail, weil Sie zu {service} eingeladen wurden."),
    }
    },
    new_sign_in: |service, sign_in| Letter {
        subject: format!("Neue Anmeldung mit Ihrem Konto bei {service}"),
        heading: "Neue Anmeldung",
        paragraphs: vec![format!(
            "Jemand hat sich mit Ihrem Konto bei {service} angemeldet, von einem Gerät oder aus einem Netz, das wir noch nicht kennen. Wenn Sie das waren, müssen Sie nichts tun."
        )],
        facts: facts_of_attempt(sign_in),
        button: "Ihre Sitzungen ansehen",
        not_you: "Sie waren das nicht? Dann beenden Sie diese Sitzung und ändern Sie Ihr Passwort."
            .into(),
        reason: your_account(service),
    },
    password_changed: |service, time| {
        Letter {
        subject: format!("Ihr Passwort für {service} wurde geändert"),
        heading: "Ihr Passwort wurde geändert",
        paragraphs: vec![format!(
            "Das Passwort Ihres Kontos bei {service} wurde geändert. Wenn Sie das waren, müssen Sie nichts tun."
        )],
        facts: vec![("Zeit", time)],
        button: "Neues Passwort festlegen",
        not_you: "Sie waren das nicht? Dann legen Sie jetzt ein neues Passwort fest. Das meldet alle anderen ab.".into(),
        reason: your_account(service),
    }
    },
    sessions_ended: |service, by, time| {
        Letter {
        subject: format!("Sie sind bei {service} abgemeldet"),
        heading: "Sie sind abgemeldet",
        paragraphs: vec![match by {
            EndedBy::Reuse => format!(
                "Eine Sitzung Ihres Kontos bei {service} wurde beendet, weil ihr Schlüssel an zwei Stellen benutzt wurde. Vielleicht hat ihn jemand kopiert."
            ),
            EndedBy::Operator => format!("Die Betreiber von {service} haben Ihre Sitzungen beendet."),
        }],
        facts: vec![("Zeit", time)],
        button: "Anmelden",
        not_you: match by {
            EndedBy::Reuse => "Sie können sich das nicht erklären? Dann melden Sie sich an, sehen Sie Ihre Sitzungen durch und ändern Sie Ihr Passwort.".into(),
            EndedBy::Operator => format!("Sie möchten wissen, warum? Fragen Sie die Betreiber von {service}."),
        },
        reason: your_account(service),
    }
    },
    account_deleted: |service, by, kept_days, time| Letter {
        subject: format!("Ihr Konto bei {service} ist gelöscht"),
        heading: "Ihr Konto ist gelöscht",
        paragraphs: vec![
            match by {
                DeletedBy::User => format!(
                    "Ihr Konto bei {service} und was dort über Sie gespeichert war, sind gelöscht. Wenn Sie das waren, müssen Sie nichts tun."
                ),
                DeletedBy::Operator => format!(
                    "Die Betreiber von {service} haben Ihr Konto gelöscht und was dort über Sie gespeichert war."
                ),
            },
            format!(
                "Was{} bleibt, ist ein Protokoll, das unter der Kennung des Kontos festhält, was wann geschah: ohne Ihren Namen, Ihre Adressen und Ihre Geräte.",
                kept_days.map(|days| format!(" {days} Tage lang")).unwrap_or_default()
            ),
        ],
        facts: vec![("Zeit", time)],
        button: "",
        not_you: match by {
            DeletedBy::User => format!(
                "Sie waren das nicht? Dann sagen Sie es den Betreibern von {service}. Jemand kannte Ihr Passwort."
            ),
            DeletedBy::Operator => {
                format!("Sie möchten wissen, warum? Fragen Sie die Betreiber von {service}.")
            }
        },
        reason: format!(
            "Sie erhalten diese Mail, weil Ihr Konto bei {service} diese Adresse hatte."
        ),
    },
    factor_added: |service, kind, time| {
        let (what, heading, it) = match kind {
            FactorKind::Passkey => ("einen neuen Passkey", "Neuer Passkey", "ihn"),
            FactorKind::SecurityKey => {
                ("einen neuen Sicherheitsschlüssel", "Neuer Sicherheitsschlüssel", "ihn")
            }
            FactorKind::Totp => ("eine neue Authenticator-App", "Neue Authenticator-App", "sie"),
        };
        Letter {
            subject: format!("{heading} für Ihr Konto bei {service}"),
            heading,
            paragraphs: vec![format!(
                "Ihr Konto bei {service} hat {what}. Wenn Sie das waren, müssen Sie nichts tun."
            )],
            facts: vec![("Zeit", time)],
            button: "Ihre zweiten Faktoren ansehen",
            not_you: format!(
                "Sie waren das nicht? Dann entfernen Sie {it} jetzt, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort."
            ),
            reason: your_account(service),
        }
    },
    factor_removed: |service, kind, time| {
        let (what, heading) = match kind {
            FactorKind::Passkey => ("Ein Passkey", "Passkey entfernt"),
            FactorKind::SecurityKey => {
                ("Ein Sicherheitsschlüssel", "Sicherheitsschlüssel entfernt")
            }
            FactorKind::Totp => ("Die Authenticator-App", "Authenticator-App entfernt"),
        };
        Letter {
            subject: format!("{heading}: Ihr Konto bei {service}"),
            heading,
            paragraphs: vec![format!(
                "{what} Ihres Kontos bei {service} wurde entfernt und gilt bei der Anmeldung nicht mehr. Wenn Sie das waren, müssen Sie nichts tun."
            )],
            facts: vec![("Zeit", time)],
            button: "Ihre zweiten Faktoren ansehen",
            not_you: "Sie waren das nicht? Dann ändern Sie jetzt Ihr Passwort und beenden Sie alle anderen Sitzungen.".into(),
            reason: your_account(service),
        }
    },
    key_created: |service, time| {
        Letter {
        subject: format!("Neuer API-Schlüssel für {service}"),
        heading: "Neuer API-Schlüssel",
        paragraphs: vec![format!(
            "Ihr Konto bei {service} hat einen neuen API-Schlüssel, mit dem ein Programm Ihre Apps erreicht. Wenn Sie das waren, müssen Sie nichts tun."
        )],
        facts: vec![("Zeit", time)],
        button: "Ihre Schlüssel ansehen",
        not_you: "Sie waren das nicht? Dann ziehen Sie den Schlüssel jetzt zurück, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort.".into(),
        reason: your_account(service),
    }
    },
    recovery_codes_replaced: |service, time| {
        Letter {
        subject: format!("Neue Wiederherstellungscodes für {service}"),
        heading: "Neue Wiederherstellungscodes",
        paragraphs: vec![format!(
            "Ihr Konto bei {service} hat neue Wiederherstellungscodes. Die alten gelten nicht mehr. Wenn Sie das waren, müssen Sie nichts tun."
        )],
        facts: vec![("Zeit", time)],
        button: "Ihre zweiten Faktoren ansehen",
        not_you: "Sie waren das nicht? Dann erzeugen Sie jetzt neue Codes, beenden Sie alle anderen Sitzungen und ändern Sie Ihr Passwort.".into(),
        reason: your_account(service),
    }
    },
    recovery_code_used: |service, left, time| {
        Letter {
        subject: format!("Wiederherstellungscode bei {service} benutzt"),
        heading: "Ein Wiederherstellungscode wurde benutzt",
        paragraphs: vec![format!(
            "Jemand hat sich mit Ihrem Passwort und einem Wiederherstellungscode bei {service} angemeldet. Wenn Sie das waren, müssen Sie nichts tun. Der Code gilt nicht mehr; an seiner Stelle wurde Ihnen ein neuer gezeigt."
        )],
        facts: vec![("Zeit", time), ("Wiederherstellungscodes", left.to_string())],
        button: "Ihre zweiten Faktoren ansehen",
        not_you: "Sie waren das nicht? Dann ändern Sie Ihr Passwort, erzeugen Sie neue Wiederherstellungscodes und beenden Sie alle anderen Sitzungen. Jemand hat Ihr Passwort und einen Ihrer Codes.".into(),
        reason: your_account(service),
    }
    },
    factor_refused: |service, attempt| {
        Letter {
        subject: format!("Anmeldung bei {service} abgelehnt: zweiter Faktor fehlt"),
        heading: "Vielleicht kennt jemand Ihr Passwort",
        paragraphs: vec![format!(
            "Jemand hat das richtige Passwort Ihres Kontos bei {service} eingegeben, aber nicht den richtigen zweiten Faktor. Die Anmeldung wurde abgelehnt. Wenn Sie das waren, müssen Sie nichts tun."
        )],
        facts: facts_of_attempt(attempt),
        button: "Neues Passwort festlegen",
        not_you: "Sie waren das nicht? Dann kennt jemand Ihr Passwort. Legen Sie jetzt ein neues fest, auch überall sonst, wo Sie es benutzen.".into(),
        reason: your_account(service),
    }
    },
    factors_reset: |service, time| Letter {
        subject: format!("Ihre zweiten Faktoren bei {service} sind entfernt"),
        heading: "Ihre zweiten Faktoren sind entfernt",
        paragraphs: vec![format!(
            "Alle zweiten Faktoren und Wiederherstellungscodes Ihres Kontos bei {service} wurden entfernt, mit einem Link der Betreiber von {service}. Sie sind auf allen Geräten abgemeldet. Wenn Sie das waren, melden Sie sich an und richten Sie einen neuen ein."
        )],
        facts: vec![("Zeit", time)],
        button: "Zweiten Faktor einrichten",
        not_you: format!(
            "Sie waren das nicht? Dann legen Sie jetzt ein neues Passwort fest, und sagen Sie es den Betreibern von {service}."
        ),
        reason: your_account(service),
    },
    factor_reset_link: |service, time| Letter {
        subject: format!("Link zum Entfernen Ihrer zweiten Faktoren bei {service}"),
        heading: "Link zum Entfernen Ihrer zweiten Faktoren",
        paragraphs: vec![format!(
            "Die Betreiber von {service} haben einen Link erzeugt, der alle zweiten Faktoren Ihres Kontos entfernt. Sie erhalten ihn von den Betreibern selbst; er steht nicht in dieser Mail. Er gilt einmal, 30 Minuten lang, und nur mit Ihrem Passwort, wenn Sie eines haben."
        )],
        facts: vec![("Zeit", time)],
        button: "",
        not_you: format!(
            "Sie haben nicht darum gebeten? Dann sagen Sie es sofort den Betreibern von {service}. Vielleicht hat sich jemand für Sie ausgegeben."
        ),
        reason: your_account(service),
    },
    account_secured: |service, time| Letter {
        subject: format!("Neues Passwort nötig: Ihr Konto bei {service}"),
        heading: "Ihr Konto ist gesichert",
        paragraphs: vec![format!(
            "Die Betreiber von {service} haben Ihr Konto gesichert, weil möglicherweise jemand anders es benutzt hat. Sie sind auf allen Geräten abgemeldet. Ihr Passwort, Ihre API-Schlüssel sowie Links und Codes aus früheren Mails gelten nicht mehr. Zweite Faktoren, die vor Kurzem hinzugekommen sind, können entfernt sein. Legen Sie jetzt ein neues Passwort fest und sehen Sie danach Ihre zweiten Faktoren durch."
        )],
        facts: vec![("Zeit", time)],
        button: "Neues Passwort festlegen",
        not_you: format!(
            "Sie möchten wissen, warum, oder der Link gilt nicht mehr? Fragen Sie die Betreiber von {service}."
        ),
        reason: your_account(service),
    },
    password_removed: |service, time| {
        Letter {
        subject: format!("Ihr Passwort bei {service} wurde entfernt: neues festlegen"),
        heading: "Ihr Passwort wurde entfernt",
        paragraphs: vec![format!(
            "Die Betreiber von {service} haben Passwörter entfernt, weil möglicherweise Daten des Dienstes in fremde Hände gelangt sind. Ihr Passwort, Ihre API-Schlüssel sowie Links und Codes aus früheren Mails gelten nicht mehr. Sie sind auf allen Geräten abgemeldet. Legen Sie jetzt ein neues Passwort fest, und ändern Sie das alte überall, wo Sie es sonst noch benutzen."
        )],
        facts: vec![("Zeit", time)],
        button: "Neues Passwort festlegen",
        not_you: "Der Link gilt nicht mehr? Fordern Sie auf der Anmeldeseite mit „Passwort vergessen?“ einen neuen an.".into(),
        reason: your_account(service),
    }
    },
};

fn facts_of_attempt(Attempt { device, address, time }: Attempt) -> Vec<(&'static str, String)> {
    vec![("Gerät", device), ("Netzwerkadresse", address), ("Zeit", time)]
}

fn your_account(service: &str) -> String {
    format!("Sie erhalten diese Mail, weil Ihr Konto bei {service} diese Adresse hat.")
}

fn address_entered(service: &str) -> String {
    format!("Sie erhalten diese Mail, weil jemand diese Adresse bei {service} angegeben hat.")
}

fn words(time: Validity) -> String {
    match time {
        Validity::Days(1) => "1 Tag".into(),
        Validity::Days(count) => format!("{count} Tage"),
        Validity::Hours(1) => "1 Stunde".into(),
        Validity::Hours(count) => format!("{count} Stunden"),
        Validity::Minutes(count) => format!("{count} Minuten"),
    }
}
