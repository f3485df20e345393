//! `[limits]`: the size of request bodies and the number of connections.

use super::{
    key::Key,
    value::{Bytes, Number, field},
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
];
