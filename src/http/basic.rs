//! Credentials by HTTP Basic: those of OAuth clients, and API keys of programs that know nothing else.

use axum::http::HeaderMap;
use base64::{Engine, prelude::BASE64_STANDARD};
use zeroize::Zeroizing;

use super::bearer::credentials;

/// The name and the secret in the `Authorization` header.
pub(super) fn name_and_secret(headers: &HeaderMap) -> Option<(String, Zeroizing<String>)> {
    let encoded = credentials("basic", headers).ok()?;
    let decoded = Zeroizing::new(BASE64_STANDARD.decode(encoded).ok()?);
    let (name, secret) = str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some((name.to_owned(), Zeroizing::new(secret.to_owned())))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header::AUTHORIZATION};

    use super::*;

    #[test]
    fn credentials_are_a_name_and_a_secret_in_base64() {
        let decoded = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            let found = name_and_secret(&HeaderMap::from_iter([(AUTHORIZATION, value)]));
            found.map(|(name, secret)| format!("{name} {}", *secret))
        };
        assert_eq!(decoded("Basic c2hvcDpzZWNyZXQ=").as_deref(), Some("shop secret"));
        assert_eq!(decoded("basic c2hvcDpzOmVjcmV0").as_deref(), Some("shop s:ecret"));
        for bad in
            ["Basic", "Basic c2hvcA==", "Basic c2hvcDpzZWNyZXQ", "Basic ?", "Bearer c2hvcDpz"]
        {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }
}
