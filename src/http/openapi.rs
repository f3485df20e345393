//! `GET /openapi.json`: the API description in `docs/openapi.json`, with the settings of this service. Tests compare the
//! routes and their answers with it.

use std::{
    future::{Ready, ready},
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    body::Bytes,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    Doorward,
    http::{
        answer::{JSON, public},
        paths::{DESIGNATED_GUARD, SEGMENT},
    },
};

/// How long caches may keep the document.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// The document with what this service has set: its URL, the designated user, and the rules for passwords.
pub(crate) fn document(doorward: &Doorward) -> String {
    const DOCUMENT: &str = include_str!("../../docs/openapi.json");
    let settings = doorward.settings();
    let rules = settings.password_rules();
    let guard = DESIGNATED_GUARD.replace(SEGMENT, &settings.designated_segment);
    let greeting = format!("You are {}.", doorward.designated().name());
    [
        ("http://localhost:3000", json_text(&doorward.public_base())),
        ("/api/auth/miles", guard),
        ("You are Miles Davis.", json_text(&greeting)),
        ("\"minLength\": 8,", format!("\"minLength\": {},", rules.min_length)),
        ("\"maxLength\": 128,", format!("\"maxLength\": {},", rules.max_length)),
    ]
    .iter()
    .fold(DOCUMENT.to_owned(), |document, (default, actual)| match actual == default {
        true => document,
        false => document.replace(default, actual),
    })
}

/// The text as it stands between the quotes of a JSON string.
fn json_text(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A handler that makes the document at its first request. All answers share it, so that clients that do not read theirs
/// cost one copy.
pub(crate) fn show() -> impl Fn(State<Doorward>) -> Ready<Response> + Clone {
    let shared: Arc<OnceLock<Bytes>> = Arc::default();
    move |State(doorward): State<Doorward>| {
        let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, public(MAX_AGE))];
        let document = shared.get_or_init(|| document(&doorward).into());
        ready((headers, document.clone()).into_response())
    }
}
