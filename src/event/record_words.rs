//! What a record of the audit trail tells people.

use serde_json::{Map, Value};

use super::{EventName, details::Details};
use crate::language::{Language, Text, sort_key};

/// What a record of the kind with this name tells, and what else is known about it in a sentence.
pub fn record_words(
    kind: &str,
    details: &Map<String, Value>,
    language: Language,
) -> (String, Option<String>) {
    const ONLY_REPORTED: Text =
        ["Access to an app would have been refused", "Zugang zu einer App wäre verweigert worden"];
    let Some(info) = EventName::parse(kind).map(EventName::info) else {
        return (EventName::title(kind, language), None);
    };
    let details = Details::of(details);
    let title = if details.is("onlyReported") { ONLY_REPORTED } else { info.title };
    let sentence = info.sentence.and_then(|sentence| sentence(&details, language));
    (language.choose(title).into(), sentence)
}

/// All kinds with their titles, in the order of the alphabet.
pub fn kinds_by_title(language: Language) -> Vec<(EventName, &'static str)> {
    let mut titles: Vec<_> =
        EventName::ALL.iter().map(|kind| (*kind, language.choose(kind.info().title))).collect();
    titles.sort_by_cached_key(|(_, title)| sort_key(title));
    titles
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOTH: [Language; 2] = [Language::English, Language::German];

    fn words(kind: &str, details: &Value, language: Language) -> (String, Option<String>) {
        record_words(kind, details.as_object().unwrap(), language)
    }

    fn sentence(kind: &str, details: &Value, language: Language) -> String {
        words(kind, details, language).1.unwrap_or_default()
    }

    #[test]
    fn every_kind_has_a_title_of_its_own_in_every_language() {
        for language in BOTH {
            let mut found: Vec<_> =
                kinds_by_title(language).into_iter().map(|(_, title)| title).collect();
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
            let said = |language| sentence(kind, &details, language).replace('\u{a0}', "~");
            assert_eq!(said(Language::English), english, "{kind}");
            assert_eq!(said(Language::German), german, "{kind}");
        }
    }

    #[test]
    fn what_a_guard_has_only_reported_is_not_called_refused() {
        let title = |language, reported: bool| {
            words("guard_refused", &json!({ "guard": "a", "onlyReported": reported }), language).0
        };
        let refused = BOTH.map(|language| title(language, false));
        assert_eq!(refused, ["Access to an app refused", "Zugang zu einer App verweigert"]);
        let reported = BOTH.map(|language| title(language, true));
        let expected = [
            "Access to an app would have been refused",
            "Zugang zu einer App wäre verweigert worden",
        ];
        assert_eq!(reported, expected);
    }

    #[test]
    fn kinds_are_in_the_order_of_the_alphabet() {
        let german = kinds_by_title(Language::German);
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
        let unknown = BOTH.map(|language| words("of_the_future", &json!({}), language));
        let expected = ["Unknown event (of_the_future)", "Unbekanntes Ereignis (of_the_future)"];
        assert_eq!(unknown, expected.map(|words| (words.to_owned(), None::<String>)));
        for language in BOTH {
            for name in EventName::ALL {
                // Nothing of what this version expects is in it.
                let strange =
                    json!({ "count": "many", "reason": 7, "methods": "pwd", "counts": [1] });
                let details = sentence(name.as_str(), &strange, language);
                assert!(!details.contains(['{', '[', '"']), "{name:?}: {details}");
            }
        }
    }
}
