//! Errors as pages: a browser gets a page with the status and headers of the JSON answer that a program gets.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::Response,
};

use super::{
    answer::{Pages, has_secret, hide_url},
    text::{LinkTo, Message},
    view::{MessagePage, html},
};
use crate::{
    http::{
        answer::JSON,
        browser::{cross_site::is_safe, navigation::is_navigation},
        client_ip::accept_language,
    },
    language::Language,
};

/// The middleware of pages.
pub(in crate::http) async fn for_pages(
    State(pages): State<Arc<Pages>>,
    request: Request,
    next: Next,
) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    if is_navigation(headers, request.method().as_str())
        && is_safe(request.method().as_str())
        && let Some(url) = pages.site().url_under_own_name(headers, uri)
    {
        return pages.redirect(&url);
    }
    // Without Fetch Metadata, a form of ours is told from the request of a program by what it accepts.
    answer(&pages, is_navigation(request.headers(), "GET"), request, next).await
}

/// The middleware of paths that do not exist.
pub(in crate::http) async fn for_other_paths(
    State(pages): State<Arc<Pages>>,
    request: Request,
    next: Next,
) -> Response {
    let is_navigation = is_navigation(request.headers(), request.method().as_str());
    answer(&pages, is_navigation, request, next).await
}

async fn answer(pages: &Pages, is_navigation: bool, request: Request, next: Next) -> Response {
    let language = accept_language(request.headers());
    let has_secret = has_secret(request.uri().query().unwrap_or_default());
    let response = next.run(request).await;
    let is_json = response.headers().get(header::CONTENT_TYPE) == Some(&JSON);
    match is_navigation && is_json && !response.status().is_success() {
        true => {
            let mut page = as_page(pages, language, response);
            if has_secret {
                hide_url(&mut page);
            }
            page
        }
        false => response,
    }
}

/// A page in the place of a JSON error.
fn as_page(pages: &Pages, language: Language, response: Response) -> Response {
    let (head, _) = response.into_parts();
    let base = pages.context(language).base;
    let (start, sign_in) = (format!("{base}/"), format!("{base}/sign-in?other"));
    let link = match head.status {
        StatusCode::MISDIRECTED_REQUEST => None,
        // From there it leads back to the account.
        StatusCode::UNAUTHORIZED => Some((LinkTo::SignIn, &*sign_in)),
        _ => Some((LinkTo::Start, &*start)),
    };
    let (page, message) = (pages.context(language), message(head.status, &head.headers));
    let html = html(&MessagePage { page, message, link });
    let mut response = pages.html(head.status, language, html, None);
    for (name, value) in &head.headers {
        if ![header::CONTENT_LENGTH, header::VARY].contains(name)
            && !response.headers().contains_key(name)
        {
            response.headers_mut().append(name, value.clone());
        }
    }
    response
}

fn message(status: StatusCode, headers: &HeaderMap) -> Message {
    match status.as_u16() {
        401 => Message::SignInAgain,
        403 => Message::CrossSite,
        404 => Message::NotFound,
        405 => Message::MethodNotAllowed,
        408 => Message::TooSlow,
        413 => Message::TooLarge,
        415 => Message::NotAForm,
        421 => Message::HttpsNeeded,
        429 => Message::Throttled(retry_after(headers)),
        501 => Message::NeedsMail,
        503 => Message::Unavailable,
        500.. => Message::Internal,
        _ => Message::BadRequest,
    }
}

fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    Duration::from_secs(seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use axum::{http::HeaderValue, response::IntoResponse};

    use super::*;
    use crate::http::Error;

    #[test]
    fn every_error_has_its_message() {
        let wait = Duration::from_secs(90);
        for (error, expected) in [
            (Error::Malformed, Message::BadRequest),
            (Error::SignInAgain, Message::SignInAgain),
            (Error::CrossSite(None), Message::CrossSite),
            (Error::NotFound, Message::NotFound),
            (Error::MethodNotAllowed, Message::MethodNotAllowed),
            (Error::TooSlow, Message::TooSlow),
            (Error::TooLarge, Message::TooLarge),
            (Error::NotAForm, Message::NotAForm),
            (Error::NeedsHttps, Message::HttpsNeeded),
            (Error::Throttled(wait), Message::Throttled(wait)),
            (Error::NeedsMail, Message::NeedsMail),
            (Error::Internal("cause".into()), Message::Internal),
            (Error::Unavailable("cause".into()), Message::Unavailable),
        ] {
            let answer = error.into_response();
            assert_eq!(message(answer.status(), answer.headers()), expected);
        }
    }

    #[test]
    fn a_wait_that_is_not_a_number_is_short() {
        let headers =
            HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static("soon"))]);
        assert_eq!(retry_after(&headers), Duration::from_secs(1));
    }
}
