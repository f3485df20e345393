//! Headers that tell the guarded side who was admitted.
//!
//! Every header of a set is always sent, empty if need be: some proxies let a header of the client's through when the
//! guard does not send it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::{
    config::IdentityHeaders,
    user::{User, UserId},
};

/// Whoever was admitted, as far as the guarded side may know.
pub(super) struct Identity<'a> {
    /// None for somebody unknown whom a guard admitted all the same.
    pub(super) user_id: Option<UserId>,
    /// None where only the id is granted.
    pub(super) user: Option<&'a User>,
}

impl Identity<'_> {
    /// Writes into headers that already tell of nobody.
    pub(super) fn write(self, headers: &mut HeaderMap, others: &[IdentityHeaders]) {
        let id = self.user_id.map_or(NOTHING, id_value);
        let [id_header, name_header, email_header] = X_AUTH;
        if let Some(user) = self.user {
            headers.insert(name_header, value(user.name.as_str()));
            headers.insert(email_header, value(user.email.as_str()));
        }
        for set in others {
            write_set(set, headers, &id, self.user);
        }
        headers.insert(id_header, id);
    }
}

fn write_set(
    set: &IdentityHeaders,
    headers: &mut HeaderMap,
    id: &HeaderValue,
    user: Option<&User>,
) {
    let [id_header, name_header, email_header, groups_header] = match set {
        IdentityHeaders::Remote => REMOTE,
        IdentityHeaders::XAuthRequest => X_AUTH_REQUEST,
    };
    let groups: Vec<_> = user.iter().flat_map(|user| user.roles.iter()).collect();
    headers.insert(id_header, id.clone());
    headers.insert(name_header, user.map_or(NOTHING, |user| value(user.name.as_str())));
    headers.insert(email_header, user.map_or(NOTHING, |user| value(user.email.as_str())));
    headers.insert(groups_header, value(&groups.join(",")));
}

/// The headers that every admission has, as for somebody unknown.
pub(super) fn write_nobody(headers: &mut HeaderMap) {
    for name in X_AUTH.into_iter().chain([POLICY]) {
        headers.insert(name, NOTHING);
    }
}

const NOTHING: HeaderValue = HeaderValue::from_static("");

/// The guard that admitted them.
pub(super) const POLICY: HeaderName = HeaderName::from_static("x-auth-policy");
const X_AUTH: [HeaderName; 3] = [
    HeaderName::from_static("x-auth-user-id"),
    HeaderName::from_static("x-auth-user-name"),
    HeaderName::from_static("x-auth-user-email"),
];
const REMOTE: [HeaderName; 4] = [
    HeaderName::from_static("remote-user"),
    HeaderName::from_static("remote-name"),
    HeaderName::from_static("remote-email"),
    HeaderName::from_static("remote-groups"),
];
const X_AUTH_REQUEST: [HeaderName; 4] = [
    HeaderName::from_static("x-auth-request-user"),
    HeaderName::from_static("x-auth-request-preferred-username"),
    HeaderName::from_static("x-auth-request-email"),
    HeaderName::from_static("x-auth-request-groups"),
];

/// Everything beyond printable ASCII is encoded, and `%` itself, so that decoding gives back what was meant.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

pub(super) fn value(text: &str) -> HeaderValue {
    if text.is_empty() {
        return NOTHING;
    }
    // All bytes are looked at whatever is found, which the compiler turns into a few wide comparisons.
    let special = |b: u8| !(b' '..=b'~').contains(&b) | (b == b'%');
    if !text.bytes().fold(false, |found, b| found | special(b))
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let encoded = utf8_percent_encode(text, ENCODED).to_string();
    HeaderValue::try_from(encoded).expect("what is encoded is printable ASCII")
}

fn id_value(id: UserId) -> HeaderValue {
    HeaderValue::try_from(id.to_string()).expect("an id is letters, digits and hyphens")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ascii_is_percent_encoded() {
        assert_eq!(value("Miles Davis"), "Miles Davis");
        assert_eq!(value("Zoë 100%"), "Zo%C3%AB 100%25");
        assert_eq!(value("a\r\nb"), "a%0D%0Ab");
    }
}
