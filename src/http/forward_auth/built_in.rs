//! The two guards that every service has: for every caller with a valid token, and for the designated name.

use axum::{body::Bytes, http::HeaderMap, response::Response};
use serde_json::Value;

use super::{Decided, GuardRoutes, admission::admission, identity::Identity};
use crate::{
    Doorward,
    access::{
        caller::Caller,
        guard::{Decision, Grant},
        policy::{Authenticated, Policy},
    },
    http::bearer::{admit, authenticate},
};

impl GuardRoutes {
    pub(super) async fn authenticated(&self, headers: &HeaderMap) -> Decided {
        const BODY: &[u8] = br#""You are authenticated.""#;
        self.decide_by(&Authenticated, headers, |caller| {
            let identity = Identity { caller: Some(caller), grant: Grant::Id };
            admission(&self.doorward, "guard", Bytes::from_static(BODY), identity)
        })
        .await
    }

    pub(super) async fn designated(&self, headers: &HeaderMap) -> Decided {
        self.decide_by(self.doorward.designated(), headers, |caller| {
            let identity = Identity { caller: Some(caller), grant: Grant::User };
            let body = self.designated_body.clone();
            admission(&self.doorward, self.designated_segment(), body, identity)
        })
        .await
    }

    /// Decides by a policy about the caller with a token.
    async fn decide_by<P: Policy>(
        &self,
        policy: &P,
        headers: &HeaderMap,
        admission: impl FnOnce(&Caller) -> Response,
    ) -> Decided {
        let caller = match authenticate::<P>(&self.doorward, headers).await {
            Ok(caller) => caller,
            Err(error) => return Decided(Decision::Unauthenticated, Err(error)),
        };
        match admit(&self.doorward, policy, &caller) {
            Ok(_) => Decided(Decision::Admitted, Ok(admission(&caller))),
            Err(error) => Decided(Decision::Refused, Err(error)),
        }
    }
}

/// What the designated user is told.
pub(super) fn designated_body(doorward: &Doorward) -> Bytes {
    let greeting = format!("You are {}.", doorward.designated().name());
    Value::from(greeting).to_string().into()
}
