//! Callers of a request that takes long: their rights are judged again while its body or its answer is under way.

use std::{io, ops::Deref};

use axum::{body::Body, extract::FromRequestParts, http::request::Parts, response::Response};
use futures_util::{StreamExt, stream};

/// What the guard `G` has granted, and what it decides by, so that it can decide again.
pub(super) struct Standing<G, S> {
    granted: G,
    parts: Parts,
    state: S,
}

impl<G, S> Deref for Standing<G, S> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.granted
    }
}

impl<G, S> FromRequestParts<S> for Standing<G, S>
where
    G: FromRequestParts<S> + Send,
    S: Clone + Send + Sync,
{
    type Rejection = G::Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, G::Rejection> {
        let granted = G::from_request_parts(parts, state).await?;
        Ok(Self { granted, parts: parts.clone(), state: state.clone() })
    }
}

impl<G: FromRequestParts<S>, S: Send + Sync> Standing<G, S> {
    /// Lets the guard decide again, by what is known about the caller at this moment.
    ///
    /// # Errors
    /// If the caller may not have it any more.
    pub(super) async fn renew(&mut self) -> Result<(), G::Rejection> {
        self.granted = G::from_request_parts(&mut self.parts, &self.state).await?;
        Ok(())
    }

    /// Ends the body of an answer when the caller may not have it any more: the client sees that it is not complete.
    pub(super) fn guard(self, answer: Response) -> Response
    where
        G: Send + 'static,
        S: 'static,
    {
        answer.map(|body| {
            let parts = (self, body.into_data_stream());
            Body::from_stream(stream::try_unfold(parts, async |(mut standing, mut body)| {
                if standing.renew().await.is_err() {
                    tracing::info!("an answer was cut: its caller may not have it any more");
                    return Err(io::Error::from(io::ErrorKind::PermissionDenied));
                }
                let part = body.next().await.transpose().map_err(io::Error::other)?;
                Ok(part.map(|part| (part, (standing, body))))
            }))
        })
    }
}
