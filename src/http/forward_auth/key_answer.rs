//! What a guard with `keys = true` answers to a program with an API key.

use std::sync::Arc;

use axum::response::Response;

use super::{
    GuardRoutes,
    declared::{Refusal, declared_admission},
    forwarded_request::ForwardedRequest,
    sent_key::SentKey,
};
use crate::{
    access::{
        api_key::{KeyError, KeyHolder, RefusedKey},
        caller::Caller,
        guard::{Decision, Guard, Reachable},
        key_fault::KeyFault,
        refusals::{Refused, RefusedBy},
    },
    http::error::{Challenge, Error},
};

impl GuardRoutes {
    /// Decides about a request with an API key.
    pub(super) async fn answer_key(
        &self,
        guard: &Arc<Guard>,
        sent: SentKey<'_>,
        request: ForwardedRequest<'_>,
        decision: &mut Decision,
    ) -> Result<Response, Error> {
        let doorward = &self.doorward;
        let by_key = |refused: RefusedKey| {
            let by = RefusedBy::Guard(Arc::clone(guard));
            Refused::key(by, refused, doorward.now())
        };
        let origin = request.origin(guard.proxy, &doorward.settings().trusted_proxies);
        let holder = match sent.is_sent_on_purpose(&request.parts.headers, origin.as_deref()) {
            true => doorward.key_holder(sent.text()).await,
            false => Err(KeyFault::CrossSite.into()),
        };
        let holder = match holder {
            Ok(holder) => holder,
            Err(KeyError::Store(error)) => return Err(error.into()),
            Err(KeyError::Refused(refused)) => {
                *decision = Decision::Unauthenticated;
                let challenge = Challenge::InvalidToken;
                let refusal = Refusal { challenge, refused: by_key(refused), caller: None };
                return self.refuse(guard, refusal, &request, decision);
            }
        };
        if let Err(refused) = self.check_key(guard, &holder, &request) {
            *decision = Decision::Refused;
            let (challenge, refused) = (Challenge::InsufficientScope, by_key(refused));
            // A guard that only reports admits the request, but not as the owner of the key.
            let refusal = Refusal { challenge, refused, caller: None };
            return self.refuse(guard, refusal, &request, decision);
        }
        let caller = holder.caller(request.client(doorward));
        let refused = caller
            .as_ref()
            .and_then(|caller| self.refusal_of_owner(guard, &holder, caller, &request));
        match refused {
            None => Ok(declared_admission(doorward, guard, caller.as_ref(), &request)),
            Some(refused) => {
                *decision = Decision::Refused;
                let challenge = Challenge::InsufficientScope;
                self.refuse(guard, Refusal { challenge, refused, caller }, &request, decision)
            }
        }
    }

    /// Whether the scopes and the condition of a key admit it to a guard.
    fn check_key(
        &self,
        guard: &Guard,
        holder: &KeyHolder,
        request: &ForwardedRequest<'_>,
    ) -> Result<(), RefusedKey> {
        if !holder.is_for_guard(&guard.name) {
            return Err(holder.refused(KeyFault::NoScope));
        }
        let (trusted, now) = (&self.doorward.settings().trusted_proxies, self.doorward.now());
        self.doorward.api_keys().check_condition(holder, Some(&guard.name), |fields| {
            request.facts(guard.proxy, trusted, fields, now)
        })
    }

    /// The refusal of the owner of a key by the condition of the guard. Nothing that they could do in a browser helps a key.
    fn refusal_of_owner(
        &self,
        guard: &Arc<Guard>,
        holder: &KeyHolder,
        caller: &Caller,
        request: &ForwardedRequest<'_>,
    ) -> Option<Refused> {
        let (trusted, now) = (&self.doorward.settings().trusted_proxies, self.doorward.now());
        let facts = request.facts(guard.proxy, trusted, guard.request_fields(), now);
        let decided = guard.decide(&caller.user, &caller.session, &caller.memo, &facts);
        decided.is_err().then(|| {
            let refused = Refused::by_condition(guard, caller, &facts, &Reachable::default());
            refused.with_key(holder.key.id)
        })
    }
}
