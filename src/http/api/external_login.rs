//! Signing in at another provider for apps without guards and without pages of ours: `POST /api/auth/login/with/{login}` gives a URL for the
//! browser of the person, and `POST /api/auth/login/code` takes the code that the browser comes back with.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::login::LoggedIn;
use crate::{
    Doorward,
    account::app_sign_in::{CodeError, use_code},
    http::{
        Error,
        answer::NoStore,
        error::Challenge,
        form::{JsonForm, form},
    },
    network::Requester,
    token::cookie::{AttemptDigest, ReturnTarget, random_attempt},
};

form! {
    pub(crate) struct Begin as "ExternalLogin" {
        /// Where the browser comes back to, with `code` in the query: a URL of an origin in `cors.origins`, without a query.
        return_to as "returnTo": String,
    }
}

form! {
    pub(crate) struct Exchange as "ExternalLoginCode" {
        /// What the browser came back with.
        code: String,
        /// What only the app knows that has begun the login.
        attempt: String,
        /// Where the browser came back to, as it was asked for.
        return_to as "returnTo": String,
    }
}

/// A login that has begun.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExternalLoginBegun {
    /// Where the browser of the person goes
    url: String,
    /// What the code is exchanged with. Keep it in the app, and out of URLs
    attempt: String,
}

/// The longest URL that a browser comes back to.
const MAX_URL_BYTES: usize = 1500;

/// `POST /api/auth/login/with/{login}`
pub(crate) async fn begin(
    State(doorward): State<Doorward>,
    Path(login): Path<String>,
    form: JsonForm<Begin>,
) -> Result<NoStore<ExternalLoginBegun>, Error> {
    let Begin { return_to } = form.read(&doorward)?;
    if doorward.logins().by_name(&login).is_none() {
        return Err(Error::NotFound);
    }
    if origin_of(&doorward, &return_to).is_none() {
        let message = "returnTo is not a URL of an origin in cors.origins, without a query.";
        return Err(Error::NotDone(StatusCode::FORBIDDEN, message.into()));
    }
    let attempt = random_attempt();
    let target = doorward.cookies().seal_target(&ReturnTarget {
        guard: String::new(),
        url: return_to,
        attempt: Some(AttemptDigest::of(&attempt)),
    });
    let url = format!("{}/sign-in/with/{login}?for={target}", doorward.public_base());
    Ok(NoStore(StatusCode::OK, ExternalLoginBegun { url, attempt }))
}

/// `POST /api/auth/login/code`
pub(crate) async fn exchange(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<Exchange>,
) -> Result<NoStore<LoggedIn>, Error> {
    let Exchange { code, attempt, return_to } = form.read(&doorward)?;
    let wrong = || Error::Unauthorized(Challenge::NoCredentials, None);
    // No code belongs to any other origin.
    let origin = origin_of(&doorward, &return_to).ok_or_else(wrong)?;
    match use_code(&doorward, &code, &origin, &[&attempt], &requester).await {
        Ok(used) if used.url == return_to => {
            let token = doorward.new_token_of(&used.session).await;
            Ok(NoStore(StatusCode::OK, token.into()))
        }
        Ok(_) | Err(CodeError::NoAttempt | CodeError::Invalid) => Err(wrong()),
        Err(CodeError::Store(error)) => Err(error.into()),
    }
}

/// The declared origin of a URL that a browser comes back to.
fn origin_of(doorward: &Doorward, url: &str) -> Option<String> {
    let is_plain = url.len() <= MAX_URL_BYTES
        && url.bytes().all(|b| b.is_ascii_graphic())
        && !url.contains(['?', '#', '\\']);
    let origins = &doorward.settings().cors_origins;
    let origin = origins.iter().find(|origin| is_plain && origin.contains(url))?;
    Some(origin.as_str().to_owned())
}
