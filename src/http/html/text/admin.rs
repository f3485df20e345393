//! The texts of the administration.

use super::{counted, examples};
use crate::{
    doorward::TrailPart,
    language::{Language, texts},
    token::signing_keys::KeyStatus,
};

texts! {
    /// The texts of the administration in one language.
    pub struct AdminTexts {
        administration: "Administration", "Verwaltung";
        menu: "Menu", "Menü";
        overview: "Overview", "Übersicht";
        users: "Users", "Personen";
        invitations: "Invitations", "Einladungen";
        guards: "Guards", "Guards";
        refusals: "Refusals", "Ablehnungen";
        audit: "Audit trail", "Protokoll";
        keys: "API keys", "API-Schlüssel";
        signing_keys: "Signing keys", "Signaturschlüssel";
        mail: "Mail", "E-Mail";
        search: "Search", "Suchen";
        filter: "Filter", "Filtern";
        next: "Next page", "Nächste Seite";
        never: "Never", "Nie";
        id: "Id", "Kennung";
        time: "Time", "Zeit";
        state: "State", "Zustand";
        outcome: "Outcome", "Ergebnis";
        user: "User", "Person";
        nobody: "Nobody", "Niemand";
        unknown: "Somebody unknown", "Unbekannt";
        created: "Created", "Erstellt";
        validity: "Validity", "Gültigkeit";

        // Users.
        all_users: "All users", "Alle Personen";
        add_user: "Add a user", "Person hinzufügen";
        name_or_address:
            "Start of a word in the name or address",
            "Wortanfang in Name oder Adresse";
        role: "Role", "Rolle";
        roles: "Roles", "Rollen";
        only_disabled: "Only disabled users", "Nur gesperrte Personen";
        no_users: "No user matches.", "Keine Person passt dazu.";
        nobody_found:
            "No user matches. A search finds how words of the name and the e-mail address begin: “car” finds Carl, “arl” does not. Check the first letters, or type fewer words.",
            "Keine Person passt dazu. Die Suche findet, womit Wörter des Namens und der E-Mail-Adresse beginnen: „car“ findet Carl, „arl“ nicht. Prüfen Sie die ersten Buchstaben oder geben Sie weniger Wörter ein.";
        last_sign_in: "Last sign-in", "Letzte Anmeldung";
        disabled: "Disabled", "Gesperrt";
        without_password: "No password", "Ohne Passwort";
        second_factor: "Second factor", "Zweiter Faktor";
        new_user: "New user", "Neue Person";
        new_user_explanation:
            "The account exists at once. Send an invitation instead, and people choose their name and password themselves.",
            "Das Konto besteht sofort. Mit einer Einladung wählen Personen Name und Passwort selbst.";
        new_user_password_hint:
            "Without one, make a reset code for the person afterwards.",
            "Ohne Passwort erstellen Sie danach einen Code zum Zurücksetzen.";

        // One user.
        roles_explanation:
            "Guards and policies ask for roles.",
            "Guards und Regeln fragen nach Rollen.";
        no_roles:
            "No roles. Grant one to let the person pass a guard that asks for it.",
            "Keine Rollen. Mit einer Rolle kommt die Person durch einen Guard, der danach fragt.";
        grant: "Grant a role", "Rolle erteilen";
        grant_question:
            "It takes effect on the person’s next request.",
            "Das gilt ab der nächsten Anfrage der Person.";
        role_hint:
            "1 to 64 letters, digits and _ - : . /",
            "1 bis 64 Buchstaben, Ziffern und _ - : . /";
        revoke_role_question:
            "The person loses this role at the next request.",
            "Die Person verliert diese Rolle mit der nächsten Anfrage.";
        verify: "Mark the address as confirmed", "Adresse als bestätigt markieren";
        verify_question:
            "Only if you know that the address belongs to this person: guards may admit by it.",
            "Nur wenn Sie wissen, dass die Adresse dieser Person gehört: Guards können danach entscheiden.";
        unverify: "Mark the address as not confirmed", "Adresse als nicht bestätigt markieren";
        unverify_question:
            "Guards that ask for a confirmed address refuse this person from now on.",
            "Guards, die eine bestätigte Adresse verlangen, lehnen diese Person von nun an ab.";
        refused_lately: "Refused lately", "Kürzlich abgelehnt";
        refused_lately_explanation:
            "What this server has refused to the person since it started.",
            "Was dieser Server der Person seit seinem Start verweigert hat.";
        refused_what: "What", "Was";
        nothing_refused: "Nothing was refused lately.", "Zuletzt wurde nichts abgelehnt.";
        sign_in: "Sign-in", "Anmeldung";
        unlock: "Unlock", "Entsperren";
        unlock_question:
            "Forgets all failed sign-ins of this account, so that the person can try again at once.",
            "Vergisst alle fehlgeschlagenen Anmeldungen dieses Kontos. Die Person kann es sofort wieder versuchen.";
        sessions_explanation: "Where the person is signed in.", "Wo die Person angemeldet ist.";
        no_sessions: "The person is signed in nowhere.", "Die Person ist nirgends angemeldet.";
        end_session_question:
            "The device is signed out at its next request.",
            "Das Gerät ist mit seiner nächsten Anfrage abgemeldet.";
        end_sessions: "End all sessions", "Alle Sitzungen beenden";
        end_sessions_question:
            "The person has to sign in again everywhere. Their API keys still count.",
            "Die Person muss sich überall neu anmelden. Ihre API-Schlüssel gelten weiter.";
        factors_explanation:
            "Second factors, and ways back in.",
            "Zweite Faktoren und Wege zurück ins Konto.";
        factor: "Factor", "Faktor";
        no_factors: "No second factor is set up.", "Kein zweiter Faktor ist eingerichtet.";
        reset_code: "Make a reset code", "Code zum Zurücksetzen erstellen";
        reset_code_question:
            "With it the person sets a new password, once within 30 minutes. It replaces an earlier one. Make sure that you talk to the right person.",
            "Damit setzt die Person ein neues Passwort, einmal innerhalb von 30 Minuten. Er ersetzt einen früheren. Vergewissern Sie sich, mit wem Sie sprechen.";
        reset_code_made:
            "Give this code to the person. It works once within 30 minutes, and is not shown again.",
            "Geben Sie der Person diesen Code. Er gilt einmal, 30 Minuten lang, und wird nicht wieder angezeigt.";
        reset_link: "Where to type it", "Dort eingeben";
        set_password: "Set a password", "Passwort setzen";
        set_password_question:
            "Ends all sessions of the person. You know the password then: a reset code is better.",
            "Beendet alle Sitzungen der Person. Sie kennen dann das Passwort: ein Code zum Zurücksetzen ist besser.";
        require_new_password: "Require a new password", "Neues Passwort verlangen";
        require_new_password_question:
            "Ends all sessions. The current password does not work any more, and the person sets a new one by mail or with a reset code.",
            "Beendet alle Sitzungen. Das bisherige Passwort gilt nicht mehr. Die Person setzt ein neues per E-Mail oder mit einem Code.";
        secure: "Secure the account", "Konto sichern";
        secure_question:
            "After somebody else was in it. Ends all sessions, API keys, trusted browsers, links, codes and the person’s invitations. Removes the password, and second factors that were added in the last 30 days. The person is mailed a link to set a new password, or you get a code for them. First make sure that the e-mail address is theirs.",
            "Nachdem jemand anders darin war. Beendet alle Sitzungen und macht API-Schlüssel, vertraute Browser, Links, Codes und die Einladungen der Person ungültig. Entfernt das Passwort und die zweiten Faktoren der letzten 30 Tage. Die Person erhält per E-Mail einen Link für ein neues Passwort, oder Sie erhalten einen Code für sie. Prüfen Sie zuerst, dass die E-Mail-Adresse ihr gehört.";
        secure_all_factors:
            "Remove older second factors, too",
            "Auch ältere zweite Faktoren entfernen";
        secure_by_hand:
            "Show a code instead of mailing a link, because somebody else may read the mail",
            "Einen Code anzeigen statt einen Link zu verschicken, weil vielleicht jemand anders die E-Mails liest";
        secured_by_mail:
            "The account is secured: all this has ended. The mail with a link to set a new password is on its way.",
            "Das Konto ist gesichert: All das ist beendet. Die E-Mail mit einem Link für ein neues Passwort ist unterwegs.";
        secured_by_code:
            "The account is secured: all this has ended. Give this code to the person. With it they set a new password, once within 30 minutes. It is not shown again.",
            "Das Konto ist gesichert: All das ist beendet. Geben Sie der Person diesen Code. Damit legt sie ein neues Passwort fest, einmal innerhalb von 30 Minuten. Er wird nicht wieder angezeigt.";
        second_factors_removed: "Second factors removed", "Entfernte zweite Faktoren";
        earlier_addresses: "Earlier addresses", "Frühere Adressen";
        mailed_to: "Mailed to", "Verschickt an";
        user_logins: "Accounts at other providers", "Konten bei anderen Anbietern";
        logins_explanation:
            "By these, too, the person signs in.",
            "Auch damit meldet sich die Person an.";
        other_account: "Account", "Konto";
        linked: "Linked", "Verknüpft";
        no_logins: "No other account signs the person in.", "Kein anderes Konto meldet die Person an.";
        remove_login_question:
            "It signs the person in no longer, and the sessions in which they have signed in with a provider end. If there is no other way to sign in, give the person a reset code. They are told by mail.",
            "Es meldet die Person nicht mehr an, und die Sitzungen enden, in denen sie sich bei einem Anbieter angemeldet hat. Bleibt kein anderer Weg, geben Sie der Person einen Code zum Zurücksetzen. Sie erfährt davon per E-Mail.";
        user_keys: "API keys", "API-Schlüssel";
        user_keys_explanation:
            "With them, the person’s programs pass guards. Ending sessions leaves them.",
            "Damit kommen Programme der Person durch Guards. Das Ende der Sitzungen beendet sie nicht.";
        no_user_keys: "The person has no valid key.", "Die Person hat keinen gültigen Schlüssel.";
        factor_reset:
            "Make a link that removes the factors",
            "Link erstellen, der die Faktoren entfernt";
        factor_reset_question:
            "For somebody who has lost all of them. It works once within 30 minutes, and asks for the password. The person is told by mail.",
            "Für jemanden, der alle verloren hat. Er gilt einmal, 30 Minuten lang, und fragt nach dem Passwort. Die Person erfährt davon per E-Mail.";
        factor_reset_made:
            "Give this link to the person. It works once within 30 minutes, and is not shown again.",
            "Geben Sie der Person diesen Link. Er gilt einmal, 30 Minuten lang, und wird nicht wieder angezeigt.";
        data: "Data and account", "Daten und Konto";
        data_explanation:
            "Everything that is stored about the person, and the end of the account.",
            "Alles, was über die Person gespeichert ist, und das Ende des Kontos.";
        export_user: "Download as JSON", "Als JSON herunterladen";
        disable: "Disable", "Sperren";
        disable_question:
            "Ends all sessions, API keys and trusted browsers for good, and refuses every sign-in until you enable the account again.",
            "Beendet alle Sitzungen, API-Schlüssel und vertrauten Browser endgültig und lehnt jede Anmeldung ab, bis Sie das Konto wieder freigeben.";
        enable: "Enable", "Freigeben";
        enable_question:
            "The person can sign in again, with the password as it was. If somebody else was in the account, secure it first.",
            "Die Person kann sich wieder anmelden, mit dem bisherigen Passwort. Wenn jemand anders im Konto war, sichern Sie es zuerst.";
        delete: "Delete", "Löschen";
        delete_question:
            "Deletes the account and what is stored about the person, at once and for good. The audit trail keeps ids, kinds and times of events as a proof, until the end of their retention.",
            "Löscht das Konto und was über die Person gespeichert ist, sofort und endgültig. Das Protokoll behält Kennungen, Arten und Zeiten von Ereignissen als Nachweis, bis ihre Aufbewahrungszeit endet.";

        // Invitations.
        invite_explanation:
            "Whoever has the invitation creates an account with this address.",
            "Wer die Einladung hat, legt ein Konto mit dieser Adresse an.";
        invite_roles_hint:
            "Separated by spaces. The new account gets them.",
            "Durch Leerzeichen getrennt. Das neue Konto erhält sie.";
        valid_days: "Valid for days", "Gültig für Tage";
        by_hand: "Show the link instead of mailing it", "Link anzeigen statt zu verschicken";
        by_hand_hint:
            "Then the address counts as not confirmed.",
            "Dann gilt die Adresse als nicht bestätigt.";
        revoke_invitation:
            "Nobody can create an account with it any more.",
            "Niemand kann damit mehr ein Konto anlegen.";
        invited_by: "Invited by", "Eingeladen von";
        by_operator: "An operator", "Betreiber";
        no_invitations: "No invitation is open.", "Keine Einladung ist offen.";

        // Refusals.
        refusals_explanation:
            "A server keeps the latest 1,000 of known and of unknown callers, until it stops.",
            "Ein Server behält die letzten 1000 von bekannten und von unbekannten Aufrufern, bis er endet.";
        live_explanation:
            "This page loads again every 5 seconds. That does not keep you signed in.",
            "Diese Seite lädt alle 5 Sekunden neu. Das hält Sie nicht angemeldet.";
        reload_by_itself: "Reload automatically", "Automatisch neu laden";
        stop_reloading: "Stop reloading", "Nicht mehr neu laden";
        only_reported:
            "Only those that were admitted because the guard only reports",
            "Nur die, die eingelassen wurden, weil der Guard nur berichtet";
        only_reported_tag: "Admitted: only reported", "Eingelassen: nur berichtet";
        refused_tag: "Refused", "Abgelehnt";
        no_refusals: "Nothing was refused.", "Nichts wurde abgelehnt.";
        credential: "Token or key", "Token oder Schlüssel";
        would_be_admitted: "Way in", "Weg hinein";

        // Overview.
        service: "Service", "Dienst";
        decisions: "Decisions of guards", "Entscheidungen der Guards";
        decisions_explanation: "Since this server started.", "Seit dem Start dieses Servers.";
        sign_ins_elsewhere: "Sign-ins at other providers", "Anmeldungen bei anderen Anbietern";
        login: "Provider", "Anbieter";
        open_sessions: "Sessions", "Sitzungen";
        mail_waiting: "Mail waiting", "Wartende E-Mails";
        mail_given_up: "Mail given up", "Aufgegebene E-Mails";
        version: "Version", "Version";
        public_address: "Address", "Adresse";
        started: "Started", "Gestartet";
        database: "Database", "Datenbank";
        free_space: "Free disk space", "Freier Speicherplatz";
        last_backup: "Last backup", "Letzte Sicherung";
        doctor: "What doorward doctor has found", "Was doorward doctor gefunden hat";
        last_doctor: "Last run of doorward doctor", "Letzter Lauf von doorward doctor";
        certificate_until: "Certificate valid until", "Zertifikat gültig bis";

        // Guards.
        mode: "Mode", "Modus";
        enforced: "Enforced", "Erzwungen";
        reports: "Only reports", "Berichtet nur";
        admitted: "Admitted", "Eingelassen";
        would_be_refused: "Would be refused", "Würde abgelehnt";
        no_guards:
            "No guard is declared. Add one to the settings.",
            "Kein Guard ist deklariert. Fügen Sie einen zu den Einstellungen hinzu.";
        origins: "Apps", "Apps";
        to_check: "To check", "Zu prüfen";
        try_guard: "What would it say?", "Was würde er sagen?";
        try_guard_explanation:
            "The decision about a user who has just signed in. Nothing is counted, and nobody is signed in.",
            "Die Entscheidung über eine Person, die sich gerade angemeldet hat. Nichts wird gezählt, und niemand wird angemeldet.";
        try_guard_button: "Show the decision", "Entscheidung zeigen";
        user_hint: "An address or an id.", "Eine Adresse oder eine Kennung.";
        no_such_user: "There is no such user.", "Diese Person gibt es nicht.";
        invalid_address: "This is not an IP address.", "Das ist keine IP-Adresse.";
        method: "Method", "Methode";
        host: "Host", "Host";
        path: "Path", "Pfad";
        address_hint: "The IP address of the client.", "Die IP-Adresse des Clients.";
        refused_by_guard: "Refused lately", "Kürzlich abgelehnt";
        would_be_refused_by_guard:
            "Who would have been refused lately",
            "Wer kürzlich abgelehnt worden wäre";

        // Signing keys.
        signing_keys_explanation:
            "Tokens are signed with them. Apps fetch the public halves.",
            "Damit werden Token signiert. Apps holen die öffentlichen Hälften.";
        algorithm: "Algorithm", "Algorithmus";
        until: "Until", "Bis";
        rotate: "Publish a new key", "Neuen Schlüssel veröffentlichen";
        rotate_question:
            "It signs when all apps know it. Nobody is signed out.",
            "Er signiert, sobald alle Apps ihn kennen. Niemand wird abgemeldet.";
        revoke_signing_key:
            "Refuses all its tokens at once. Whoever has one signs in again. Only if it has leaked.",
            "Lehnt sofort alle seine Token ab. Wer eines hat, meldet sich neu an. Nur wenn er bekannt geworden ist.";

        // Mail.
        mail_explanation:
            "Mail that waits to be sent, or was given up.",
            "E-Mails, die auf den Versand warten oder aufgegeben wurden.";
        recipient: "Recipient", "Empfänger";
        attempts_column: "Attempts", "Versuche";
        failure: "Last failure", "Letzter Fehler";
        given_up: "Given up", "Aufgegeben";
        waits: "Waits", "Wartet";
        no_mail:
            "No mail waits, and none was given up.",
            "Keine E-Mail wartet, und keine wurde aufgegeben.";
        mail_not_configured:
            "This service sends no mail. Set mail.url and mail.from.",
            "Dieser Dienst verschickt keine E-Mails. Setzen Sie mail.url und mail.from.";
        retry_mail: "Try again now", "Jetzt erneut versuchen";
        retry_mail_question:
            "Tries all mail that has not expired.",
            "Versucht alle E-Mails, die nicht abgelaufen sind.";

        // API keys.
        new_key: "New key of a machine", "Neuer Schlüssel einer Maschine";
        new_key_explanation:
            "A program proves with it who it is. People make their own keys in their account.",
            "Damit weist sich ein Programm aus. Personen erstellen ihre eigenen Schlüssel in ihrem Konto.";
        create_key: "Create the key", "Schlüssel erstellen";
        key_made:
            "Copy this key now. It is not shown again. Programs send it as a bearer token, or as the password of HTTP Basic.",
            "Kopieren Sie diesen Schlüssel jetzt. Er wird nicht wieder angezeigt. Programme senden ihn als Bearer-Token oder als Passwort von HTTP Basic.";
        key: "Key", "Schlüssel";
        owner: "Owner", "Gehört";
        machine: "A machine", "Einer Maschine";
        scopes: "What it may do", "Was er darf";
        key_name_hint:
            "Such as the program that uses it.",
            "Zum Beispiel das Programm, das ihn benutzt.";
        key_condition_hint:
            concat!("A condition in CEL, such as ", examples::condition!(), "."),
            concat!("Eine Bedingung in CEL, zum Beispiel ", examples::condition!(), ".");
        revoke_key_question:
            "Whatever uses it is refused from the next request on.",
            "Was ihn benutzt, wird ab der nächsten Anfrage abgelehnt.";
        revoked: "Revoked", "Widerrufen";
        expired: "Expired", "Abgelaufen";
        deleted_user: "A deleted user", "Eine gelöschte Person";
        no_keys: "There is no API key.", "Es gibt keine API-Schlüssel.";

        // Emergency.
        emergency: "Emergency", "Notfall";
        emergency_explanation:
            "After a theft of the database, a backup or the keys.",
            "Nach dem Diebstahl der Datenbank, einer Sicherung oder der Schlüssel.";
        emergency_question:
            "Replaces all keys, signs everybody out, you too, and makes all links, codes, invitations and API keys void.",
            "Ersetzt alle Schlüssel, meldet alle ab, auch Sie, und macht alle Links, Codes, Einladungen und API-Schlüssel ungültig.";
        emergency_passwords: "Which passwords are removed?", "Welche Passwörter werden entfernt?";
        emergency_all: "Everybody’s", "Alle";
        emergency_of_role:
            "Those of everybody with the role below",
            "Die aller Personen mit der Rolle unten";
        emergency_none: "Nobody’s", "Keine";
        emergency_role_hint:
            concat!("Only if you have chosen it above, such as ", examples::role!(), "."),
            concat!("Nur wenn Sie das oben gewählt haben, zum Beispiel ", examples::role!(), ".");
        emergency_done: "Everything is replaced and revoked", "Alles ist ersetzt und widerrufen";
        emergency_after: "Everybody is signed out, you too.", "Alle sind abgemeldet, auch Sie.";

        // Audit trail.
        proof: "Proof", "Beweis";
        checkpoint: "Checkpoint", "Prüfpunkt";
        sign_ins: "Sign-ins", "Anmeldungen";
        failed_sign_ins: "Failed sign-ins", "Fehlgeschlagene Anmeldungen";
        sign_ups: "New accounts", "Neue Konten";
        last_days: "The last 30 days", "Die letzten 30 Tage";
        days_explanation:
            "Days are in UTC. An event counts within a minute.",
            "Nach Tagen in UTC. Ein Ereignis zählt innerhalb einer Minute.";
        none_on_any_day: "None on any day.", "An keinem Tag.";
        activity: "Activity", "Aktivität";
        all_activity: "All activity", "Alle Aktivitäten";
        export: "Export", "Exportieren";
        kind: "Kind", "Art";
        all_kinds: "All", "Alle";
        from: "From", "Von";
        to: "Before", "Vor";
        event: "Event", "Ereignis";
        by: "by", "durch";
        concerns: "Who", "Wer";
        origin: "From", "Von wo";
        failed: "Failed", "Fehlgeschlagen";
        no_events: "No event matches.", "Kein Ereignis passt dazu.";
    }

    impl AdminTexts {
        // Audit trail.
        counted_at(at: &str): "Counted at {at}.", "Gezählt am {at}.";

        // Sentences with parameters.
        /// What is wrong with what protects the audit trail, and since when.
        trouble_since(what: &str, since: &str):
            "{what}, since {since}. doorward doctor says what to do.",
            "{what} (seit dem {since}). doorward doctor sagt, was zu tun ist.";
        /// So many of so many failed sign-ins.
        failures_counted(used: u32, size: u32):
            "{used} of {size} failed sign-ins count against this account.",
            "{used} von {size} Fehlversuchen zählen gegen dieses Konto.";
        /// What, over how many days, the sum, and the most on one day.
        chart(what: &str, days: usize, total: &str, most: &str):
            "{what} on each of the last {days} days: {total} altogether, at most {most} on one day",
            "{what} an jedem der letzten {days} Tage: {total} insgesamt, höchstens {most} an einem Tag";
    }
}

