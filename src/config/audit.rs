//! `[audit]`: how long the audit trail is kept, and who holds its checkpoints.

use std::{path::PathBuf, time::Duration};

use super::{
    Settings, SettingsError,
    key::Key,
    value::{Custom, Field, List, NONE, Number, OptionalPath, days, field},
};
use crate::{audit::VerifierKey, event::EventGroup};

/// How long the audit trail is kept, and who holds its checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuditSettings {
    /// How many days events are kept; 0 is for ever.
    pub(crate) retention_days: u32,
    /// How many days sign-ins are kept; `None` is as long as other events.
    pub(crate) sign_in_retention_days: Option<u32>,
    /// How many days refusals are kept; `None` is as long as other events.
    pub(crate) refusal_retention_days: Option<u32>,
    /// Where checkpoints are appended.
    pub(crate) checkpoint_file: Option<PathBuf>,
    /// The URL of a witness, to which `/add-checkpoint` is added, and its public key.
    pub(crate) witness: Option<String>,
    pub(crate) witness_key: Option<VerifierKey>,
    /// The logs that this installation witnesses.
    pub(crate) witness_for: Vec<VerifierKey>,
}

impl AuditSettings {
    /// How long events are kept; `None` is for ever.
    pub(crate) fn retention_of(&self, group: EventGroup) -> Option<Duration> {
        /// What explains that something was erased outlives it.
        const LONGER: u32 = 30;
        let all = self.retention_days;
        let sign_ins = self.sign_in_retention_days.unwrap_or(all);
        let refusals = self.refusal_retention_days.unwrap_or(all);
        let days_kept = match group {
            EventGroup::SignIns => sign_ins,
            EventGroup::Refusals => refusals,
            EventGroup::Orders => all,
            EventGroup::Deletions if [all, sign_ins, refusals].contains(&0) => 0,
            EventGroup::Deletions => all.max(sign_ins).max(refusals) + LONGER,
        };
        (days_kept > 0).then(|| days(days_kept.into()))
    }

    /// How many days an event is kept at most; `None` is for ever.
    pub(crate) fn longest_retention_days(&self) -> Option<u32> {
        /// The deletion is two to three days late, because of clocks that jump.
        const LATE: u64 = 3;
        let longest = self.retention_of(EventGroup::Deletions)?.as_secs() / (24 * 60 * 60);
        u32::try_from(longest + LATE).ok()
    }
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            retention_days: 365,
            sign_in_retention_days: None,
            refusal_retention_days: None,
            checkpoint_file: None,
            witness: None,
            witness_key: None,
            witness_for: Vec::new(),
        }
    }
}

/// The most days, about a century.
const MAX_DAYS: u32 = 36_500;

/// The value of a retention that is that of all events unless it is set.
const SAME: &str = "same";

const fn days_or_same(field: Field<Option<u32>>) -> Custom<Option<u32>> {
    Custom {
        field,
        parse: |text| match text {
            SAME => Some(None),
            days => days.parse().ok().filter(|days| *days <= MAX_DAYS).map(Some),
        },
        show: |days| days.map_or_else(|| SAME.into(), |days| days.to_string()),
        allowed: || format!("a number from 0 to {MAX_DAYS}, or {SAME} as audit.retention"),
        secret: false,
    }
}

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "audit.retention",
        purpose: "How many days the events of the audit trail are kept; 0 is for ever",
        value: &Number { field: field!(audit.retention_days), range: 0..=MAX_DAYS },
    },
    Key {
        name: "audit.retention_of_sign_ins",
        purpose: "How many days sign-ins are kept, failed ones as well; 0 is for ever",
        value: &days_or_same(field!(audit.sign_in_retention_days)),
    },
    Key {
        name: "audit.retention_of_refusals",
        purpose: "How many days refusals are kept, and mails that somebody has asked for; 0 is for ever",
        value: &days_or_same(field!(audit.refusal_retention_days)),
    },
    Key {
        name: "audit.checkpoint_file",
        purpose: "File to which the checkpoints of the audit trail are appended, best on another machine",
        value: &OptionalPath { field: field!(audit.checkpoint_file), target: "file" },
    },
    Key {
        name: "audit.witness",
        purpose: "URL of a witness that cosigns the checkpoints, such as https://other.example.com/audit/witness, or none",
        value: &Custom {
            field: field!(audit.witness),
            parse: |text| match text {
                NONE => Some(None),
                url => is_url(url).then(|| Some(url.trim_end_matches('/').to_owned())),
            },
            show: |url| url.clone().unwrap_or_else(|| NONE.into()),
            allowed: || format!("{NONE}, or a URL such as https://other.example.com/audit/witness"),
            secret: false,
        },
    },
    Key {
        name: "audit.witness_key",
        purpose: "Public key of the witness, which `doorward audit key --witness` prints there",
        value: &Custom {
            field: field!(audit.witness_key),
            parse: |text| match text {
                NONE => Some(None),
                key => key.parse().ok().filter(VerifierKey::is_of_witness).map(Some),
            },
            show: |key| key.as_ref().map_or_else(|| NONE.into(), ToString::to_string),
            allowed: || format!("{NONE}, or a key as `doorward audit key --witness` prints it"),
            secret: false,
        },
    },
    Key {
        name: "audit.witness_for",
        purpose: "Public keys of other installations whose checkpoints this one cosigns, as `doorward audit key` prints them",
        value: &List {
            field: field!(audit.witness_for),
            parse: |text| text.parse().ok().filter(|key: &VerifierKey| !key.is_of_witness()),
            collect: Some,
            show: |keys| keys.iter().map(ToString::to_string).collect(),
            allowed: || format!("a list of keys as `doorward audit key` prints them, or {NONE}"),
            choices: &[],
            reason: |_| None,
            secret: false,
        },
    },
];

