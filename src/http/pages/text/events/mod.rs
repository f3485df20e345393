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
}

impl EventTexts {
    /// What a kind of event is called.
    pub fn kind(&self, name: EventName) -> &'static str {
        (self.words)(name, &Details::NONE).0
    }

    /// What the kind with this name in the audit trail is called. A newer version may have written one that this one does not know.
    pub fn named(&self, name: &str) -> String {
        EventName::parse(name).map_or_else(|| name.replace('_', " "), |name| self.kind(name).into())
    }

    /// What a record tells, and what else is known about it.
    pub fn of(&self, record: &Record) -> (String, Option<String>) {
        let name = EventName::parse(&record.kind);
        let details = name.and_then(|name| (self.words)(name, &Details::of(record)).1);
        (self.named(&record.kind), details)
    }
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
                "Sign-ins before 2026-10-02. Changes and orders before 2026-01-02.",
                "Anmeldungen vor dem 2026-10-02. Änderungen und Anordnungen vor dem 2026-01-02.",
            ),
            (
                "events_left_out",
                json!({ "counts": { "sign_in_failed": 7, "of_the_future": 2 }, "subjects": [], "networks": [] }),
                "Of the future: 2. Sign-in failed: 7.",
                "Anmeldung fehlgeschlagen: 7. Of the future: 2.",
            ),
        ] {
            assert_eq!(sentence(&en::TEXTS, kind, details.clone()), english, "{kind}");
            assert_eq!(sentence(&de::TEXTS, kind, details), german, "{kind}");
        }
    }

    #[test]
    fn a_record_of_another_version_has_words() {
        for texts in BOTH {
            assert_eq!(
                texts.of(&record("of_the_future", json!({}))),
                ("of the future".into(), None)
            );
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
