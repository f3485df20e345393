//! `[session]`: the lifetime of sessions.

use super::{
    key::Key,
    value::{HOUR, Seconds, days, field},
};

pub(super) const KEYS: &[Key] = &[Key {
    name: "session.lifetime",
    purpose: "Maximum lifetime of a session, however often its token is refreshed",
    value: &Seconds {
        field: field!(session_lifetime),
        range: HOUR..=days(90),
        examples: "12h or 30d",
    },
}];
