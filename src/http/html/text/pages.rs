//! The texts that several pages share, and those of the pages for everybody.

use super::{AdminTexts, FactorTexts, KeyTexts, LoginTexts};
use crate::language::{Language, texts};

texts! {
    /// Every text of the pages in one language.
    pub struct Texts with (factors: FactorTexts, admin: AdminTexts, keys: KeyTexts, logins: LoginTexts) {
        // Words that several pages share.
        error_prefix: "Error: ", "Fehler: ";
        problem: "Check these fields:", "Prüfen Sie diese Felder:";
        development:
            "Development server: data is in memory and passwords are not protected.",
            "Entwicklungsserver: Daten liegen im Speicher, Passwörter sind nicht geschützt.";
        terms: "Terms", "Nutzungsbedingungen";
        privacy: "Privacy", "Datenschutz";
        name: "Name", "Name";
        email: "E-mail address", "E-Mail-Adresse";
        password: "Password", "Passwort";
        new_password: "New password", "Neues Passwort";
        stay: "Stay signed in", "Angemeldet bleiben";
        stay_hint:
            "Only on a device that nobody else uses.",
            "Nur auf einem Gerät, das niemand sonst benutzt.";
        sign_in: "Sign in", "Anmelden";
        sign_up: "Create account", "Konto anlegen";
        sign_out: "Sign out", "Abmelden";
        back_to_account: "Back to your account", "Zurück zu Ihrem Konto";
        back_to_sign_in: "Back to sign-in", "Zurück zur Anmeldung";
        mail_code: "Code from the mail", "Code aus der Mail";
        mail_code_hint: "8 digits.", "8 Ziffern.";
        code_typed:
            "Type the code from the mail, and the address that it was sent to.",
            "Geben Sie den Code aus der Mail ein und die Adresse, an die sie ging.";
        nothing_arrived:
            "Nothing arrived? Look in the spam folder too.",
            "Nichts angekommen? Sehen Sie auch im Spam-Ordner nach.";
        send_again: "Send it again", "Noch einmal senden";

        // Sign-in.
        sign_in_heading: "Sign in", "Anmelden";
        forgot_password: "Forgot your password?", "Passwort vergessen?";
        sign_in_by_mail: "Sign in with a code by mail", "Mit einem Code per Mail anmelden";
        /// For an address that already has an account.
        sign_in_with_it: "Sign in with it", "Damit anmelden";
        new_here: "New here?", "Neu hier?";

        // Sign-up.
        sign_up_heading: "Create an account", "Konto anlegen";
        have_account: "Already have an account?", "Haben Sie schon ein Konto?";
        invitation_code: "Code of your invitation", "Code Ihrer Einladung";
        /// Where an invitation is not needed by everybody.
        invitation_code_hint:
            "Only if somebody has invited you. 8 digits.",
            "Nur wenn Sie eingeladen sind. 8 Ziffern.";
        invited_address:
            "Your invitation is for this address.",
            "Ihre Einladung gilt für diese Adresse.";

        // Sign-out.
        sign_out_heading: "Sign out?", "Abmelden?";
        sign_out_explanation:
            "This signs you out here and in every app on this device.",
            "Sie werden hier und in allen Apps auf diesem Gerät abgemeldet.";

        // Mail that a person asks for, and what its link and its code do. The parameter is the address.
        forgot_explanation:
            "We mail you a link and a code with which you set a new password.",
            "Wir senden Ihnen eine Mail mit einem Link und einem Code. Damit legen Sie ein neues Passwort fest.";
        send_mail: "Send mail", "Mail senden";
        have_reset_code: "I have a reset code", "Ich habe einen Rücksetzcode";
        code_sign_in_heading: "Sign in with a code", "Mit einem Code anmelden";
        code_sign_in_explanation:
            "We mail you a link and a code.",
            "Wir senden Ihnen eine Mail mit einem Link und einem Code.";
        only_without_password:
            "This is for accounts without a password.",
            "Das ist für Konten ohne Passwort.";
        verify_heading: "Confirm your e-mail address", "Bestätigen Sie Ihre E-Mail-Adresse";
        confirm_address: "Confirm address", "Adresse bestätigen";
        link_opened: "Opened the link in the mail?", "Haben Sie den Link in der Mail geöffnet?";
        not_your_address: "Not your address?", "Nicht Ihre Adresse?";
        change_address: "Change it", "Adresse ändern";
        restore_heading:
            "Undo the change of your address",
            "Änderung Ihrer Adresse rückgängig machen";
        restore_explanation:
            "Set a new password as well, because somebody else may know the old one. After that you are signed out on every device.",
            "Legen Sie auch ein neues Passwort fest, denn vielleicht kennt jemand das alte. Danach sind Sie auf allen Geräten abgemeldet.";
        restore: "Undo the change", "Änderung rückgängig machen";

        // Reset.
        reset_heading: "Set a new password", "Neues Passwort festlegen";
        reset_ends_sessions:
            "After that you are signed out on every device.",
            "Danach sind Sie auf allen Geräten abgemeldet.";
        code: "Reset code", "Rücksetzcode";
        code_hint: "As you received it.", "So, wie Sie ihn erhalten haben.";
        set_password: "Set password", "Passwort festlegen";

        // Account.
        account_heading: "Your account", "Ihr Konto";
        apps: "Your apps", "Ihre Apps";
        apps_explanation:
            "Open them without signing in again.",
            "Sie müssen sich dafür nicht noch einmal anmelden.";
        no_apps:
            "There are no apps for you yet. Apps appear here as soon as you are given access.",
            "Für Sie gibt es noch keine Apps. Apps erscheinen hier, sobald Sie Zugang erhalten.";
        profile: "Profile", "Profil";
        profile_explanation:
            "Apps that you use see your name and e-mail address.",
            "Apps, die Sie nutzen, sehen Ihren Namen und Ihre E-Mail-Adresse.";
        verified: "Confirmed", "Bestätigt";
        not_verified: "Not confirmed", "Nicht bestätigt";
        cancel_change: "Cancel the change", "Änderung verwerfen";
        change: "Change", "Ändern";
        save_name: "Save name", "Namen speichern";
        save_email: "Save address", "Adresse speichern";
        password_explanation:
            "A new password ends your sessions on all other devices.",
            "Ein neues Passwort beendet Ihre Sitzungen auf allen anderen Geräten.";
        no_password:
            "Your account has no password. Set one with a reset code.",
            "Ihr Konto hat kein Passwort. Mit einem Rücksetzcode können Sie eines festlegen.";
        no_password_but_mail:
            "Your account has no password. We can mail you a link to set one.",
            "Ihr Konto hat kein Passwort. Wir können Ihnen eine Mail senden, mit der Sie eines festlegen.";
        current_password: "Current password", "Aktuelles Passwort";
        confirm_password: "Your password, to confirm", "Ihr Passwort zur Bestätigung";
        change_password: "Change password", "Passwort ändern";
        sessions: "Sessions", "Sitzungen";
        sessions_explanation:
            "Where you are signed in. End each session that you do not recognise, then change your password.",
            "Wo Sie angemeldet sind. Beenden Sie Sitzungen, die Sie nicht kennen, und ändern Sie Ihr Passwort.";
        only_this_session:
            "You are signed in on this device only.",
            "Sie sind nur auf diesem Gerät angemeldet.";
        device_column: "Device", "Gerät";
        address_column: "Address", "Adresse";
        last_used_column: "Last used", "Zuletzt benutzt";
        action_column: "Action", "Aktion";
        this_session: "This device", "Dieses Gerät";
        end_session: "End", "Beenden";
        sign_out_everywhere: "Sign out everywhere", "Überall abmelden";
        sign_out_everywhere_explanation:
            "Ends all sessions, this one too.",
            "Beendet alle Sitzungen, auch diese.";
        invitations: "Invitations", "Einladungen";
        invitations_explanation:
            "Whoever you invite can create an account with the address that you enter.",
            "Eingeladene können mit der Adresse, die Sie angeben, ein Konto anlegen.";
        invite: "Invite", "Einladen";
        more_invitations:
            "There are more. They appear when others are revoked or used.",
            "Es gibt weitere. Sie erscheinen, wenn andere zurückgezogen oder benutzt sind.";
        open_invitations: "Not used yet", "Noch nicht benutzt";
        show_invitations: "Invite people", "Andere einladen";
        revoke: "Revoke", "Zurückziehen";
        data: "Your data", "Ihre Daten";
        data_explanation:
            "Everything that is stored about you, as a JSON file.",
            "Alles über Sie Gespeicherte als JSON-Datei.";
        export: "Download your data", "Daten herunterladen";
        delete: "Delete account", "Konto löschen";
        /// What follows it says what stays.
        deletion:
            "Deletes your account and what is stored about you, at once and for good, with your access to all apps.",
            "Löscht Ihr Konto und Ihre Daten endgültig, mit dem Zugang zu allen Apps.";
        /// What follows it says what stays.
        account_deleted:
            "Your account and what was stored about you are deleted, and you are signed out everywhere.",
            "Ihr Konto und was über Sie gespeichert war, sind gelöscht, und Sie sind überall abgemeldet.";
        delete_without_password:
            "Your account has no password to confirm this with. Set one first.",
            "Ihr Konto hat kein Passwort, mit dem Sie das bestätigen können. Legen Sie zuerst eines fest.";
        delete_confirm: "Delete my account for good", "Mein Konto endgültig löschen";

        // Refused.
        refused_explanation:
            "You are signed in, but this account has no access to this page.",
            "Sie sind angemeldet, aber dieses Konto hat keinen Zugang zu dieser Seite.";
        signed_in_as: "Signed in as", "Angemeldet als";
        somebody_else: "Sign in as somebody else", "Mit einem anderen Konto anmelden";
        decision: "Decision", "Entscheidung";
        /// What the links to the contact or [`Self::ask_operators`] follow.
        need_access: "Do you need access?", "Brauchen Sie Zugang?";
        ask_operators:
            "Send this number to the people who run the service.",
            "Senden Sie diese Nummer an die Betreiber des Dienstes.";
        decision_link: "Details for operators", "Einzelheiten für Betreiber";
        why: "Why this was refused", "Warum abgelehnt wurde";
        why_explanation: "Only operators see this.", "Das sehen nur Betreiber.";
        guard: "Guard", "Guard";
        condition: "Condition", "Bedingung";
        part: "Part of the condition", "Teil der Bedingung";
        value: "Value", "Wert";
        cause: "Decisive", "Ausschlaggebend";

        // What happened to the account.
        activity: "Recent activity", "Letzte Aktivitäten";
        activity_explanation:
            "What happened to your account, and from where. If you do not recognise something, change your password and end your sessions.",
            "Was mit Ihrem Konto geschehen ist, und von wo. Wenn Sie etwas nicht wiedererkennen, ändern Sie Ihr Passwort und beenden Sie Ihre Sitzungen.";
        show_activity: "Show activity", "Aktivitäten zeigen";
        no_activity: "Nothing yet.", "Noch nichts.";
        older: "Older", "Ältere";
        newest: "Newest", "Neueste";
        /// Who has caused it, unless it is the person.
        by_administrator: "by an administrator", "von der Verwaltung";
        by_unknown: "not signed in", "nicht angemeldet";
        by_service: "by the service", "vom Dienst";
    }

    impl Texts {
        // Words that several pages share.
        new_password_hint(minimum: usize):
            "At least {minimum} characters. A few unrelated words are easy to remember.",
            "Mindestens {minimum} Zeichen. Einige Wörter ohne Zusammenhang lassen sich leicht merken.";
        /// For the code in the mail to this address.
        code_mailed(address: &str):
            "Type the code from the mail to {address}.",
            "Geben Sie den Code aus der Mail an {address} ein.";

        // Sign-in.
        sign_in_to(app: &str): "Sign in to {app}", "Bei {app} anmelden";

        // Sign-up.
        sign_up_for(app: &str):
            "Create an account to use {app}",
            "Konto anlegen, um {app} zu nutzen";

        // Mail that a person asks for, and what its link and its code do. The parameter is the address.
        sign_in_link(address: &str):
            "You sign in as {address}. Go on only if this is your account.",
            "Sie melden sich als {address} an. Fahren Sie nur fort, wenn das Ihr Konto ist.";
        /// With the address of whoever is signed in.
        sign_in_instead(address: &str):
            "This browser is signed in as {address}. That ends when you go on.",
            "In diesem Browser sind Sie als {address} angemeldet. Das endet, wenn Sie fortfahren.";
        verify_link(address: &str):
            "Confirm that {address} is your address.",
            "Bestätigen Sie, dass {address} Ihre Adresse ist.";
        /// On the way to this app.
        verify_for(app: &str):
            "Confirm your address to go on to {app}",
            "Bestätigen Sie Ihre Adresse, um zu {app} zu gelangen";
        verify_mailed(address: &str):
            "We mailed a code to {address}. Type it here, or open the link in the mail on any device.",
            "Wir haben einen Code an {address} gesendet. Geben Sie ihn hier ein oder öffnen Sie auf einem beliebigen Gerät den Link in der Mail.";
        go_on_to(app: &str): "Go on to {app}", "Weiter zu {app}";
        restore_link(address: &str):
            "{address} becomes the address of your account again.",
            "{address} wird wieder die Adresse Ihres Kontos.";

        // Reset.
        reset_explanation(operator: &str):
            "Ask the people who run {operator} for a reset code. It works once. After that you are signed out on every device.",
            "Bitten Sie die Betreiber von {operator} um einen Rücksetzcode. Er gilt nur einmal. Danach sind Sie auf allen Geräten abgemeldet.";
        reset_link(address: &str):
            "Set a new password for {address}.",
            "Legen Sie ein neues Passwort für {address} fest.";

        // Account.
        verification_mailed(address: &str):
            "We sent a mail to {address}. Open its link, or type its code.",
            "Wir haben eine Mail an {address} gesendet. Öffnen Sie den Link darin oder geben Sie den Code ein.";
        /// No mail was sent.
        verification_offered(address: &str):
            "{address} is not confirmed. We can send a mail with a link and a code to it.",
            "{address} ist nicht bestätigt. Wir können eine Mail mit einem Link und einem Code dorthin senden.";
        pending_email(address: &str):
            "{address} becomes your address when you confirm it. We sent a mail there. Open its link, or type its code.",
            "{address} wird Ihre Adresse, sobald Sie sie bestätigen. Wir haben eine Mail dorthin gesendet. Öffnen Sie den Link darin oder geben Sie den Code ein.";
        more_sessions(count: usize):
            "And {count} more, used longer ago. “Sign out everywhere” ends them too.",
            "Und {count} weitere, länger nicht benutzt. „Überall abmelden“ beendet auch diese.";
        end_session_of(device: &str): "End: {device}", "Beenden: {device}";
        /// For the invitation of this address.
        hand_over(address: &str):
            "Give this link to {address}. It works once, and is not shown again.",
            "Geben Sie diesen Link an {address} weiter. Er gilt einmal und wird nicht noch einmal gezeigt.";
        /// The day or the time.
        valid_until(day: &str): "Valid until {day}", "Gilt bis {day}";
        revoke_invitation_of(address: &str): "Revoke: {address}", "Zurückziehen: {address}";

        // Refused.
        refused_heading(app: &str):
            "You have no access to {app}",
            "Sie haben keinen Zugang zu {app}";
        /// For somebody else than the person who was refused.
        refused_other_heading(app: &str):
            "{app} refused a request",
            "{app} hat eine Anfrage abgelehnt";
        /// The subject of a mail to the contact: the app and the id of the decision.
        access_subject(app: &str, decision: &str):
            "Access to {app} (decision {decision})",
            "Zugang zu {app} (Entscheidung {decision})";

        // Parts of sentences that depend on what happened.
        open_app(title: &str): "Open {title}", "{title} öffnen";
        continue_to(title: &str): "Continue to {title}", "Weiter zu {title}";
        at_least(minimum: usize):
            "Use at least {minimum} characters.",
            "Verwenden Sie mindestens {minimum} Zeichen.";
        at_most(maximum: usize):
            "Use at most {maximum} characters.",
            "Verwenden Sie höchstens {maximum} Zeichen.";
        too_many_attempts(wait: &str):
            "There were too many attempts. Try again in {wait}.",
            "Es gab zu viele Versuche. Versuchen Sie es in {wait} noch einmal.";
        for_days(days: u32): "for {days} days", "{days} Tage lang";
        trail_keeps(how_long: &str):
            "As a proof, the audit trail keeps ids, kinds and times of events {how_long}, but no name, address or network of yours.",
            "Als Nachweis behält das Protokoll {how_long} Kennungen, Arten und Zeiten von Ereignissen, aber weder Ihren Namen noch Ihre Adressen und Netze.";
        valid_for(span: &str): "Valid for {span}", "Gilt noch {span}";
        span_ago(span: &str): "{span} ago", "vor {span}";
    }
}
