//! What guards and pages know about browsers: cookies, navigations, and requests that another site has caused.

pub(super) mod cookies;
pub(super) mod cross_site;
pub(super) mod navigation;
pub(super) mod site;

use axum::http::{HeaderMap, HeaderName};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const X_REQUESTED_WITH: HeaderName = HeaderName::from_static("x-requested-with");
/// The headers with which browsers say that nobody has opened a link yet: those of all, of older Chromium and Safari, and of older
/// Firefox.
const PURPOSES: [HeaderName; 3] = [
    HeaderName::from_static("sec-purpose"),
    HeaderName::from_static("purpose"),
    HeaderName::from_static("x-moz"),
];

/// The value of a header that occurs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Single<'h> {
    Absent,
    Value(&'h str),
    /// It is repeated, or not ASCII.
    Ambiguous,
}

pub(super) fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Single<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Single::Absent,
        (Some(value), None) => value.to_str().map_or(Single::Ambiguous, Single::Value),
        (Some(_), Some(_)) => Single::Ambiguous,
    }
}
