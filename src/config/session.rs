//! `[session]`: the lifetime of sessions.

use std::time::Duration;

use super::{
    key::Key,
    value::{HOUR, Seconds, days, field},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "session.lifetime",
        purpose: "Maximum lifetime of a session, however often its token is refreshed",
        value: &Seconds {
            field: field!(session_lifetime),
            range: HOUR..=days(90),
            examples: "12h or 30d",
        },
    },
    Key {
        name: "session.idle_timeout",
        purpose: "Time without a request after which a browser is signed out, unless its user chose to stay signed in",
        value: &Seconds {
            field: field!(session_idle_timeout),
            range: Duration::from_secs(15 * 60)..=days(90),
            examples: "30m or 12h",
        },
    },
];
