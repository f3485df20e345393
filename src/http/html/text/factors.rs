//! The texts of the pages about second factors.

use crate::{
    access::guard::Ask,
    language::{Language, enum_texts, texts},
};

enum_texts! {
    /// What a signed-in person is about to do who has to prove once more who they are.
    pub enum Before {
        /// Change or export the account.
        Account:
            "Before you change your account or download your data, we make sure.",
            "Bevor Sie Ihr Konto ändern oder Ihre Daten herunterladen, gehen wir sicher.";
        Email:
            "Before you change your e-mail address, we make sure.",
            "Bevor Sie Ihre E-Mail-Adresse ändern, gehen wir sicher.";
        Password:
            "Before you change your password, we make sure.",
            "Bevor Sie Ihr Passwort ändern, gehen wir sicher.";
        Delete:
            "Before you delete your account, we make sure.",
            "Bevor Sie Ihr Konto löschen, gehen wir sicher.";
        /// Make or revoke an API key.
        Keys:
            "Before you make or revoke a key, we make sure.",
            "Bevor Sie einen Schlüssel anlegen oder widerrufen, gehen wir sicher.";
        /// Change anything about second factors.
        Factors:
            "Before you change how you sign in, we make sure.",
            "Bevor Sie ändern, wie Sie sich anmelden, gehen wir sicher.";
        Passkey:
            "Before you add a passkey, we make sure.",
            "Bevor Sie einen Passkey hinzufügen, gehen wir sicher.";
        SecurityKey:
            "Before you add a security key, we make sure.",
            "Bevor Sie einen Sicherheitsschlüssel hinzufügen, gehen wir sicher.";
        /// Set an authenticator app up.
        App:
            "Before you set up an authenticator app, we make sure.",
            "Bevor Sie eine Authenticator-App einrichten, gehen wir sicher.";
        Administration:
            "Before you change anything in the administration, we make sure.",
            "Bevor Sie in der Verwaltung etwas ändern, gehen wir sicher.";
    }
}

enum_texts! {
    /// What follows the password.
    pub enum Follows {
        /// A code of an authenticator app.
        Code:
            "After it, you are asked for a code from your authenticator app.",
            "Danach werden Sie nach einem Code aus Ihrer Authenticator-App gefragt.";
        SecurityKey:
            "After it, you are asked for your security key.",
            "Danach werden Sie nach Ihrem Sicherheitsschlüssel gefragt.";
        /// One of several kinds.
        Factor:
            "After it, you are asked for your second factor.",
            "Danach werden Sie nach Ihrem zweiten Faktor gefragt.";
    }
}