/// Whether checkpoints can be sent there. Without TLS, only to this machine.
fn is_url(text: &str) -> bool {
    let is_local = |rest: &str| {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        ["localhost", "127.0.0.1"].contains(&host)
    };
    let has_host = |rest: &str| !rest.is_empty() && !rest.starts_with(['/', ':']);
    match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => has_host(rest),
        (_, Some(rest)) => is_local(rest),
        _ => false,
    }
}

pub(super) fn check(settings: &Settings) -> Result<(), SettingsError> {
    match (&settings.audit.witness, &settings.audit.witness_key) {
        (Some(_), None) => Err(SettingsError::new(
            "audit.witness: the key of the witness is missing: set audit.witness_key to what `doorward audit key --witness` prints there",
        )),
        (None, Some(_)) => Err(SettingsError::new(
            "audit.witness_key: there is no witness: set audit.witness to its URL",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Settings, event::EventGroup};

    #[test]
    fn groups_are_kept_for_as_long_as_their_settings_say_and_deletions_longer_than_all() {
        let days = |settings: &Settings| {
            settings.check().unwrap();
            EventGroup::ALL.map(|group| {
                settings.audit.retention_of(group).map(|kept| kept.as_secs() / (24 * 60 * 60))
            })
        };
        assert_eq!(days(&Settings::new()), [Some(365), Some(365), Some(365), Some(395)]);
        let some = Settings::new().with("audit.retention_of_sign_ins", 90);
        assert_eq!(days(&some), [Some(90), Some(365), Some(365), Some(395)]);
        let some = some.with("audit.retention_of_refusals", 500);
        assert_eq!(days(&some), [Some(90), Some(500), Some(365), Some(530)]);
        let all = some.with("audit.retention", 0);
        assert_eq!(days(&all), [Some(90), Some(500), None, None]);
        let refused = Settings::new().with("audit.retention_of_sign_ins", "a while").check();
        let expected = "a number from 0 to 36500, or same as audit.retention";
        assert!(refused.unwrap_err().to_string().contains(expected));
    }

    #[test]
    fn a_witness_has_a_url_and_a_key() {
        let key = "doorward-witness/44e4d8a4e7a6a8a0";
        let refused = |settings: Settings| settings.check().unwrap_err().to_string();
        let url = "https://other.example.com/audit/witness";
        let without = Settings::new().with("audit.witness", url);
        assert!(refused(without).contains("set audit.witness_key"));
        let wrong = Settings::new().with("audit.witness", "http://other.example.com");
        assert!(
            refused(wrong)
                .contains("audit.witness: \"http://other.example.com\" is not none, or a URL")
        );
        let wrong = Settings::new().with("audit.witness_key", key);
        assert!(refused(wrong).contains("`doorward audit key --witness` prints it"));
        let wrong = Settings::new().with("audit.witness_for", key);
        assert!(refused(wrong).contains("`doorward audit key` prints them"));
        let days = Settings::new().with("audit.retention", 40_000);
        assert!(refused(days).contains("a number from 0 to 36500"));
    }
}
