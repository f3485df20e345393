//! What a guard with `keys = true` answers to a program with an API key.

use std::sync::Arc;

use super::{
    Decided, GuardRoutes, declared::Refusal, forwarded_request::ForwardedRequest, sent_key::SentKey,
};
use crate::{
    access::{
        api_key::{KeyError, KeyHolder, RefusedKey},
        caller::Caller,
        guard::{Decision, Guard, Reachable},
        key_fault::KeyFault,
        refusals::{Refused, RefusedBy},
    },
    http::error::Challenge,
};

impl Refusal {
    /// A valid key that does not open the guard.
    fn of_key(refused: Refused, caller: Option<Caller>) -> Self {
        let (decision, challenge) = (Decision::Refused, Challenge::InsufficientScope);
        Self { decision, challenge, refused, caller }
    }
}

impl GuardRoutes {
    /// Decides about a request with an API key.
    pub(super) async fn answer_key(
        &self,
        guard: &Arc<Guard>,
        sent: SentKey<'_>,
        request: ForwardedRequest<'_>,
    ) -> Decided {
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
            Err(KeyError::Store(error)) => return Decided::unavailable(error),
            Err(KeyError::Refused(refused)) => {
                let refusal = Refusal {
                    decision: Decision::Unauthenticated,
                    challenge: Challenge::InvalidToken,
                    refused: by_key(refused),
                    caller: None,
                };
                return self.refuse(guard, refusal, &request);
            }
        };
        if let Err(refused) = self.check_key(guard, &holder, &request) {
            // A guard that only reports admits the request, but not as the owner of the key.
            return self.refuse(guard, Refusal::of_key(by_key(refused), None), &request);
        }
        let caller = holder.caller(request.client(doorward));
        let refused = caller
            .as_ref()
            .and_then(|caller| self.refusal_of_owner(guard, &holder, caller, &request));
        match refused {
            None => Decided::admitted(doorward, guard, caller.as_ref(), &request),
            Some(refused) => self.refuse(guard, Refusal::of_key(refused, caller), &request),
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
