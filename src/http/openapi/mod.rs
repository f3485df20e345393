//! `GET /openapi.json`: the API description, with the settings of this service. The schemas of answers come from their types. Tests
//! compare the routes and their answers with it, and `docs/openapi.json` is what a service with default settings answers.

mod schemas;

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
use serde_json::{Map, Value, json};

pub(super) use self::schemas::Answers;
use crate::{
    Doorward,
    http::{
        answer::{JSON, public},
        paths::{DESIGNATED_GUARD, SEGMENT},
    },
};

/// How long caches may keep the document.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(60 * 60);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What no type says.
const WRITTEN: &str = include_str!("written.json");

/// The document with what this service has set: its URL, the designated user, and the rules for passwords.
pub(super) fn document(doorward: &Doorward, answers: Answers) -> String {
    let mut document: Value = serde_json::from_str(WRITTEN).expect("the document is valid JSON");
    let settings = doorward.settings();
    document["info"]["version"] = VERSION.into();
    let status = &mut document["paths"]["/api/admin/status"]["get"]["responses"]["200"];
    status["content"]["application/json"]["example"]["version"] = VERSION.into();
    document["servers"] = json!([{ "url": doorward.public_base() }]);
    let guard = DESIGNATED_GUARD.replace(SEGMENT, &settings.designated_segment);
    rename(&mut document["paths"], DESIGNATED_GUARD, guard);
    let components = &mut document["components"];
    let greeting = format!("You are {}.", doorward.designated().name());
    let greeted = &mut components["responses"]["Designated"]["content"]["application/json"];
    greeted["schema"]["const"] = greeting.as_str().into();
    greeted["example"] = greeting.into();
    let schemas = &mut components["schemas"];
    let rules = settings.password_rules();
    schemas["NewPassword"]["minLength"] = rules.min_length.into();
    schemas["NewPassword"]["maxLength"] = rules.max_length.into();
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.extend(answers.components());
        schemas.sort_keys();
    }
    format!("{document:#}\n")
}

/// Renames a member of an object, which keeps its place.
fn rename(object: &mut Value, from: &str, to: String) {
    if let Some(members) = object.as_object_mut() {
        let renamed = |(name, value)| (if name == from { to.clone() } else { name }, value);
        *members = std::mem::take(members).into_iter().map(renamed).collect::<Map<_, _>>();
    }
}

/// A handler that makes the document at its first request. All answers share it, so that clients that do not read theirs
/// cost one copy.
pub(crate) fn show(
    make: fn(&Doorward) -> String,
) -> impl Fn(State<Doorward>) -> Ready<Response> + Clone {
    let shared: Arc<OnceLock<Bytes>> = Arc::default();
    move |State(doorward): State<Doorward>| {
        let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, public(MAX_AGE))];
        let document = shared.get_or_init(|| make(&doorward).into());
        ready((headers, document.clone()).into_response())
    }
}
