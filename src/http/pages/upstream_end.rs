//! What a provider says has ended there. Its servers send it, and it counts by what they have signed.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{answer::Pages, login_buttons::declared};
use crate::{
    Doorward,
    account::identities,
    count::Label,
    federation::Preset,
    http::{
        Error,
        form::{JsonForm, PageForm, form},
    },
    network::Requester,
};

/// `POST /sign-in/with/NAME/logout`: the provider says that a session has ended there (OpenID Connect Back-Channel Logout 1.0).
pub(in crate::http) async fn log_out(
    State(pages): State<Arc<Pages>>,
    Path(name): Path<String>,
    requester: Requester,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let token = form.typed("logout_token");
    end(pages.doorward(), &name, Sender::Other, &token, &requester).await
}

form! {
    pub(in crate::http) struct Notification as "AppleNotification" {
        /// What Apple has signed.
        payload: String,
        ..Ignored
    }
}

/// `POST /sign-in/with/NAME/notifications`: Apple says that a person has taken their consent back, or closed their account.
pub(in crate::http) async fn notify(
    State(pages): State<Arc<Pages>>,
    Path(name): Path<String>,
    requester: Requester,
    form: JsonForm<Notification>,
) -> Result<Response, Error> {
    let Notification { payload } = form.read(pages.doorward())?;
    end(pages.doorward(), &name, Sender::Apple, &payload, &requester).await
}

/// Who sends a message of this kind.
#[derive(PartialEq, Eq)]
enum Sender {
    Apple,
    Other,
}

async fn end(
    doorward: &Doorward,
    login: &str,
    sender: Sender,
    message: &str,
    requester: &Requester,
) -> Result<Response, Error> {
    let login = declared(doorward, login)?;
    if (login.preset == Preset::Apple) != (sender == Sender::Apple) {
        return Err(Error::NotFound);
    }
    let (status, body) =
        match identities::end_by_provider(doorward, &login, message, requester).await {
            Ok(()) => (StatusCode::OK, json!({})),
            Err(error) => {
                let reason = error.into_failure()?.label();
                let body = json!({ "error": "invalid_request", "error_description": reason });
                (StatusCode::BAD_REQUEST, body)
            }
        };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((status, no_store, Json(body)).into_response())
}