texts! {
    /// The texts about second factors in one language.
    pub struct FactorTexts {
        // Signing in, and proving once more who one is.
        sign_in_with_passkey: "Sign in with a passkey", "Mit einem Passkey anmelden";
        /// The browser could not ask for the passkey.
        passkey_failed:
            "That did not work. Try again, or use another way.",
            "Das hat nicht geklappt. Versuchen Sie es noch einmal oder auf einem anderen Weg.";
        needs_script:
            "Passkeys and security keys need JavaScript, which is off in this browser.",
            "Passkeys und Sicherheitsschlüssel brauchen JavaScript. In diesem Browser ist es ausgeschaltet.";
        factor_heading: "Confirm that it is you", "Bestätigen Sie, dass Sie es sind";
        factor_explanation:
            "A second factor protects your account.",
            "Ihr Konto ist durch einen zweiten Faktor geschützt.";
        totp_code: "Code from your authenticator app", "Code aus Ihrer Authenticator-App";
        totp_code_hint: "6 digits.", "6 Ziffern.";
        trust: "Trust this browser for 30 days", "Diesem Browser 30 Tage vertrauen";
        trust_hint:
            "Your password is then enough here. Only on a device that nobody else uses.",
            "Hier genügt dann das Passwort. Nur auf einem Gerät, das niemand sonst benutzt.";
        confirm: "Confirm", "Bestätigen";
        use_passkey: "Use a passkey", "Passkey verwenden";
        use_key: "Use your security key", "Sicherheitsschlüssel verwenden";
        use_recovery_code: "Use a recovery code", "Wiederherstellungscode verwenden";
        recovery_code: "Recovery code", "Wiederherstellungscode";
        recovery_code_hint:
            "25 characters. Each code works once.",
            "25 Zeichen. Jeder Code gilt einmal.";
        step_up_heading: "Please confirm that it is you", "Bitte bestätigen Sie, dass Sie es sind";
        new_code_heading: "Your new recovery code", "Ihr neuer Wiederherstellungscode";
        new_code_explanation:
            "The code that you used no longer works. Keep this one in its place. It is not shown again.",
            "Der benutzte Code gilt nicht mehr. Bewahren Sie stattdessen diesen auf. Er wird nicht noch einmal gezeigt.";
        go_on: "Continue", "Weiter";
        /// After a sign-in with a recovery code.
        replace_lost: "Replace what you lost", "Verlorenes ersetzen";

        // The page with everything that the person holds.
        security: "Sign-in and security", "Anmeldung und Sicherheit";
        security_explanation:
            "Passkeys, codes and trusted browsers.",
            "Passkeys, Codes und vertraute Browser.";
        show_security: "Show and change", "Ansehen";
        confirm_first:
            "To change anything here, first confirm that it is you.",
            "Um hier etwas zu ändern, bestätigen Sie zuerst, dass Sie es sind.";
        passkeys: "Passkeys", "Passkeys";
        passkeys_explanation:
            "With a passkey you sign in by fingerprint, face or screen lock. A security key is for after the password.",
            "Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder Bildschirmsperre an. Ein Sicherheitsschlüssel folgt auf das Passwort.";
        no_passkeys: "You have no passkeys yet.", "Sie haben noch keine Passkeys.";
        /// Because of the address of the site.
        lacks_passkeys:
            "You cannot use passkeys at this address: browsers offer them only on a site with https:// and a domain name, or on localhost.",
            "Unter dieser Adresse können Sie keine Passkeys verwenden: Browser bieten sie nur auf Websites mit https:// und einem Domainnamen an, oder auf localhost.";
        passkey: "Passkey", "Passkey";
        key: "Security key", "Sicherheitsschlüssel";
        is_synced: "synced", "synchronisiert";
        is_on_device: "on one device only", "nur auf einem Gerät";
        never_used: "not used yet", "noch nicht benutzt";
        app: "Authenticator app", "Authenticator-App";
        app_explanation:
            "An app on your phone shows a code that you type after the password.",
            "Eine App auf Ihrem Telefon zeigt einen Code, den Sie nach dem Passwort eingeben.";
        no_app: "You have not set up an app.", "Sie haben keine App eingerichtet.";
        set_up: "Set up an app", "App einrichten";
        remove: "Remove", "Entfernen";
        recovery_codes: "Recovery codes", "Wiederherstellungscodes";
        recovery_codes_explanation:
            "If you lose your second factor, each code stands in for it once.",
            "Wenn Sie Ihren zweiten Faktor verlieren, ersetzt ihn jeder Code einmal.";
        no_recovery_codes:
            "You get them with your first passkey, security key or app.",
            "Sie erhalten sie mit dem ersten Passkey, Sicherheitsschlüssel oder der App.";
        new_codes: "Make new codes", "Neue Codes erzeugen";
        new_codes_hint: "The old ones stop working.", "Die alten gelten dann nicht mehr.";
        devices: "Trusted browsers", "Vertraute Browser";
        devices_explanation:
            "Your password is enough there for 30 days.",
            "Dort genügt 30 Tage lang das Passwort.";
        no_devices: "You trust no browser.", "Sie vertrauen keinem Browser.";
        more_devices:
            "There are more. They appear when others are removed.",
            "Es gibt weitere. Sie erscheinen, wenn andere entfernt sind.";

        // Setting a factor up, and changing it.
        add_passkey: "Add a passkey", "Passkey hinzufügen";
        add_passkey_explanation:
            "Your device or your password manager makes a key that works only here. You unlock it with your fingerprint, your face or your screen lock.",
            "Ihr Gerät oder Ihr Passwortmanager legt einen Schlüssel an, der nur hier gilt. Sie entsperren ihn mit Fingerabdruck, Gesicht oder Bildschirmsperre.";
        add_key: "Add a security key", "Sicherheitsschlüssel hinzufügen";
        add_key_explanation:
            "Plug it in or hold it to your device when you are asked. You use it after your password.",
            "Stecken Sie ihn ein oder halten Sie ihn an Ihr Gerät, wenn Sie dazu aufgefordert werden. Sie benutzen ihn nach dem Passwort.";
        name_hint:
            "Such as “Phone”. Without a name it gets that of the device.",
            "Zum Beispiel „Telefon“. Ohne Namen erhält er den des Geräts.";
        create_passkey: "Create passkey", "Passkey anlegen";
        register_key: "Register security key", "Sicherheitsschlüssel registrieren";
        create_failed:
            "That did not work. Perhaps this device or key is set up already.",
            "Das hat nicht geklappt. Vielleicht ist dieses Gerät oder dieser Schlüssel schon eingerichtet.";
        /// For an account without a password.
        only_passkeys:
            "Your account has no password. A passkey needs JavaScript, so you cannot sign in with it where that is off.",
            "Ihr Konto hat kein Passwort. Ein Passkey braucht JavaScript. Wo es ausgeschaltet ist, können Sie sich nicht damit anmelden.";
        remove_passkey: "Remove", "Entfernen";
        remove_passkey_explanation:
            "You can no longer sign in with it.",
            "Sie können sich dann nicht mehr damit anmelden.";
        remove_totp_explanation:
            "Its codes stop working here.",
            "Ihre Codes gelten hier dann nicht mehr.";
        remove_last_explanation:
            "It is your last second factor. Your recovery codes stop working as well.",
            "Das ist Ihr letzter zweiter Faktor. Auch Ihre Wiederherstellungscodes gelten dann nicht mehr.";
        keep: "Keep it", "Behalten";
        back_to_security: "Back to sign-in and security", "Zurück zu Anmeldung und Sicherheit";
        totp_heading: "Set up an authenticator app", "Authenticator-App einrichten";
        totp_scan:
            "Scan this with an authenticator app.",
            "Scannen Sie das mit einer Authenticator-App.";
        totp_open: "Open the app on this device", "App auf diesem Gerät öffnen";
        totp_secret:
            "Or type this key into the app:",
            "Oder geben Sie diesen Schlüssel in die App ein:";
        totp_qr: "QR code with the key", "QR-Code mit dem Schlüssel";
        totp_confirm: "Set up", "Einrichten";
        codes_heading: "Your recovery codes", "Ihre Wiederherstellungscodes";
        codes_explanation:
            "If you lose your second factor, each code stands in for it once. Print them or save them where you find them without this device. They are not shown again.",
            "Wenn Sie Ihren zweiten Faktor verlieren, ersetzt ihn jeder Code einmal. Drucken oder speichern Sie die Codes dort, wo Sie sie ohne dieses Gerät finden. Sie werden nicht noch einmal gezeigt.";
        save_codes: "Save as a file", "Als Datei speichern";
        /// The name of the file without its ending.
        codes_file: "recovery-codes", "wiederherstellungscodes";
        codes_saved: "I have saved them", "Ich habe sie gesichert";

        // Registering with a passkey.
        sign_up_with_passkey: "Use a passkey, not a password", "Passkey statt Passwort";
        passkey_heading: "Create your passkey", "Passkey anlegen";
        use_password: "Use a password instead", "Lieber ein Passwort";

        // Removing all of them with the operator's link.
        reset_heading: "Remove all second factors", "Alle zweiten Faktoren entfernen";
        reset_explanation:
            "After that you are signed out on every device. Sign in again and add new ones.",
            "Danach sind Sie auf allen Geräten abgemeldet. Melden Sie sich wieder an und fügen Sie neue hinzu.";
        reset: "Remove them", "Entfernen";
    }

    impl FactorTexts {
        // Signing in, and proving once more who one is.
        app_asks_again(app: &str):
            "{app} asks you to confirm that it is you",
            "{app} möchte, dass Sie sich noch einmal ausweisen";
        app_asks_for_factor(app: &str):
            "{app} asks for your second factor",
            "{app} verlangt Ihren zweiten Faktor";
        app_asks_for_your_passkey(app: &str):
            "{app} asks for your passkey",
            "{app} verlangt Ihren Passkey";
        /// With the address of the person.
        step_up_explanation(email: &str):
            "You are signed in as {email}.",
            "Sie sind als {email} angemeldet.";

        // The page with everything that the person holds.
        app_asks(app: &str):
            "{app} asks for a second factor. Set one up here, then go on.",
            "{app} verlangt einen zweiten Faktor. Richten Sie hier einen ein. Danach geht es weiter.";
        app_asks_for_passkey(app: &str):
            "{app} asks for a passkey. Add one here, or a security key, then go on.",
            "{app} verlangt einen Passkey. Fügen Sie hier einen hinzu oder einen Sicherheitsschlüssel. Danach geht es weiter.";
        /// When it was added, and when it was used last.
        added(when: &str): "added {when}", "hinzugefügt {when}";
        used(when: &str): "used {when}", "benutzt {when}";
        codes_left(count: usize): "{count} of 8 codes are left.", "{count} von 8 Codes sind übrig.";
        remove_device(device: &str): "Remove: {device}", "Entfernen: {device}";
        /// The time.
        trusted_until(time: &str): "Until {time}", "Bis {time}";

        // Setting a factor up, and changing it.
        /// With the name of what is removed.
        remove_question(name: &str): "Remove “{name}”?", "„{name}“ entfernen?";
        /// The first line of the file: for this service and this address.
        codes_of(service: &str, email: &str):
            "{service}: recovery codes of {email}",
            "{service}: Wiederherstellungscodes von {email}";

        // Registering with a passkey.
        /// With the address.
        passkey_of(email: &str):
            "With it you sign in as {email}, without a password.",
            "Damit melden Sie sich als {email} an, ohne Passwort.";

        // Removing all of them with the operator's link.
        reset_link(address: &str):
            "All passkeys, the authenticator app and the recovery codes of {address} are removed.",
            "Alle Passkeys, die Authenticator-App und die Wiederherstellungscodes von {address} werden entfernt.";
    }
}

impl FactorTexts {
    /// What an app asks for.
    pub fn step_up_for(&self, app: &str, ask: Ask) -> String {
        match ask {
            Ask::Again => self.app_asks_again(app),
            Ask::TwoFactors => self.app_asks_for_factor(app),
            Ask::PhishingResistant => self.app_asks_for_your_passkey(app),
        }
    }

    /// Why it asks.
    pub fn step_up_reason(&self, ask: Ask) -> &'static str {
        self.language.choose(match ask {
            Ask::Again => [
                "Your last sign-in is too long ago for this app.",
                "Ihre letzte Anmeldung liegt für diese App zu lange zurück.",
            ],
            Ask::TwoFactors => [
                "A password alone is not enough for this app.",
                "Ein Passwort allein genügt für diese App nicht.",
            ],
            Ask::PhishingResistant => [
                "This app asks for a passkey or a security key. A password or a code is not enough.",
                "Diese App verlangt einen Passkey oder einen Sicherheitsschlüssel. Ein Passwort oder ein Code genügt nicht.",
            ],
        })
    }
}
