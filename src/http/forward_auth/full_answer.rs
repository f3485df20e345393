//! The second request of nginx. Its `auth_request` uses only the status of an answer, so on a refusal nginx asks again, for
//! the answer that it returns to the client.

use axum::{
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};

use crate::http::error::{Challenge, Error};

/// The query of the second request.
const FULL_ANSWER: &str = "answer=full";

/// Whether a request to a guard is the second one. The path must be exactly that of the guard: what follows it, and a query
/// after that, come from the client.
pub(super) fn asks_for_full_answer(uri: &Uri) -> bool {
    uri.query() == Some(FULL_ANSWER) && uri.path().bytes().filter(|b| *b == b'/').count() == 3
}

/// Replaces an admission, which would reach the client in the place of the app's answer. The caller was refused a moment ago.
pub(super) fn replace_admission(response: &mut Response) {
    if response.status() == StatusCode::OK {
        *response = Error::Unauthorized(Challenge::NoCredentials, None).into_response();
    }
}
