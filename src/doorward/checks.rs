//! The parts that a running service depends on, each with its state. The texts name no file, host or cause, because they are shown
//! to whoever may ask.

use std::sync::atomic::Ordering;

use super::{Doorward, TrailTrouble};
use crate::config::DatabaseUrl;

/// One part, and what is wrong with it.
pub struct Check {
    /// The part.
    pub name: &'static str,
    /// Whether it works, and if not, why.
    pub outcome: Result<(), String>,
    /// Whether the service is not ready without it.
    pub is_required: bool,
}

impl Doorward {
    pub(crate) async fn checks(&self) -> Vec<Check> {
        let mut checks = vec![Check {
            name: "database",
            outcome: self.store().check().await.map_err(|reason| reason.to_string()),
            is_required: true,
        }];
        let mut add = |name, outcome: Result<(), &str>| {
            checks.push(Check {
                name,
                outcome: outcome.map_err(str::to_owned),
                is_required: false,
            });
        };
        add(
            "schema",
            match self.store().has_known_schema().await {
                Ok(true) => Ok(()),
                Ok(false) => Err("A newer version has changed the schema: update this instance."),
                Err(_) => Err("The version of the schema cannot be read."),
            },
        );
        add(
            "keys",
            match self.inner.keys_failing.load(Ordering::Relaxed) {
                false => Ok(()),
                true => Err("The signing keys cannot be read or rotated: see the log."),
            },
        );
        let troubles: Vec<_> =
            self.trail_troubles().iter().map(TrailTrouble::public_text).collect();
        let troubles = troubles.join(" ");
        add("audit", if troubles.is_empty() { Ok(()) } else { Err(&troubles) });
        if let (DatabaseUrl::Sqlite(_), Some(folder)) = (&self.settings().database, self.folder()) {
            let reserve = folder.reserve();
            add(
                "disk",
                if reserve.is_spent() {
                    Err("The disk is full, and the reserve is spent: free some space.")
                } else if reserve.is_disk_full() {
                    Err("The disk is full: free some space.")
                } else {
                    Ok(())
                },
            );
        }
        if let Some(delivery) = self.mail_delivery() {
            let waits = Err("The mail server takes no mail: it waits in the outbox.");
            add("mail", if delivery.is_out() { waits } else { Ok(()) });
        }
        checks
    }
}
