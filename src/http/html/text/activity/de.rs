//! German.

use super::ActivityTexts;

pub(in super::super) const TEXTS: ActivityTexts = ActivityTexts {
    heading: "Letzte Aktivitäten",
    explanation: "Was mit Ihrem Konto geschehen ist, und von wo. Wenn Sie etwas nicht wiedererkennen, ändern Sie Ihr Passwort und beenden Sie Ihre Sitzungen.",
    show: "Aktivitäten zeigen",
    none: "Noch nichts.",
    older: "Ältere",
    newest: "Neueste",
    by_administrator: "von der Verwaltung",
    by_unknown: "nicht angemeldet",
    by_service: "vom Dienst",
};
