//! Headers that identify the admitted user to the guarded app.
//!
//! Every header of a set is always sent, if necessary with an empty value: some proxies forward the client's header if the
//! guard does not send it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::utf8_percent_encode;

use crate::{
    access::{
        caller::Caller,
        guard::{ENCODED, Grant},
    },
    config::IdentityHeaders,
    user::User,
};

/// The admitted user, as far as the guard discloses it to the guarded app.
pub(super) struct Identity<'a> {
    /// `None` if a guard admitted a request without a valid token.
    pub(super) caller: Option<&'a Caller>,
    /// What the guarded app receives.
    pub(super) grant: Grant,
}

impl Identity<'_> {
    /// Fills in headers that [`write_empty`] has written.
    pub(super) fn write(self, headers: &mut HeaderMap, others: &[IdentityHeaders]) {
        let id = self.caller.map_or(NOTHING, |caller| value(&caller.user.id.to_string()));
        let user = self.caller.map(|caller| &*caller.user);
        let user = user.filter(|_| self.grant == Grant::User);
        if let Some(user) = user {
            headers.insert(USER_NAME, value(user.name.as_str()));
            headers.insert(USER_EMAIL, value(user.email.as_str()));
            headers.insert(EMAIL_VERIFIED, if user.email_verified { TRUE } else { FALSE });
        }
        for set in others {
            write_set(set, headers, &id, user);
        }
        headers.insert(USER_ID, id);
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

/// Writes the headers of an admission without an identity.
pub(super) fn write_empty(headers: &mut HeaderMap) {
    for name in [USER_ID, POLICY, USER_NAME, USER_EMAIL, EMAIL_VERIFIED] {
        headers.insert(name, NOTHING);
    }
}

pub(super) const NOTHING: HeaderValue = HeaderValue::from_static("");
const TRUE: HeaderValue = HeaderValue::from_static("true");
const FALSE: HeaderValue = HeaderValue::from_static("false");

/// The names of every set. A proxy must remove what a client sends under these names.
pub(crate) mod names {
    /// Sent with every admission: id, guard, name, e-mail address, whether the address is verified.
    pub(crate) const X_AUTH: [&str; 5] = [
        "x-auth-user-id",
        "x-auth-policy",
        "x-auth-user-name",
        "x-auth-user-email",
        "x-auth-user-email-verified",
    ];
    /// Id, name, e-mail address, roles. This set and the next have no header for a verified address.
    pub(crate) const REMOTE: [&str; 4] =
        ["remote-user", "remote-name", "remote-email", "remote-groups"];
    /// Id, name, e-mail address, roles.
    pub(crate) const X_AUTH_REQUEST: [&str; 4] = [
        "x-auth-request-user",
        "x-auth-request-preferred-username",
        "x-auth-request-email",
        "x-auth-request-groups",
    ];
}

/// The guard that admitted the caller.
pub(super) const POLICY: HeaderName = header(&names::X_AUTH, 1);
const USER_ID: HeaderName = header(&names::X_AUTH, 0);
const USER_NAME: HeaderName = header(&names::X_AUTH, 2);
const USER_EMAIL: HeaderName = header(&names::X_AUTH, 3);
const EMAIL_VERIFIED: HeaderName = header(&names::X_AUTH, 4);
const REMOTE: [HeaderName; 4] = four(&names::REMOTE);
const X_AUTH_REQUEST: [HeaderName; 4] = four(&names::X_AUTH_REQUEST);

const fn four(names: &[&'static str; 4]) -> [HeaderName; 4] {
    [header(names, 0), header(names, 1), header(names, 2), header(names, 3)]
}

const fn header(names: &[&'static str], at: usize) -> HeaderName {
    HeaderName::from_static(names[at])
}

pub(super) fn value(text: &str) -> HeaderValue {
    if text.is_empty() {
        return NOTHING;
    }
    if text.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'%')
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let encoded = utf8_percent_encode(text, ENCODED).to_string();
    HeaderValue::try_from(encoded).expect("percent-encoded text is printable ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_other_than_printable_ascii_is_percent_encoded() {
        assert_eq!(value("Miles Davis"), "Miles Davis");
        assert_eq!(value("Zoë 100%"), "Zo%C3%AB 100%25");
        assert_eq!(value("a\r\nb"), "a%0D%0Ab");
    }
}
