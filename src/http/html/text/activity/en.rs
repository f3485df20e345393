//! English.

use super::ActivityTexts;

pub(in super::super) const TEXTS: ActivityTexts = ActivityTexts {
    heading: "Recent activity",
    explanation: "What happened to your account, and from where. If you do not recognise something, change your password and end your sessions.",
    show: "Show activity",
    none: "Nothing yet.",
    older: "Older",
    newest: "Newest",
    by_administrator: "by an administrator",
    by_unknown: "not signed in",
    by_service: "by the service",
};