impl AdminTexts {
    /// What is wrong with what protects the audit trail, and since when.
    pub fn trail_trouble(&self, part: TrailPart, since: &str) -> String {
        let what = match part {
            TrailPart::WitnessRefuses => [
                "The witness refuses to cosign the audit trail",
                "Der Zeuge lehnt es ab, das Protokoll zu bestätigen",
            ],
            TrailPart::WitnessUnreachable => [
                "The witness of the audit trail cannot be reached",
                "Der Zeuge des Protokolls ist nicht erreichbar",
            ],
            TrailPart::CheckpointFile => [
                "The checkpoints of the audit trail cannot be written to their file",
                "Die Prüfpunkte des Protokolls lassen sich nicht in ihre Datei schreiben",
            ],
            TrailPart::Secret => [
                "The secret of the audit trail is missing or was replaced",
                "Das Geheimnis des Protokolls fehlt oder wurde ersetzt",
            ],
        };
        self.trouble_since(self.language.choose(what), since)
    }

    pub fn attempts(&self, count: u32) -> String {
        let (one, several) =
            self.language.choose([("attempt", "attempts"), ("Versuch", "Versuche")]);
        counted(count.into(), one, several)
    }

    pub fn key_stage(&self, stage: KeyStatus) -> &'static str {
        self.language.choose(match stage {
            KeyStatus::Next => ["Signs soon", "Signiert bald"],
            KeyStatus::Signing => ["Signs", "Signiert"],
            KeyStatus::Verifying | KeyStatus::Retired => ["Only verifies", "Prüft nur"],
            KeyStatus::Refreshing => ["Only refreshes", "Erneuert nur"],
        })
    }
}
