//! The declared guards: their warnings, what they lack for browsers, and whether the running server has them.

use super::{
    super::{
        guard::{PATH, without_decisions},
        within,
    },
    finding::{Kind, Report},
};
use crate::{
    Settings,
    access::guard::Guard,
    account::guard_check::BrowserCheck,
    control::AdminClient,
    http::api::admin::guards::{self, Guards},
};

pub(super) async fn check(report: &mut Report, settings: &Settings, client: &AdminClient) {
    for warning in settings.guards.iter().filter_map(Guard::warning) {
        report.add(Kind::GuardWarning, warning, "change the condition, and run `doorward reload`");
    }
    report.checked(format!("guards: {}", settings.guards.len()));
    if client.is_server()
        && let Ok(running) = client.get::<Guards>(PATH).await
    {
        compare(report, settings, &without_decisions(running));
    }
    for guard in settings.guards.iter().filter(|guard| !guard.origins.is_empty()) {
        let path = format!("{}/browsers", within(PATH, &guard.name));
        if let Ok(check) = client.get::<BrowserCheck>(&path).await {
            for finding in check.findings {
                report.add(
                    Kind::GuardBrowsers,
                    format!("guard {}: {finding}", guard.name),
                    format!("`doorward guard check {}` shows it again", guard.name),
                );
            }
        }
    }
}

fn compare(report: &mut Report, settings: &Settings, running: &[guards::Guard]) {
    let is_running = |guard: &Guard| {
        running.iter().any(|info| info.name == guard.name && info.version == guard.version)
    };
    let changed = settings.guards.iter().find(|guard| !is_running(guard)).map(|guard| &guard.name);
    let removed = running.iter().find(|info| settings.guards.by_name(&info.name).is_none());
    if let Some(name) = changed.or(removed.map(|info| &info.name)) {
        report.add(
            Kind::GuardsChanged,
            format!("guard {name} differs from the one that the running server has"),
            "run `doorward reload`, or run this command with the settings of the server",
        );
    }
}
