//! The words of events, for administrators and for the person whom they concern. A kind without words does not compile.

pub(super) mod de;
mod details;
pub(super) mod en;

pub use self::details::Details;
use crate::{audit::Record, event::EventName};

/// The words of events in one language.
pub struct EventTexts {
    /// What happened, and what else is known about it in a sentence.
    words: fn(EventName, &Details<'_>) -> (&'static str, Option<String>),
    /// What happened, if a newer version has written it: its name is not known here.
    unknown: &'static str,
}

impl EventTexts {
    /// What a kind of event is called.
    fn kind(&self, name: EventName) -> &'static str {
        (self.words)(name, &Details::NONE).0
    }

    /// All kinds with what they are called, in the order of the alphabet.
    pub fn kinds(&self) -> Vec<(EventName, &'static str)> {
        let mut kinds: Vec<_> =
            EventName::ALL.iter().map(|name| (*name, self.kind(*name))).collect();
        kinds.sort_by_cached_key(|(_, words)| alphabetical(words));
        kinds
    }

    /// What the kind with this name in the audit trail is called.
    fn named(&self, name: &str) -> String {
        match EventName::parse(name) {
            Some(kind) => self.kind(kind).into(),
            None => format!("{} ({name})", self.unknown),
        }
    }

    /// What a record tells, and what else is known about it.
    pub fn of(&self, record: &Record) -> (String, Option<String>) {
        let Some(kind) = EventName::parse(&record.kind) else {
            return (self.named(&record.kind), None);
        };
        let (title, details) = (self.words)(kind, &Details::of(record));
        (title.into(), details)
    }
}

