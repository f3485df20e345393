//! The texts about second factors in German.

use super::{Ask, Before, FactorTexts, Follows};

pub(in super::super) const TEXTS: FactorTexts = FactorTexts {
    sign_in_with_passkey: "Mit einem Passkey anmelden",
    passkey_failed: "Das hat nicht geklappt. Versuchen Sie es noch einmal oder auf einem anderen Weg.",
    needs_script: "Passkeys und Sicherheitsschlüssel brauchen JavaScript. In diesem Browser ist es ausgeschaltet.",
    factor_heading: "Bestätigen Sie, dass Sie es sind",
    factor_explanation: "Ihr Konto ist durch einen zweiten Faktor geschützt.",
    totp_code: "Code aus Ihrer Authenticator-App",
    totp_code_hint: "6 Ziffern.",
    trust: "Diesem Browser 30 Tage vertrauen",
    trust_hint: "Hier genügt dann das Passwort. Nur auf einem Gerät, das niemand sonst benutzt.",
    confirm: "Bestätigen",
    use_passkey: "Passkey verwenden",
    use_key: "Sicherheitsschlüssel verwenden",
    use_recovery_code: "Wiederherstellungscode verwenden",
    recovery_code: "Wiederherstellungscode",
    recovery_code_hint: "25 Zeichen. Jeder Code gilt einmal.",
    step_up_for: |app, ask| match ask {
        Ask::Again => format!("{app} möchte, dass Sie sich noch einmal ausweisen"),
        Ask::TwoFactors => format!("{app} verlangt Ihren zweiten Faktor"),
        Ask::PhishingResistant => format!("{app} verlangt Ihren Passkey"),
    },
    step_up_reason: |ask| match ask {
        Ask::Again => "Ihre letzte Anmeldung liegt für diese App zu lange zurück.",
        Ask::TwoFactors => "Ein Passwort allein genügt für diese App nicht.",
        Ask::PhishingResistant => {
            "Diese App verlangt einen Passkey oder einen Sicherheitsschlüssel. Ein Passwort oder ein Code genügt nicht."
        }
    },
    step_up_heading: "Bitte bestätigen Sie, dass Sie es sind",
    before: |before| match before {
        Before::Account => {
            "Bevor Sie Ihr Konto ändern oder Ihre Daten herunterladen, gehen wir sicher."
        }
        Before::Email => "Bevor Sie Ihre E-Mail-Adresse ändern, gehen wir sicher.",
        Before::Password => "Bevor Sie Ihr Passwort ändern, gehen wir sicher.",
        Before::Delete => "Bevor Sie Ihr Konto löschen, gehen wir sicher.",
        Before::Keys => "Bevor Sie einen Schlüssel anlegen oder widerrufen, gehen wir sicher.",
        Before::Factors => "Bevor Sie ändern, wie Sie sich anmelden, gehen wir sicher.",
        Before::Passkey => "Bevor Sie einen Passkey hinzufügen, gehen wir sicher.",
        Before::SecurityKey => "Bevor Sie einen Sicherheitsschlüssel hinzufügen, gehen wir sicher.",
        Before::App => "Bevor Sie eine Authenticator-App einrichten, gehen wir sicher.",
        Before::Administration => "Bevor Sie in der Verwaltung etwas ändern, gehen wir sicher.",
    },
    follows: |follows| match follows {
        Follows::Code => "Danach werden Sie nach einem Code aus Ihrer Authenticator-App gefragt.",
        Follows::SecurityKey => "Danach werden Sie nach Ihrem Sicherheitsschlüssel gefragt.",
        Follows::Factor => "Danach werden Sie nach Ihrem zweiten Faktor gefragt.",
    },
    step_up_explanation: |email| format!("Sie sind als {email} angemeldet."),
    new_code_heading: "Ihr neuer Wiederherstellungscode",
    new_code_explanation: "Der benutzte Code gilt nicht mehr. Bewahren Sie stattdessen diesen auf. Er wird nicht noch einmal gezeigt.",
    go_on: "Weiter",
    replace_lost: "Verlorenes ersetzen",

    security: "Anmeldung und Sicherheit",
    security_explanation: "Passkeys, Codes und vertraute Browser.",
    show_security: "Ansehen",
    app_asks: |app| {
        format!(
            "{app} verlangt einen zweiten Faktor. Richten Sie hier einen ein. Danach geht es weiter."
        )
    },
    app_asks_for_passkey: |app| {
        format!(
            "{app} verlangt einen Passkey. Fügen Sie hier einen hinzu oder einen Sicherheitsschlüssel. Danach geht es weiter."
        )
    },
    confirm_first: "Um hier etwas zu ändern, bestätigen Sie zuerst, dass Sie es sind.",
    passkeys: "Passkeys",
    passkeys_explanation: "Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder Bildschirmsperre an. Ein Sicherheitsschlüssel folgt auf das Passwort.",
    no_passkeys: "Sie haben noch keine Passkeys.",
    lacks_passkeys: "Unter dieser Adresse können Sie keine Passkeys verwenden: Browser bieten sie nur auf Websites mit https:// und einem Domainnamen an, oder auf localhost.",
    passkey: "Passkey",
    key: "Sicherheitsschlüssel",
    is_synced: "synchronisiert",
    is_on_device: "nur auf einem Gerät",
    added: |when| format!("hinzugefügt {when}"),
    used: |when| format!("benutzt {when}"),
    never_used: "noch nicht benutzt",
    app: "Authenticator-App",
    app_explanation: "Eine App auf Ihrem Telefon zeigt einen Code, den Sie nach dem Passwort eingeben.",
    no_app: "Sie haben keine App eingerichtet.",
    set_up: "App einrichten",
    remove: "Entfernen",
    recovery_codes: "Wiederherstellungscodes",
    recovery_codes_explanation: "Wenn Sie Ihren zweiten Faktor verlieren, ersetzt ihn jeder Code einmal.",
    no_recovery_codes: "Sie erhalten sie mit dem ersten Passkey, Sicherheitsschlüssel oder der App.",
    codes_left: |count| format!("{count} von 8 Codes sind übrig."),
    new_codes: "Neue Codes erzeugen",
    new_codes_hint: "Die alten gelten dann nicht mehr.",
    devices: "Vertraute Browser",
    devices_explanation: "Dort genügt 30 Tage lang das Passwort.",
    no_devices: "Sie vertrauen keinem Browser.",
    remove_device: |device| format!("Entfernen: {device}"),
    more_devices: "Es gibt weitere. Sie erscheinen, wenn andere entfernt sind.",
    trusted_until: |time| format!("Bis {time}"),

    add_passkey: "Passkey hinzufügen",
    add_passkey_explanation: "Ihr Gerät oder Ihr Passwortmanager legt einen Schlüssel an, der nur hier gilt. Sie entsperren ihn mit Fingerabdruck, Gesicht oder Bildschirmsperre.",
    add_key: "Sicherheitsschlüssel hinzufügen",
    add_key_explanation: "Stecken Sie ihn ein oder halten Sie ihn an Ihr Gerät, wenn Sie dazu aufgefordert werden. Sie benutzen ihn nach dem Passwort.",
    name_hint: "Zum Beispiel „Telefon“. Ohne Namen erhält er den des Geräts.",
    create_passkey: "Passkey anlegen",
    register_key: "Sicherheitsschlüssel registrieren",
    create_failed: "Das hat nicht geklappt. Vielleicht ist dieses Gerät oder dieser Schlüssel schon eingerichtet.",
    only_passkeys: "Ihr Konto hat kein Passwort. Ein Passkey braucht JavaScript. Wo es ausgeschaltet ist, können Sie sich nicht damit anmelden.",
    remove_passkey: "Entfernen",
    remove_passkey_explanation: "Sie können sich dann nicht mehr damit anmelden.",
    remove_question: |name| format!("„{name}“ entfernen?"),
    remove_totp_explanation: "Ihre Codes gelten hier dann nicht mehr.",
    remove_last_explanation: "Das ist Ihr letzter zweiter Faktor. Auch Ihre Wiederherstellungscodes gelten dann nicht mehr.",
    keep: "Behalten",
    back_to_security: "Zurück zu Anmeldung und Sicherheit",
    totp_heading: "Authenticator-App einrichten",
    totp_scan: "Scannen Sie das mit einer Authenticator-App.",
    totp_open: "App auf diesem Gerät öffnen",
    totp_secret: "Oder geben Sie diesen Schlüssel in die App ein:",
    totp_qr: "QR-Code mit dem Schlüssel",
    totp_confirm: "Einrichten",
    codes_heading: "Ihre Wiederherstellungscodes",
    codes_explanation: "Wenn Sie Ihren zweiten Faktor verlieren, ersetzt ihn jeder Code einmal. Drucken oder speichern Sie die Codes dort, wo Sie sie ohne dieses Gerät finden. Sie werden nicht noch einmal gezeigt.",
    save_codes: "Als Datei speichern",
    codes_file: "wiederherstellungscodes",
    codes_of: |service, email| format!("{service}: Wiederherstellungscodes von {email}"),
    codes_saved: "Ich habe sie gesichert",

    sign_up_with_passkey: "Passkey statt Passwort",
    passkey_heading: "Passkey anlegen",
    passkey_of: |email| format!("Damit melden Sie sich als {email} an, ohne Passwort."),
    use_password: "Lieber ein Passwort",

    reset_heading: "Alle zweiten Faktoren entfernen",
    reset_link: |address| {
        format!(
            "Alle Passkeys, die Authenticator-App und die Wiederherstellungscodes von {address} werden entfernt."
        )
    },
    reset_explanation: "Danach sind Sie auf allen Geräten abgemeldet. Melden Sie sich wieder an und fügen Sie neue hinzu.",
    reset: "Entfernen",
};
