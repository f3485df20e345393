//! What an emergency has replaced and revoked, in lines. The command prints the English ones.

use super::counted;
use crate::{account::emergency::EmergencyReport, language::Language};

impl EmergencyReport {
    /// What was replaced and revoked.
    pub(crate) fn lines(&self, language: Language) -> Vec<String> {
        let Self {
            keys_revoked,
            keys_in_file,
            sessions_ended,
            codes_revoked,
            mails_deleted,
            invitations_revoked,
            api_keys_revoked,
            passwords_removed,
            links_mailed,
        } = self;
        // A number with its noun, for one and for several.
        let line = |count: usize, words: [(&str, &str); 2]| {
            let (one, several) = language.choose(words);
            counted(count as u64, one, several)
        };
        let secret =
            ["secret of cookies and links replaced", "Geheimnis der Cookies und Links ersetzt"];
        let mut lines = vec![
            line(
                keys_revoked.len(),
                [
                    ("signing key replaced", "signing keys replaced"),
                    ("Signaturschlüssel ersetzt", "Signaturschlüssel ersetzt"),
                ],
            ),
            language.choose(secret).into(),
            line(
                *sessions_ended,
                [("session ended", "sessions ended"), ("Sitzung beendet", "Sitzungen beendet")],
            ),
            line(
                *codes_revoked,
                [
                    ("link or code voided", "links and codes voided"),
                    ("Link oder Code ungültig", "Links und Codes ungültig"),
                ],
            ),
            line(
                *mails_deleted,
                [
                    ("mail with one deleted", "mails with one deleted"),
                    ("Mail damit gelöscht", "Mails damit gelöscht"),
                ],
            ),
            line(
                *invitations_revoked,
                [
                    ("invitation voided", "invitations voided"),
                    ("Einladung ungültig", "Einladungen ungültig"),
                ],
            ),
            line(
                *api_keys_revoked,
                [
                    ("API key revoked", "API keys revoked"),
                    ("API-Schlüssel widerrufen", "API-Schlüssel widerrufen"),
                ],
            ),
            line(
                *passwords_removed,
                [
                    ("password removed", "passwords removed"),
                    ("Passwort entfernt", "Passwörter entfernt"),
                ],
            ),
        ];
        if *links_mailed > 0 {
            lines.push(line(
                *links_mailed,
                [
                    ("link to a new password mailed", "links to a new password mailed"),
                    (
                        "Link zu einem neuen Passwort verschickt",
                        "Links zu neuen Passwörtern verschickt",
                    ),
                ],
            ));
        }
        if !keys_in_file.is_empty() {
            // They stay, because they are the operator's own.
            let words = [
                "the keys in the file of token.key_file still sign: put new ones into it and restart every server",
                "Die Schlüssel in der Datei von token.key_file signieren weiter: Ersetzen Sie sie und starten Sie jeden Server neu.",
            ];
            lines.push(language.choose(words).into());
        }
        lines
    }

    /// What the command prints.
    pub(crate) fn summary(&self) -> Vec<String> {
        self.lines(Language::English)
    }
}
