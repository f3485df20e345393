//! The API key in a request to a guard, as a bearer token or as the password of HTTP Basic, and how a program is asked for it.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use zeroize::Zeroizing;

use crate::{
    credential::api_key::KEY_PREFIX,
    http::{
        basic::name_and_secret,
        bearer::{NoCredentials, credentials},
        browser::{cross_site, navigation::is_from_program},
    },
};

/// What was sent in the place of a token.
pub(super) enum SentKey<'h> {
    Bearer(&'h [u8]),
    /// The password. Programs have to send some name with it, which does not count.
    Basic(Zeroizing<String>),
}

impl<'h> SentKey<'h> {
    /// `None` if a request has a token or nothing.
    pub(super) fn of(headers: &'h HeaderMap) -> Option<Self> {
        match credentials("bearer", headers) {
            Ok(token) => token.starts_with(KEY_PREFIX).then_some(Self::Bearer(token)),
            Err(NoCredentials::Repeated) => None,
            Err(NoCredentials::Missing) => {
                credentials("basic", headers).ok()?;
                let sent = name_and_secret(headers);
                Some(Self::Basic(sent.map(|(_, secret)| secret).unwrap_or_default()))
            }
        }
    }

    pub(super) fn text(&self) -> &[u8] {
        match self {
            Self::Bearer(text) => text,
            Self::Basic(text) => text.as_bytes(),
        }
    }

    /// Whether it counts at the app with this origin. A browser sends the password of HTTP Basic by itself, even if another site
    /// causes the request.
    pub(super) fn is_sent_on_purpose(&self, headers: &HeaderMap, own: Option<&str>) -> bool {
        matches!(self, Self::Bearer(_)) || cross_site::is_sent_on_purpose(headers, own)
    }
}

/// Asks a program that has sent no token for a key, as the password of HTTP Basic: git and DAV send it only then. A browser would
/// ask the person for a password, so it is not asked.
pub(super) fn add_basic_challenge(response: &mut Response, sent: &HeaderMap) {
    let has_token = credentials("bearer", sent).is_ok();
    if response.status() != StatusCode::UNAUTHORIZED || has_token || !is_from_program(sent) {
        return;
    }
    let headers = response.headers_mut();
    let bearer = headers.get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    // One field, because some proxies pass on only one. The other challenge has its error at the end, where the request log looks.
    let challenges = bearer.map(|bearer| format!("{BASIC}, {bearer}"));
    let challenges = HeaderValue::try_from(challenges.as_deref().unwrap_or(BASIC));
    headers.insert(header::WWW_AUTHENTICATE, challenges.expect("both are printable ASCII"));
}

const BASIC: &str = "Basic realm=\"doorward\", charset=\"UTF-8\"";
