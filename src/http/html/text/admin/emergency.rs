//! What an emergency has replaced and revoked, in lines. The command prints the English ones.

use super::super::{Texts, counted};
use crate::{account::emergency::EmergencyReport, language::Language};

/// The words after the number of one and of several.
type Counted = (&'static str, &'static str);

/// The words of one language.
pub struct EmergencyTexts {
    pub(super) signing_keys: Counted,
    pub(super) secret: &'static str,
    pub(super) sessions: Counted,
    pub(super) codes: Counted,
    pub(super) mails: Counted,
    pub(super) invitations: Counted,
    pub(super) api_keys: Counted,
    pub(super) passwords: Counted,
    pub(super) links: Counted,
    /// Where keys of the operator's own file stay.
    pub(super) keys_in_file: &'static str,
}

impl EmergencyTexts {
    /// What was replaced and revoked.
    pub fn lines(&self, report: &EmergencyReport) -> Vec<String> {
        let EmergencyReport {
            keys_revoked,
            keys_in_file,
            sessions_ended,
            codes_revoked,
            mails_deleted,
            invitations_revoked,
            api_keys_revoked,
            passwords_removed,
            links_mailed,
        } = report;
        let line = |count: usize, (one, several): Counted| counted(count as u64, one, several);
        let mut lines = vec![
            line(keys_revoked.len(), self.signing_keys),
            self.secret.into(),
            line(*sessions_ended, self.sessions),
            line(*codes_revoked, self.codes),
            line(*mails_deleted, self.mails),
            line(*invitations_revoked, self.invitations),
            line(*api_keys_revoked, self.api_keys),
            line(*passwords_removed, self.passwords),
        ];
        if *links_mailed > 0 {
            lines.push(line(*links_mailed, self.links));
        }
        if !keys_in_file.is_empty() {
            lines.push(self.keys_in_file.into());
        }
        lines
    }
}

impl EmergencyReport {
    /// What the command prints.
    pub(crate) fn summary(&self) -> Vec<String> {
        Texts::of(Language::English).admin.emergency_summary.lines(self)
    }
}
