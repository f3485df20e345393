//! `GET /.well-known/revocations`: the feed of ended tokens, for services that verify tokens by themselves. It is public:
//! its ids are random, and only the holder of a token knows which one belongs to it.

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::{RawQuery, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    Doorward,
    http::{
        answer::NO_STORE,
        description::{Answer, Content, Schemas, Success},
        error::Error,
    },
    network::Requester,
    token::feed::FeedError,
};

const JWT: HeaderValue = HeaderValue::from_static("application/jwt");

/// A signed page of the feed.
pub(crate) struct Page(Bytes);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, JWT), (header::CACHE_CONTROL, NO_STORE)], self.0).into_response()
    }
}

impl Answer for Page {
    fn describe(_: &mut Schemas) -> Vec<Success> {
        vec![Success::no_store(StatusCode::OK, Content::opaque("application/jwt"))]
    }
}

pub(crate) async fn revocations(
    State(doorward): State<Doorward>,
    requester: Requester,
    RawQuery(query): RawQuery,
) -> Result<Page, Error> {
    let query = query.unwrap_or_default();
    let since = query.split('&').find_map(|field| field.strip_prefix("since="));
    Ok(Page(doorward.feed().page_since(since, &requester).await?))
}

impl From<FeedError> for Error {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::Outdated => Self::Unavailable(error.to_string()),
            FeedError::TooManyUnsent => Self::Throttled(Duration::from_secs(1)),
        }
    }
}
