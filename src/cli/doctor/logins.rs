//! The declared logins: what `doorward login check` finds.

use futures_util::future::join_all;

use super::{
    super::login::findings,
    finding::{Kind, Report},
};
use crate::{Settings, clock::Timestamp, federation::FindingLevel};

pub(super) async fn check(report: &mut Report, settings: &Settings, now: Timestamp) {
    let found = settings.logins.iter().map(|login| findings(login, settings, now));
    for (login, found) in settings.logins.iter().zip(join_all(found).await) {
        let name = &login.name;
        for finding in found {
            let kind = match finding.level {
                FindingLevel::Fine => {
                    report.checked(format!("login {name}: {}", finding.text));
                    continue;
                }
                FindingLevel::Warning => Kind::LoginWarning,
                FindingLevel::Error => Kind::LoginUnusable,
            };
            report.add(
                kind,
                format!("login {name}: {}", finding.text),
                format!("`doorward login check {name}` shows it again"),
            );
        }
    }
}
