//! The words of the administration in German.

use super::{super::examples, AdminTexts, Done};
use crate::{
    doorward::TrailPart, http::api::admin::emergency::EmergencyReport,
    token::signing_keys::KeyStatus,
};

pub(in super::super) const TEXTS: AdminTexts = AdminTexts {
    administration: "Verwaltung",
    menu: "Menü",
    overview: "Übersicht",
    users: "Personen",
    invitations: "Einladungen",
    guards: "Guards",
    refusals: "Ablehnungen",
    audit: "Protokoll",
    keys: "API-Schlüssel",
    signing_keys: "Signaturschlüssel",
    mail: "E-Mail",
    search: "Suchen",
    filter: "Filtern",
    next: "Nächste Seite",
    never: "Nie",
    id: "Kennung",
    time: "Zeit",
    state: "Zustand",
    outcome: "Ergebnis",
    user: "Person",
    nobody: "Niemand",
    unknown: "Unbekannt",
    created: "Erstellt",
    validity: "Gültigkeit",

    // Users.
    all_users: "Alle Personen",
    add_user: "Person hinzufügen",
    name_or_address: "Wortanfang in Name oder Adresse",
    role: "Rolle",
    roles: "Rollen",
    only_disabled: "Nur gesperrte Personen",
    no_users: "Keine Person passt dazu.",
    nobody_found: "Keine Person passt dazu. Die Suche findet, womit Wörter des Namens und der E-Mail-Adresse beginnen: „car“ findet Carl, „arl“ nicht. Prüfen Sie die ersten Buchstaben oder geben Sie weniger Wörter ein.",
    last_sign_in: "Letzte Anmeldung",
    disabled: "Gesperrt",
    without_password: "Ohne Passwort",
    second_factor: "Zweiter Faktor",
    new_user: "Neue Person",
    new_user_explanation: "Das Konto besteht sofort. Mit einer Einladung wählen Personen Name und Passwort selbst.",
    new_user_password_hint: "Ohne Passwort erstellen Sie danach einen Code zum Zurücksetzen.",

    // One user.
    roles_explanation: "Guards und Regeln fragen nach Rollen.",
    no_roles: "Keine Rollen. Mit einer Rolle kommt die Person durch einen Guard, der danach fragt.",
    grant: "Rolle erteilen",
    grant_question: "Das gilt ab der nächsten Anfrage der Person.",
    role_hint: "1 bis 64 Buchstaben, Ziffern und _ - : . /",
    revoke_role_question: "Die Person verliert diese Rolle mit der nächsten Anfrage.",
    verify: "Adresse als bestätigt markieren",
    verify_question: "Nur wenn Sie wissen, dass die Adresse dieser Person gehört: Guards können danach entscheiden.",
    unverify: "Adresse als nicht bestätigt markieren",
    unverify_question: "Guards, die eine bestätigte Adresse verlangen, lehnen diese Person von nun an ab.",
    refused_lately: "Kürzlich abgelehnt",
    refused_lately_explanation: "Was dieser Server der Person seit seinem Start verweigert hat.",
    refused_what: "Was",
    nothing_refused: "Zuletzt wurde nichts abgelehnt.",
    sign_in: "Anmeldung",
    unlock: "Entsperren",
    unlock_question: "Vergisst alle fehlgeschlagenen Anmeldungen dieses Kontos. Die Person kann es sofort wieder versuchen.",
    sessions_explanation: "Wo die Person angemeldet ist.",
    no_sessions: "Die Person ist nirgends angemeldet.",
    end_session_question: "Das Gerät ist mit seiner nächsten Anfrage abgemeldet.",
    end_sessions: "Alle Sitzungen beenden",
    end_sessions_question: "Die Person muss sich überall neu anmelden. Ihre API-Schlüssel gelten weiter.",
    factors_explanation: "Zweite Faktoren und Wege zurück ins Konto.",
    factor: "Faktor",
    no_factors: "Kein zweiter Faktor ist eingerichtet.",
    reset_code: "Code zum Zurücksetzen erstellen",
    reset_code_question: "Damit setzt die Person ein neues Passwort, einmal innerhalb von 30 Minuten. Er ersetzt einen früheren. Vergewissern Sie sich, mit wem Sie sprechen.",
    reset_code_made: "Geben Sie der Person diesen Code. Er gilt einmal, 30 Minuten lang, und wird nicht wieder angezeigt.",
    reset_link: "Dort eingeben",
    set_password: "Passwort setzen",
    set_password_question: "Beendet alle Sitzungen der Person. Sie kennen dann das Passwort: ein Code zum Zurücksetzen ist besser.",
    require_new_password: "Neues Passwort verlangen",
    require_new_password_question: "Beendet alle Sitzungen. Das bisherige Passwort gilt nicht mehr. Die Person setzt ein neues per E-Mail oder mit einem Code.",
    secure: "Konto sichern",
    secure_question: "Nachdem jemand anders darin war. Beendet alle Sitzungen und macht API-Schlüssel, vertraute Browser, Links, Codes und die Einladungen der Person ungültig. Entfernt das Passwort und die zweiten Faktoren der letzten 30 Tage. Die Person erhält per E-Mail einen Link für ein neues Passwort, oder Sie erhalten einen Code für sie. Prüfen Sie zuerst, dass die E-Mail-Adresse ihr gehört.",
    secure_all_factors: "Auch ältere zweite Faktoren entfernen",
    secure_by_hand: "Einen Code anzeigen statt einen Link zu verschicken, weil vielleicht jemand anders die E-Mails liest",
    secured_by_mail: "Das Konto ist gesichert: All das ist beendet. Die E-Mail mit einem Link für ein neues Passwort ist unterwegs.",
    secured_by_code: "Das Konto ist gesichert: All das ist beendet. Geben Sie der Person diesen Code. Damit legt sie ein neues Passwort fest, einmal innerhalb von 30 Minuten. Er wird nicht wieder angezeigt.",
    second_factors_removed: "Entfernte zweite Faktoren",
    earlier_addresses: "Frühere Adressen",
    mailed_to: "Verschickt an",
    user_keys: "API-Schlüssel",
    user_keys_explanation: "Damit kommen Programme der Person durch Guards. Das Ende der Sitzungen beendet sie nicht.",
    no_user_keys: "Die Person hat keinen gültigen Schlüssel.",
    factor_reset: "Link erstellen, der die Faktoren entfernt",
    factor_reset_question: "Für jemanden, der alle verloren hat. Er gilt einmal, 30 Minuten lang, und fragt nach dem Passwort. Die Person erfährt davon per E-Mail.",
    factor_reset_made: "Geben Sie der Person diesen Link. Er gilt einmal, 30 Minuten lang, und wird nicht wieder angezeigt.",
    data: "Daten und Konto",
    data_explanation: "Alles, was über die Person gespeichert ist, und das Ende des Kontos.",
    export_user: "Als JSON herunterladen",
    disable: "Sperren",
    disable_question: "Beendet alle Sitzungen, API-Schlüssel und vertrauten Browser endgültig und lehnt jede Anmeldung ab, bis Sie das Konto wieder freigeben.",
    enable: "Freigeben",
    enable_question: "Die Person kann sich wieder anmelden, mit dem bisherigen Passwort. Wenn jemand anders im Konto war, sichern Sie es zuerst.",
    delete: "Löschen",
    delete_question: "Löscht das Konto und was über die Person gespeichert ist, sofort und endgültig. Das Protokoll behält Kennungen, Arten und Zeiten von Ereignissen als Nachweis, bis ihre Aufbewahrungszeit endet.",

    // Invitations.
    invite_explanation: "Wer die Einladung hat, legt ein Konto mit dieser Adresse an.",
    invite_roles_hint: "Durch Leerzeichen getrennt. Das neue Konto erhält sie.",
    valid_days: "Gültig für Tage",
    by_hand: "Link anzeigen statt zu verschicken",
    by_hand_hint: "Dann gilt die Adresse als nicht bestätigt.",
    revoke_invitation: "Niemand kann damit mehr ein Konto anlegen.",
    invited_by: "Eingeladen von",
    by_operator: "Betreiber",
    no_invitations: "Keine Einladung ist offen.",

    // Refusals.
    live_explanation: "Diese Seite lädt alle 5 Sekunden neu. Das hält Sie nicht angemeldet.",
    reload_by_itself: "Automatisch neu laden",
    stop_reloading: "Nicht mehr neu laden",
    refusals_explanation: "Ein Server behält die letzten 1000 von bekannten und von unbekannten Aufrufern, bis er endet.",
    only_reported: "Nur die, die eingelassen wurden, weil der Guard nur berichtet",
    only_reported_tag: "Eingelassen: nur berichtet",
    refused_tag: "Abgelehnt",
    no_refusals: "Nichts wurde abgelehnt.",
    credential: "Token oder Schlüssel",
    would_be_admitted: "Weg hinein",

    // Overview.
    service: "Dienst",
    decisions: "Entscheidungen der Guards",
    decisions_explanation: "Seit dem Start dieses Servers.",
    open_sessions: "Sitzungen",
    mail_waiting: "Wartende E-Mails",
    mail_given_up: "Aufgegebene E-Mails",
    version: "Version",
    public_address: "Adresse",
    started: "Gestartet",
    database: "Datenbank",
    free_space: "Freier Speicherplatz",
    last_backup: "Letzte Sicherung",
    trail_trouble: |part, since| {
        let what = match part {
            TrailPart::WitnessRefuses => "Der Zeuge lehnt es ab, das Protokoll zu bestätigen",
            TrailPart::WitnessUnreachable => "Der Zeuge des Protokolls ist nicht erreichbar",
            TrailPart::CheckpointFile => {
                "Die Prüfpunkte des Protokolls lassen sich nicht in ihre Datei schreiben"
            }
            TrailPart::Secret => "Das Geheimnis des Protokolls fehlt oder wurde ersetzt",
        };
        format!("{what}, seit {since}. doorward doctor sagt, was zu tun ist.")
    },
    doctor: "Was doorward doctor gefunden hat",
    last_doctor: "Letzter Lauf von doorward doctor",
    certificate_until: "Zertifikat gültig bis",

    // Guards.
    mode: "Modus",
    enforced: "Erzwungen",
    reports: "Berichtet nur",
    admitted: "Eingelassen",
    would_be_refused: "Würde abgelehnt",
    no_guards: "Kein Guard ist deklariert. Fügen Sie einen zu den Einstellungen hinzu.",
    origins: "Apps",
    to_check: "Zu prüfen",
    try_guard: "Was würde er sagen?",
    try_guard_explanation: "Die Entscheidung über eine Person, die sich gerade angemeldet hat. Nichts wird gezählt, und niemand wird angemeldet.",
    try_guard_button: "Entscheidung zeigen",
    user_hint: "Eine Adresse oder eine Kennung.",
    no_such_user: "Diese Person gibt es nicht.",
    invalid_address: "Das ist keine IP-Adresse.",
    method: "Methode",
    host: "Host",
    path: "Pfad",
    address_hint: "Die IP-Adresse des Clients.",
    refused_by_guard: "Kürzlich abgelehnt",
    would_be_refused_by_guard: "Wer kürzlich abgelehnt worden wäre",

    // Signing keys.
    signing_keys_explanation: "Damit werden Token signiert. Apps holen die öffentlichen Hälften.",
    algorithm: "Algorithmus",
    until: "Bis",
    rotate: "Neuen Schlüssel veröffentlichen",
    rotate_question: "Er signiert, sobald alle Apps ihn kennen. Niemand wird abgemeldet.",
    revoke_signing_key: "Lehnt sofort alle seine Token ab. Wer eines hat, meldet sich neu an. Nur wenn er bekannt geworden ist.",

    // Mail.
    mail_explanation: "E-Mails, die auf den Versand warten oder aufgegeben wurden.",
    recipient: "Empfänger",
    attempts_column: "Versuche",
    failure: "Letzter Fehler",
    given_up: "Aufgegeben",
    waits: "Wartet",
    no_mail: "Keine E-Mail wartet, und keine wurde aufgegeben.",
    mail_not_configured: "Dieser Dienst verschickt keine E-Mails. Setzen Sie mail.url und mail.from.",
    retry_mail: "Jetzt erneut versuchen",
    retry_mail_question: "Versucht alle E-Mails, die nicht abgelaufen sind.",

    // API keys.
    new_key: "Neuer Schlüssel einer Maschine",
    new_key_explanation: "Damit weist sich ein Programm aus. Personen erstellen ihre eigenen Schlüssel in ihrem Konto.",
    create_key: "Schlüssel erstellen",
    key_made: "Kopieren Sie diesen Schlüssel jetzt. Er wird nicht wieder angezeigt. Programme senden ihn als Bearer-Token oder als Passwort von HTTP Basic.",
    key: "Schlüssel",
    owner: "Gehört",
    machine: "Einer Maschine",
    scopes: "Was er darf",
    key_name_hint: "Zum Beispiel das Programm, das ihn benutzt.",
    key_condition_hint: concat!(
        "Eine Bedingung in CEL, zum Beispiel ",
        examples::condition!(),
        "."
    ),
    revoke_key_question: "Was ihn benutzt, wird ab der nächsten Anfrage abgelehnt.",
    revoked: "Widerrufen",
    expired: "Abgelaufen",
    deleted_user: "Eine gelöschte Person",
    no_keys: "Es gibt keine API-Schlüssel.",

    // Emergency.
    emergency: "Notfall",
    emergency_explanation: "Nach dem Diebstahl der Datenbank, einer Sicherung oder der Schlüssel.",
    emergency_question: "Ersetzt alle Schlüssel, meldet alle ab, auch Sie, und macht alle Links, Codes, Einladungen und API-Schlüssel ungültig.",
    emergency_passwords: "Welche Passwörter werden entfernt?",
    emergency_all: "Alle",
    emergency_of_role: "Die aller Personen mit der Rolle unten",
    emergency_none: "Keine",
    emergency_role_hint: concat!(
        "Nur wenn Sie das oben gewählt haben, zum Beispiel ",
        examples::role!(),
        "."
    ),
    emergency_done: "Alles ist ersetzt und widerrufen",
    emergency_after: "Alle sind abgemeldet, auch Sie.",
    emergency_summary: |report| {
        let EmergencyReport {
            keys_revoked,
            keys_in_file,
            sessions_ended,
            codes_revoked,
            mails_deleted,
            invitations_revoked,
            api_keys_revoked,
            passwords_removed,
            links_mailed,
        } = report;
        let counted = |count: usize, one: &str, several: &str| {
            format!("{count} {}", if count == 1 { one } else { several })
        };
        let mut lines = vec![
            counted(keys_revoked.len(), "Signaturschlüssel ersetzt", "Signaturschlüssel ersetzt"),
            "Geheimnis der Cookies und Links ersetzt".into(),
            counted(*sessions_ended, "Sitzung beendet", "Sitzungen beendet"),
            counted(*codes_revoked, "Link oder Code ungültig", "Links und Codes ungültig"),
            counted(*mails_deleted, "Mail damit gelöscht", "Mails damit gelöscht"),
            counted(*invitations_revoked, "Einladung ungültig", "Einladungen ungültig"),
            counted(*api_keys_revoked, "API-Schlüssel widerrufen", "API-Schlüssel widerrufen"),
            counted(*passwords_removed, "Passwort entfernt", "Passwörter entfernt"),
        ];
        if *links_mailed > 0 {
            let (one, several) = (
                "Link zu einem neuen Passwort verschickt",
                "Links zu neuen Passwörtern verschickt",
            );
            lines.push(counted(*links_mailed, one, several));
        }
        if !keys_in_file.is_empty() {
            lines.push("Die Schlüssel in der Datei von token.key_file signieren weiter: Ersetzen Sie sie und starten Sie jeden Server neu.".into());
        }
        lines
    },

    // Audit trail.
    proof: "Beweis",
    checkpoint: "Prüfpunkt",
    sign_ins: "Anmeldungen",
    failed_sign_ins: "Fehlgeschlagene Anmeldungen",
    sign_ups: "Neue Konten",
    last_days: "Die letzten 30 Tage",
    days_explanation: "Nach Tagen in UTC. Ein Ereignis zählt innerhalb einer Minute.",
    none_on_any_day: "An keinem Tag.",
    activity: "Aktivität",
    all_activity: "Alle Aktivitäten",
    export: "Exportieren",
    kind: "Art",
    all_kinds: "Alle",
    from: "Von",
    to: "Vor",
    event: "Ereignis",
    by: "durch",
    concerns: "Wer",
    origin: "Von wo",
    failed: "Fehlgeschlagen",
    no_events: "Kein Ereignis passt dazu.",
    counted_at: |at| format!("Gezählt am {at}."),

    failures_counted: |used, size| {
        format!("{used} von {size} Fehlversuchen zählen gegen dieses Konto.")
    },
    chart: |what, days, total, most| {
        format!(
            "{what} an jedem der letzten {days} Tage: {total} insgesamt, höchstens {most} an einem Tag"
        )
    },
    attempts: |count| format!("{count} {}", if count == 1 { "Versuch" } else { "Versuche" }),
    key_stage: |stage| match stage {
        KeyStatus::Next => "Signiert bald",
        KeyStatus::Signing => "Signiert",
        KeyStatus::Verifying | KeyStatus::Retired => "Prüft nur",
        KeyStatus::Refreshing => "Erneuert nur",
    },
    done: |done| match done {
        Done::UserAdded => "Die Person ist hinzugefügt.",
        Done::Changed => "Die Änderungen sind gespeichert.",
        Done::Verified => "Die Adresse gilt als bestätigt.",
        Done::Unverified => "Die Adresse gilt als nicht bestätigt.",
        Done::Granted => "Die Rolle ist erteilt.",
        Done::Revoked => "Das ist widerrufen.",
        Done::Unlocked => "Das Konto ist entsperrt.",
        Done::SessionEnded => "Die Sitzung ist beendet.",
        Done::SessionsEnded => "Alle Sitzungen sind beendet.",
        Done::OnlySessionsEnded => {
            "Alle Sitzungen sind beendet. Die API-Schlüssel der Person gelten weiter: „Konto sichern“ beendet auch sie."
        }
        Done::PasswordSet => "Das Passwort ist gesetzt, und alle Sitzungen sind beendet.",
        Done::NewPasswordRequired => "Die Person muss ein neues Passwort setzen.",
        Done::Disabled => "Das Konto ist gesperrt.",
        Done::Enabled => "Das Konto ist freigegeben.",
        Done::Deleted => "Die Person ist gelöscht.",
        Done::Invited => "Die Einladung ist unterwegs.",
        Done::KeyPublished => "Ein neuer Schlüssel ist veröffentlicht.",
        Done::MailRetried => "Alle E-Mails werden erneut versucht.",
        Done::Confirmed => {
            "Das ist bestätigt. Machen Sie innerhalb der nächsten 10 Minuten weiter."
        }
    },
};
