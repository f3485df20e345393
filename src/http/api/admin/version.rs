//! `ETag` and `If-Match` (RFC 9110) on a user.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    account,
    fault::Fault,
    http::Error,
    user::{User, UserVersion},
};

/// The tag of a user's record.
pub(super) fn tag_of(user: &User) -> HeaderValue {
    let text = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(user.version().as_bytes()));
    HeaderValue::try_from(text).expect("it is printable ASCII")
}

/// The version that the client wants to change, if it says so. The write checks it again.
pub(super) fn expected(headers: &HeaderMap, user: &User) -> Result<Option<UserVersion>, Error> {
    let mut fields = headers.get_all(header::IF_MATCH).iter().peekable();
    if fields.peek().is_none() {
        return Ok(None);
    }
    let malformed = || {
        let fault = Fault::malformed("Expected the ETag of the user, with its quotes");
        Error::Invalid(vec![("If-Match".into(), fault)])
    };
    let (current, mut is_current) = (tag_of(user), false);
    for field in fields {
        for tag in field.to_str().map_err(|_| malformed())?.split(',').map(str::trim) {
            let opaque = tag.strip_prefix("W/").unwrap_or(tag);
            let is_tag = opaque.len() >= 2 && opaque.starts_with('"') && opaque.ends_with('"');
            match tag {
                // Any version of the user.
                "*" => return Ok(None),
                _ if !is_tag => return Err(malformed()),
                _ => is_current |= tag.as_bytes() == current.as_bytes(),
            }
        }
    }
    if is_current { Ok(Some(user.version())) } else { Err(account::Error::UserChanged.into()) }
}
