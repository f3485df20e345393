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
    /// The guard.
    pub(super) policy: &'a str,
    /// None for somebody unknown whom a guard admitted all the same.
    pub(super) user_id: Option<UserId>,
    /// None where only the id is granted.
    pub(super) user: Option<&'a User>,
}

impl Identity<'_> {
    pub(super) fn write(&self, headers: &mut HeaderMap, others: &[IdentityHeaders]) {
        let id = self.user_id.map_or(HeaderValue::from_static(""), |id| value(&id.to_string()));
        let name = self.user.map_or("", |user| user.name.as_str());
        let email = self.user.map_or("", |user| user.email.as_str());
        let [id_header, policy_header, name_header, email_header] = X_AUTH;
        headers.insert(id_header, id.clone());
        headers.insert(policy_header, value(self.policy));
        headers.insert(name_header, value(name));
        headers.insert(email_header, value(email));
        for set in others {
            let [id_header, name_header, email_header, groups_header] = match set {
                IdentityHeaders::Remote => REMOTE,
                IdentityHeaders::XAuthRequest => X_AUTH_REQUEST,
            };
            let groups: Vec<_> = self.user.iter().flat_map(|user| user.roles.iter()).collect();
            headers.insert(id_header, id.clone());
            headers.insert(name_header, value(name));
            headers.insert(email_header, value(email));
            headers.insert(groups_header, value(&groups.join(",")));
        }
    }
}

const X_AUTH: [HeaderName; 4] = [
    HeaderName::from_static("x-auth-user-id"),
    HeaderName::from_static("x-auth-policy"),
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

fn value(text: &str) -> HeaderValue {
    let plain = |b: u8| b.is_ascii_graphic() && b != b'%' || b == b' ';
    if text.is_empty() {
        return HeaderValue::from_static("");
    }
    if text.bytes().all(plain)
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let encoded = utf8_percent_encode(text, ENCODED).to_string();
    HeaderValue::try_from(encoded).expect("what is encoded is printable ASCII")
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