/// What texts are sorted by. A German umlaut stands where its vowel stands.
fn alphabetical(text: &str) -> String {
    let text = text.to_lowercase();
    text.replace('ä', "a").replace('ö', "o").replace('ü', "u").replace('ß', "ss")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOTH: [&EventTexts; 2] = [&en::TEXTS, &de::TEXTS];

    fn record(kind: &str, details: serde_json::Value) -> Record {
        let record = json!({
            "id": "x", "at": "x", "kind": kind, "outcome": "success", "actor": {"type": "unknown"}, "details": details,
        });
        serde_json::from_value(record).unwrap()
    }

    fn sentence(texts: &EventTexts, kind: &str, details: serde_json::Value) -> String {
        texts.of(&record(kind, details)).1.unwrap_or_default()
    }

    #[test]
    fn every_kind_has_words_of_its_own_in_every_language() {
        for texts in BOTH {
            let mut found: Vec<_> = EventName::ALL.iter().map(|name| texts.kind(*name)).collect();
            assert!(found.iter().all(|words| !words.contains('_') && !words.is_empty()));
            let count = found.len();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), count, "two kinds are called the same");
        }
    }

    #[test]
    fn what_is_known_is_a_sentence_and_never_json() {
        let guard = || json!({ "guard": "staff", "decision": "d1", "onlyReported": true });
        for (kind, details, english, german) in [
            (
                "guard_refused",
                guard(),
                "Guard staff only reports: the person was admitted.",
                "Guard staff berichtet nur: Die Person wurde eingelassen.",
            ),
            (
                "signed_in",
                json!({ "session": "s", "methods": ["pwd", "totp"] }),
                "With a password and a code of an app.",
                "Mit Passwort und Code einer App.",
            ),
            (
                "sign_in_failed",
                json!({ "reason": "wrong_password" }),
                "Wrong password.",
                "Falsches Passwort.",
            ),
            ("user_changed", json!({ "name": true, "email": false }), "The name.", "Der Name."),
            ("role_granted", json!({ "role": "staff" }), "Role staff.", "Rolle staff."),
            ("sessions_ended", json!({ "count": 1 }), "1 session.", "1 Sitzung."),
            (
                "sessions_ended",
                json!({ "count": 1234 }),
                "1\u{202f}234 sessions.",
                "1\u{202f}234 Sitzungen.",
            ),
            (
                "guards_reloaded",
                json!({ "added": ["a", "b"], "changed": [], "removed": ["c"] }),
                "New: a, b. Removed: c.",
                "Neu: a, b. Entfernt: c.",
            ),
            (
                "user_imported",
                json!({ "roles": ["admin", "staff"] }),
                "With the roles admin, staff.",
                "Mit den Rollen admin, staff.",
            ),
            (
                "trail_pruned",
                json!({ "before": { "orders": "2026-01-02T03:04:05Z", "sign-ins": "2026-10-02T03:04:05Z" } }),
                "Sign-ins before 2~Oct~2026, 03:04:05~UTC. Changes and orders before 2~Jan~2026, 03:04:05~UTC.",
                "Anmeldungen vor dem 2.~Okt.~2026, 03:04:05~UTC. Änderungen und Anordnungen vor dem 2.~Jan.~2026, 03:04:05~UTC.",
            ),
            (
                "backup_restored",
                json!({ "madeAt": "2026-11-19T03:17:37.000Z" }),
                "Made on 19~Nov~2026, 03:17:37~UTC.",
                "Vom 19.~Nov.~2026, 03:17:37~UTC.",
            ),
            (
                "user_secured",
                json!({ "sessions": 2, "apiKeys": 0, "factors": 1 }),
                "2 sessions. 1 second factor removed.",
                "2 Sitzungen. 1 zweiter Faktor entfernt.",
            ),
            ("user_secured", json!({ "sessions": 0, "apiKeys": 0, "factors": 0 }), "", ""),
            (
                "mail_given_up",
                json!({ "mail": "m", "failure": "RCPT TO: 550 no such user" }),
                "The failure: “RCPT TO: 550 no such user”.",
                "Der Fehler: „RCPT TO: 550 no such user“.",
            ),
            (
                "events_left_out",
                json!({ "counts": { "sign_in_failed": 7000, "of_the_future": 2 }, "subjects": [], "networks": [] }),
                "Sign-in failed: 7\u{202f}000. Unknown event (of_the_future): 2.",
                "Anmeldung fehlgeschlagen: 7\u{202f}000. Unbekanntes Ereignis (of_the_future): 2.",
            ),
        ] {
            // In times, no line breaks where a tilde stands.
            let said =
                |texts: &EventTexts| sentence(texts, kind, details.clone()).replace('\u{a0}', "~");
            assert_eq!(said(&en::TEXTS), english, "{kind}");
            assert_eq!(said(&de::TEXTS), german, "{kind}");
        }
    }

    #[test]
    fn what_a_guard_has_only_reported_is_not_called_refused() {
        let title = |texts: &EventTexts, reported: bool| {
            texts.of(&record("guard_refused", json!({ "guard": "a", "onlyReported": reported }))).0
        };
        let refused = BOTH.map(|texts| title(texts, false));
        assert_eq!(refused, ["Access to an app refused", "Zugang zu einer App verweigert"]);
        let reported = BOTH.map(|texts| title(texts, true));
        let expected = [
            "Access to an app would have been refused",
            "Zugang zu einer App wäre verweigert worden",
        ];
        assert_eq!(reported, expected);
    }

    #[test]
    fn kinds_are_in_the_order_of_the_alphabet() {
        let german = de::TEXTS.kinds();
        assert_eq!(german.len(), EventName::ALL.len());
        let place = |name: EventName| german.iter().position(|(kind, _)| *kind == name).unwrap();
        let [change, everything, signed_in] =
            [EventName::EmailChangeRequested, EventName::FactorsReset, EventName::SignedIn]
                .map(place);
        // Alle, Änderung, Angemeldet.
        assert!(everything < change && change < signed_in, "{german:?}");
    }

    #[test]
    fn a_record_of_another_version_has_words() {
        let unknown = BOTH.map(|texts| texts.of(&record("of_the_future", json!({}))));
        let expected = ["Unknown event (of_the_future)", "Unbekanntes Ereignis (of_the_future)"];
        assert_eq!(unknown, expected.map(|words| (words.to_owned(), None::<String>)));
        for texts in BOTH {
            for name in EventName::ALL {
                // Nothing of what this version expects is in it.
                let strange =
                    json!({ "count": "many", "reason": 7, "methods": "pwd", "counts": [1] });
                let (_, details) = texts.of(&record(name.as_str(), strange));
                let details = details.unwrap_or_default();
                assert!(!details.contains(['{', '[', '"']), "{name:?}: {details}");
            }
        }
    }
}
