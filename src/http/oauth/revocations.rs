//! `GET /.well-known/revocations`: the feed of ended tokens, for services that verify tokens by themselves. It is public:
//! its ids are random, and only the holder of a token knows which one belongs to it.

use std::time::Duration;

use axum::{
    extract::{RawQuery, State},
    http::{HeaderValue, header},
    response::IntoResponse,
};

use crate::{
    Doorward,
    http::{answer::NO_STORE, error::Error},
    network::Requester,
    token::feed::FeedError,
};

const JWT: HeaderValue = HeaderValue::from_static("application/jwt");

pub(crate) async fn revocations(
    State(doorward): State<Doorward>,
    requester: Requester,
    RawQuery(query): RawQuery,
) -> Result<impl IntoResponse, Error> {
    let query = query.unwrap_or_default();
    let since = query.split('&').find_map(|field| field.strip_prefix("since="));
    let page = doorward.feed().page_since(since, &requester).await?;
    Ok(([(header::CONTENT_TYPE, JWT), (header::CACHE_CONTROL, NO_STORE)], page))
}

impl From<FeedError> for Error {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::Outdated => Self::Unavailable(error.to_string()),
            FeedError::TooManyUnsent => Self::Throttled(Duration::from_secs(1)),
        }
    }
}
