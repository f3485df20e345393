//! `[designated]`: the route that admits users of one name.

use super::{
    key::Key,
    value::{Custom, field},
};
use crate::{
    access::guard::{NAME_SYNTAX, check_name},
    user::Name,
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "designated.name",
        purpose: "Name of the users that the designated route admits",
        value: &Custom {
            field: field!(designated_name),
            parse: |text| Name::parse(text.into()).ok().map(|name| name.as_str().to_owned()),
            show: String::clone,
            allowed: allowed_name,
            secret: false,
        },
    },
    Key {
        name: "designated.segment",
        purpose: "Last path segment of the designated route: /api/auth/<segment>",
        value: &Custom {
            field: field!(designated_segment),
            parse: |text| check_name(text).is_ok().then(|| text.to_owned()),
            show: String::clone,
            allowed: || format!("{NAME_SYNTAX}, and not a route of the service under /api/auth/"),
            secret: false,
        },
    },
];

/// What the name of a user may be.
pub(super) fn allowed_name() -> String {
    format!("a name of {} to {} characters", Name::MIN_CHARACTERS, Name::MAX_CHARACTERS)
}
