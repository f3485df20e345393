//! `[limits]`: the size of request bodies, the number of connections, and how they end.

use std::time::Duration;

use super::{
    key::Key,
    value::{Bytes, MINUTE, Number, Seconds, field},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "limits.body",
        purpose: "Maximum size of a request body in bytes",
        value: &Bytes {
            field: field!(body_limit),
            range: 1 << 10..=16 << 20,
            examples: "65536 or 64KiB",
        },
    },
    Key {
        name: "limits.connections",
        purpose: "Maximum number of connections; a new one then replaces the one that has been idle longest",
        value: &Number { field: field!(connections), range: 16..=1_000_000 },
    },
    Key {
        name: "limits.stop_grace",
        purpose: "Time in which idle connections can send one more request when the service stops",
        value: &Seconds {
            field: field!(stop_grace),
            range: Duration::ZERO..=MINUTE,
            examples: "2s or 10s",
        },
    },
];
