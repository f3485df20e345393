//! The words of the page with the recent activity of an account.

pub(super) mod de;
pub(super) mod en;

/// The texts about recent activity in one language.
pub struct ActivityTexts {
    pub heading: &'static str,
    pub explanation: &'static str,
    pub show: &'static str,
    pub none: &'static str,
    pub older: &'static str,
    pub newest: &'static str,
    /// Who has caused it, unless it is the person.
    pub by_administrator: &'static str,
    pub by_unknown: &'static str,
    pub by_service: &'static str,
    /// What happened, by the name of its kind in the audit trail.
    pub kind: fn(&str) -> &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;

    /// Kinds that concern no user.
    const OF_NOBODY: &[&str] = &[
        "registration_refused",
        "users_imported",
        "mail_withheld",
        "unknown_secret",
        "reset_failed",
        "service_started",
        "service_stopped",
        "signing_key_rotated",
        "signing_key_revoked",
        "guards_reloaded",
        "mail_retried",
        "everything_revoked",
        "users_exported",
        "audit_exported",
        "audit_secret_replaced",
        "trail_pruned",
        "events_left_out",
    ];

    #[test]
    fn every_kind_that_concerns_a_user_has_words_in_every_language() {
        let both: [&ActivityTexts; 2] = [&en::TEXTS, &de::TEXTS];
        for texts in both {
            let other = (texts.kind)("something else");
            for kind in EventKind::NAMES.iter().filter(|kind| !OF_NOBODY.contains(kind)) {
                assert_ne!((texts.kind)(kind), other, "{kind}");
            }
        }
    }
}
