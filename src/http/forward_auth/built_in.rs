//! The two guards that every service has: for every caller with a valid token, and for the designated name.

use axum::{body::Bytes, http::HeaderMap, response::Response};
use serde_json::Value;

use super::{GuardRoutes, admission::admission, identity::Identity};
use crate::{
    Doorward,
    access::{
        guard::{Decision, Grant},
        policy::{Authenticated, Designated},
    },
    http::{
        bearer::{admit, authenticate},
        error::Error,
    },
};

impl GuardRoutes {
    pub(super) async fn authenticated(
        &self,
        headers: &HeaderMap,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        const BODY: &[u8] = br#""You are authenticated.""#;
        let caller = authenticate::<Authenticated>(&self.doorward, headers).await;
        let caller = caller.inspect_err(|_| *decision = Decision::Unauthenticated)?;
        let admitted = admit(&self.doorward, &Authenticated, &caller);
        admitted.inspect_err(|_| *decision = Decision::Refused)?;
        let identity = Identity { caller: Some(&caller), grant: Grant::Id };
        Ok(admission(&self.doorward, "guard", Bytes::from_static(BODY), identity))
    }

    pub(super) async fn designated(
        &self,
        headers: &HeaderMap,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        let caller = authenticate::<Designated>(&self.doorward, headers).await;
        let caller = caller.inspect_err(|_| *decision = Decision::Unauthenticated)?;
        let admitted = admit(&self.doorward, self.doorward.designated(), &caller);
        admitted.inspect_err(|_| *decision = Decision::Refused)?;
        let identity = Identity { caller: Some(&caller), grant: Grant::User };
        let body = self.designated_body.clone();
        Ok(admission(&self.doorward, self.designated_segment(), body, identity))
    }
}

/// What the designated user is told.
pub(super) fn designated_body(doorward: &Doorward) -> Bytes {
    let greeting = format!("You are {}.", doorward.designated().name());
    Value::from(greeting).to_string().into()
}
